// Charts with a sentence and a table beside them. The library is loaded after the first screen.

import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "./theme";

export interface Series {
  name?: string;
  /** One value for each label. For drawing only: exact amounts are in the table. */
  values: (number | null)[];
  /** A custom property: `--move-mark`. */
  color?: string;
  area?: boolean;
  dashed?: boolean;
}

export interface ChartProps {
  /** The sentence that says what there is to see. */
  label: string;
  labels: string[];
  series: Series[];
  bars?: boolean;
  height?: number;
  /** A line across, such as a limit. */
  limit?: number;
  /** Text of a value. `exact` beside the pointer, else on the axis. */
  unit?: (value: number, exact: boolean) => string;
  /** The same as a table: headings and rows of texts. */
  table?: { head: string[]; rows: string[][] };
}

const STEPS = [0.25, 0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 1_000_000];
const plain = (value: number): string => value.toLocaleString("en");

function color(name: string, near: HTMLElement): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  near.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

export function Chart({ label, labels, series, bars, height = 160, limit, unit = plain, table }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const [scheme, setScheme] = useState(0);
  const subject = label.split(/[,.:] /)[0];

  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setScheme((count) => count + 1);
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, []);

  useEffect(() => {
    const node = box.current;
    if (!node) return undefined;
    let plot: { destroy(): void; setSize(size: { width: number; height: number }): void } | undefined;
    let gone = false;
    const resize = new ResizeObserver(() => plot?.setSize({ width: node.clientWidth, height }));
    void import("./plot").then(({ draw }) => {
      if (gone) return;
      plot = draw({ node, tip: tip.current, labels, series, bars: bars === true, height, limit, unit, color: (name) => color(name, node), steps: STEPS });
      resize.observe(node);
    });
    return () => {
      gone = true;
      resize.disconnect();
      plot?.destroy();
    };
  }, [JSON.stringify([labels, series, limit]), bars, height, scheme, theme.value]);

  const named = series.filter((one) => one.name);
  return (
    <>
      {named.length > 1 && (
        <div class="legend" aria-hidden="true">
          {named.map((one, index) => (
            <span class={`legend-${index + 1}`}>
              <i />
              {one.name}
            </span>
          ))}
        </div>
      )}
      <div class={height > 170 ? "chart tall" : "chart"} ref={box} role="img" aria-label={label}>
        <div class="chart-tip" ref={tip} hidden />
      </div>
      {table && (
        <details class="as-table">
          <summary>
            Show as a table<span class="only-read">: {subject}</span>
          </summary>
          <div class="as-table-box" tabIndex={0} role="region" aria-label={`${subject}, as a table`}>
            <table class="table tight">
              <thead>
                <tr>
                  {table.head.map((text, index) => (
                    <th scope="col" class={index ? "number" : undefined}>
                      {text}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {table.rows.map((row) => (
                  <tr>
                    {row.map((text, index) =>
                      index ? (
                        <td class="number">{text}</td>
                      ) : (
                        <th scope="row">{text}</th>
                      ),
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      )}
    </>
  );
}
