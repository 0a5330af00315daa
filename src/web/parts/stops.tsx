// The route of money, leg by leg, and the log of one thing.

import type { ComponentChildren } from "preact";
import { classes } from "./classes";
import { Icon, type IconName } from "./icon";
import type { Tone } from "./status";
import { Time } from "./time";

/** Done; happening; not yet; waits for somebody; failed. */
export type StopState = "done" | "now" | "next" | "hold" | "fail";

export interface Stop {
  is: StopState;
  /** By tense: “Mint”, “Minting”, “Minted on Base”. */
  name?: string;
  /** Lines below the name: when, how much, what it waits for. */
  detail?: ComponentChildren;
}

const SAID: Record<StopState, string> = { done: "done", now: "happening now", next: "not yet", hold: "waits for somebody", fail: "failed" };
const DRAWN: Partial<Record<StopState, IconName>> = { done: "check", hold: "wait", fail: "close" };

export interface RouteProps {
  stops: Stop[];
  /** Dots alone, in lists. */
  mini?: boolean;
  label?: string;
}

/** Money on its way, stop by stop. */
export function Route({ stops, mini, label }: RouteProps) {
  if (mini) {
    const at = stops.findIndex((stop) => stop.is !== "done");
    const said = label ?? (at < 0 ? "All steps done" : `Step ${at + 1} of ${stops.length}: ${SAID[stops[at]?.is ?? "next"]}`);
    return (
      <span class="stops mini" role="img" aria-label={said}>
        {stops.map((stop) => (
          <span class={`stop ${stop.is}`}>
            <span class="dot" />
          </span>
        ))}
      </span>
    );
  }
  return (
    <ol class="stops" aria-label={label ?? "Steps"}>
      {stops.map((stop) => (
        <li class={`stop ${stop.is}`} aria-current={stop.is === "now" || stop.is === "hold" ? "step" : undefined}>
          <span class="dot" aria-hidden="true">
            {DRAWN[stop.is] && <Icon name={DRAWN[stop.is] as IconName} />}
          </span>
          <b>
            {stop.name}
            <span class="only-read">, {SAID[stop.is]}</span>
          </b>
          {stop.detail && <div class="stop-detail">{stop.detail}</div>}
        </li>
      ))}
    </ol>
  );
}

export interface LogLine {
  key?: string | number;
  tone?: Tone;
  icon?: IconName;
  text: ComponentChildren;
  at?: string;
  /** Below the line: ids, links. */
  sub?: ComponentChildren;
  /** Arrived while the page was open. */
  fresh?: boolean;
}

/** What happened to one thing, oldest or newest first as the caller orders it. */
export function Log({ lines, label }: { lines: LogLine[]; label?: string }) {
  return (
    <ol class="log" aria-label={label}>
      {lines.map((line, index) => (
        <li key={line.key ?? index} class={line.fresh ? "fresh" : undefined}>
          <span class={classes("point", line.tone && `tint-${line.tone}`)} aria-hidden="true">
            <Icon name={line.icon ?? line.tone ?? "circle"} />
          </span>
          <div>{line.text}</div>
          {line.at ? <Time at={line.at} class="at" /> : <span />}
          {line.sub && <div class="sub">{line.sub}</div>}
        </li>
      ))}
    </ol>
  );
}
