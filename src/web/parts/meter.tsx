// A bar that shows how much of a limit is used.

import { useEffect, useRef } from "preact/hooks";
import { classes } from "./classes";
import { type AmountValue, share } from "./money";

export interface MeterProps {
  /** Amounts, as decimal texts. */
  value: AmountValue;
  max: AmountValue;
  /** In words: “Courier has spent $4.00 of $10.00 today”. */
  label: string;
  /** Neither brass nor red when it fills up. */
  calm?: boolean;
}

/** Brass from 80 %, red when the limit is reached. */
export function Meter({ value, max, label, calm }: MeterProps) {
  const part = share(value, max);
  const bar = useRef<HTMLElement>(null);
  // A style attribute would be against the page's policy; the object model is not.
  useEffect(() => {
    bar.current?.style.setProperty("width", `${Math.max(part * 100, part > 0 ? 1.5 : 0)}%`);
  }, [part]);
  return (
    <span
      class={classes("meter", calm ? "calm" : part >= 1 ? "over" : part >= 0.8 && "near")}
      role="meter"
      aria-label={label}
      aria-valuenow={Math.round(part * 100)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuetext={label}
    >
      <i ref={bar} />
    </span>
  );
}
