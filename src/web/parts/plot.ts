// Draws a chart with uPlot. A file of its own, which only pages with a chart load.

import uPlot from "uplot";
import type { Series } from "./chart";

export interface Drawing {
  node: HTMLElement;
  tip: HTMLElement | null;
  labels: string[];
  series: Series[];
  bars: boolean;
  height: number;
  limit: number | undefined;
  unit: (value: number, exact: boolean) => string;
  color: (name: string) => string;
  steps: number[];
}

const AXIS_WIDTH = 48;

export function draw({ node, tip, labels, series, bars, height, limit, unit, color, steps }: Drawing): uPlot {
  const font = '12px "Purser Sans", system-ui';
  const axis: uPlot.Axis = { stroke: color("--ink-3"), font, ticks: { show: false } };
  const colors = ["--move-mark", "--wait-mark", "--off-mark"];
  const shown = (index: number): string => labels[index] ?? "";

  const splits = (plot: uPlot): number[] => {
    const max = plot.scales.y?.max ?? 1;
    const step = steps.find((one) => max / one <= 4.2) ?? max;
    const marks = [];
    for (let mark = 0; mark <= max; mark += step) marks.push(mark);
    return marks;
  };
  const point = (plot: uPlot): void => {
    const index = plot.cursor.idx;
    const left = plot.cursor.left ?? -1;
    if (!tip) return;
    tip.hidden = index === null || index === undefined || left < 0;
    if (tip.hidden || index === null || index === undefined) return;
    const values = series.map((one) => {
      const value = one.values[index];
      const text = value === null || value === undefined ? "–" : unit(value, true);
      return one.name ? `${one.name} ${text}` : text;
    });
    const strong = document.createElement("b");
    strong.textContent = values.join(" · ");
    tip.replaceChildren(`${shown(index)} `, strong);
    const room = node.clientWidth - tip.offsetWidth;
    tip.style.left = `${Math.min(Math.max(0, left + AXIS_WIDTH - tip.offsetWidth / 2), Math.max(0, room))}px`;
  };
  const line = (plot: uPlot): void => {
    if (limit === undefined) return;
    const y = Math.round(plot.valToPos(limit, "y", true)) + 0.5;
    const { ctx } = plot;
    ctx.save();
    ctx.strokeStyle = color("--wait-mark");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(plot.bbox.left, y);
    ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
    ctx.stroke();
    ctx.restore();
  };

  const options: uPlot.Options = {
    width: node.clientWidth,
    height,
    legend: { show: false },
    padding: [8, bars ? 4 : 16, 0, 0],
    cursor: { y: false, points: { show: !bars }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, ...(bars ? { range: (_plot, low, high) => [low - 0.6, high + 0.6] as [number, number] } : {}) },
      y: { range: (_plot, _low, high) => [0, Math.max(high || 0, limit ?? 0) * 1.12 || 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        gap: 6,
        space: 64,
        values: (_plot, marks) => marks.map((mark) => (Number.isInteger(mark) ? shown(mark) : "")),
      },
      { ...axis, grid: { stroke: color("--line"), width: 1 }, size: AXIS_WIDTH, gap: 6, splits, values: (_plot, marks) => marks.map((mark) => unit(mark, false)) },
    ],
    series: [
      {},
      ...series.map((one, index): uPlot.Series => {
        const ink = color(one.color ?? colors[index % colors.length] ?? "--move-mark");
        const blocks = uPlot.paths.bars;
        if (bars && blocks) return { fill: ink, width: 0, points: { show: false }, paths: blocks({ size: [0.62, 26], radius: 0.18 }) };
        return {
          stroke: ink,
          width: 1.75,
          points: { show: true, size: 5, width: 0, fill: ink, filter: (plot, at) => alone(plot.data[at] ?? []) },
          ...(one.area ? { fill: color("--move-tint") } : {}),
          ...(one.dashed ? { dash: [4, 4] } : {}),
        };
      }),
    ],
    hooks: { draw: [line], setCursor: [point] },
  };
  const data: uPlot.AlignedData = [labels.map((_, index) => index), ...series.map((one) => one.values)];
  return new uPlot(options, data, node);
}

/** Where a value has no neighbour: a line would not show it. */
function alone(values: ArrayLike<number | null | undefined>): number[] {
  const known = (index: number): boolean => values[index] !== null && values[index] !== undefined;
  return Array.from(values, (_, index) => index).filter((index) => known(index) && !known(index - 1) && !known(index + 1));
}
