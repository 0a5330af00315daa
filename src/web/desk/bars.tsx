// Bars of age against a limit, and the dial of a claim.

import { useEffect, useRef } from "preact/hooks";

export interface AgeBarProps {
  /** Seconds. */
  age: number;
  /** Seconds; 0 without one. */
  limit: number;
  label: string;
}

/** Brass from three quarters of the limit, red at its end. */
export function AgeBar({ age, limit, label }: AgeBarProps) {
  const part = limit > 0 ? Math.min(1, age / limit) : 0;
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    bar.current?.style.setProperty("width", `${part > 0 ? Math.max(part * 100, 1.5) : 0}%`);
  }, [part]);
  return (
    <span class={`meter ${part >= 1 ? "over" : part >= 0.75 ? "near" : "calm"}`} role="meter" aria-label={label} aria-valuenow={Math.round(part * 100)} aria-valuemin={0} aria-valuemax={100} aria-valuetext={label}>
      <i ref={bar} />
    </span>
  );
}

const ROUND = 2 * Math.PI * 17;

/** A ring that empties. Only drawn: the time is beside it as text. */
export function Dial({ left, whole }: { left: number; whole: number }) {
  const part = whole > 0 ? Math.min(1, Math.max(0, left / whole)) : 0;
  return (
    <svg class={`dial${left < 180 ? " near" : ""}`} viewBox="0 0 40 40" aria-hidden="true">
      <circle cx="20" cy="20" r="17" />
      <circle class="dial-arc" cx="20" cy="20" r="17" stroke-dasharray={ROUND} stroke-dashoffset={ROUND * (1 - part)} />
    </svg>
  );
}
