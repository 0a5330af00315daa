// Points in time and spans, in words.

import { signal } from "@preact/signals";
import { classes } from "./classes";

const FULL = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const CLOCK_SECONDS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY_YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const DAY_KEY = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit" });
const DAY_MS = 86_400_000;

/** How far the service's clock is ahead of the browser's, in milliseconds. The sandbox's can be days ahead. */
let ahead = 0;
/** A smaller difference is ignored: the browser's clock is a little wrong, or the answer took a while. */
const SKEW_MS = 60_000;

/** The present by the service's clock, in milliseconds. */
export const present = (): number => Date.now() + ahead;

/** The present, once a second. Relative times read it. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = present();
}, 1_000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) now.value = present();
});

/** Follows the service's clock: its present, as an answer says. */
export function followClock(at: string | undefined): void {
  const difference = Date.parse(at ?? "") - Date.now();
  if (Number.isNaN(difference)) return;
  ahead = Math.abs(difference) > SKEW_MS ? difference : 0;
  now.value = present();
}

/** Follows the service's clock to an event that came now, if the clock was moved forward. */
export function followEvent(at: string): void {
  if (Date.parse(at) - present() > SKEW_MS) followClock(at);
}

/** A span in words: `19 s`, `4 min`, `20 h 48 min`, `3 days`. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86_400) {
    const minutes = Math.floor(whole / 60) % 60;
    return `${Math.floor(whole / 3_600)} h${minutes ? ` ${minutes} min` : ""}`;
  }
  const days = Math.floor(whole / 86_400);
  const hours = Math.floor(whole / 3_600) % 24;
  if (days < 3 && hours) return `${days} d ${hours} h`;
  return `${days} ${days === 1 ? "day" : "days"}`;
}

export const dayKey = (at: string | number | Date): string => DAY_KEY.format(new Date(at));
export const clock = (at: string | number): string => CLOCK.format(new Date(at));
export const clockSeconds = (at: string | number): string => CLOCK_SECONDS.format(new Date(at));

/** A day: `Today`, `Yesterday`, `13 Nov`, `13 Nov 2025`. */
export function day(at: string | number, today: number): string {
  const key = dayKey(at);
  if (key === dayKey(today)) return "Today";
  if (key === dayKey(today - DAY_MS)) return "Yesterday";
  return today - Date.parse(String(at)) > 300 * DAY_MS ? DAY_YEAR.format(new Date(at)) : DAY.format(new Date(at));
}

/** When a wait ends: `16:21` of today, `tomorrow 16:21`, `28 Nov 16:21`. */
export function until(at: string, present: number): string {
  const key = dayKey(at);
  if (key === dayKey(present)) return clock(at);
  return `${key === dayKey(present + DAY_MS) ? "tomorrow" : day(at, present)} ${clock(at)}`;
}

/** How long ago, or in how long. */
export function ago(at: string, present: number): string {
  const seconds = (present - Date.parse(at)) / 1_000;
  if (Number.isNaN(seconds)) return at;
  if (seconds < -8) return `in ${span(-seconds)}`;
  if (seconds < 8) return "just now";
  if (seconds < 3_600) return `${span(seconds)} ago`;
  const name = day(at, present);
  return name === "Today" || name === "Yesterday" ? `${name.toLowerCase()} ${clock(at)}` : name;
}

/** In both zones where they differ, for the tooltip. */
export function fullTime(at: string): string {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return at;
  const here = FULL.format(moment);
  return moment.getTimezoneOffset() === 0 ? `${here} UTC` : `${here} · ${moment.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export interface TimeProps {
  at: string;
  /** `ago` is relative; the others are fixed. `seconds` has the day too, unless it is today. */
  as?: "ago" | "clock" | "seconds" | "day" | "full";
  class?: string;
}

/** A point in time. Hovering shows it in both zones. */
export function Time({ at, as = "ago", class: name }: TimeProps) {
  const moment = Date.parse(at);
  let text = at;
  if (!Number.isNaN(moment)) {
    if (as === "ago") text = ago(at, now.value);
    else if (as === "clock") text = clock(at);
    else if (as === "seconds") text = dayKey(at) === dayKey(present()) ? clockSeconds(at) : `${day(at, present())} ${clockSeconds(at)}`;
    else if (as === "day") text = day(at, now.value);
    else text = fullTime(at);
  }
  return (
    <time class={classes("time", name)} dateTime={at} title={fullTime(at)}>
      {text}
    </time>
  );
}
