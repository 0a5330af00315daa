// The desk's live connection: server-sent events of `/admin/stream`. It moves the same signals as the holder's stream, so
// the frame shows it in the same way.

import { computed, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Loaded, api, signedOut, stream, useLoaded, present } from "../parts";

export type QueueName =
  | "intl_orders" | "card_withdrawals" | "card_actions" | "dead_letters" | "late_jobs" | "unknown_payments" | "approvals" | "refunds"
  | "incoming_transfers" | "untracked_transfers" | "discrepancies" | "lines_not_sold";

export interface Queue {
  queue: QueueName;
  count: number;
  more: boolean;
  oldest_at: string | null;
  limit_seconds: number | null;
  version: string;
}

export interface SystemEvent {
  seq: number;
  type: string;
  created_at: string;
  data: { object: Record<string, unknown> };
}

/** Not live for so long that decisions wait. */
const STALE_AFTER_MS = 6_000;
/** The service sends something more often than this. */
const SILENCE_MS = 40_000;
const MAX_WAIT_MS = 15_000;
const POLL_MS = 10_000;

export const queues = signal<Map<QueueName, Queue>>(new Map());
/** The newest system events first. */
export const systemEvents = signal<SystemEvent[]>([]);
export const countOf = (name: QueueName): number => queues.value.get(name)?.count ?? 0;
/** How much waits for a person, over all queues. Lines that are not sold wait for nobody. */
export const waiting = computed(() => [...queues.value.values()].filter((queue) => queue.queue !== "lines_not_sold" && queue.queue !== "late_jobs").reduce((sum, queue) => sum + queue.count, 0));

type Listener = (before: Map<QueueName, Queue>, after: Map<QueueName, Queue>) => void;
const listeners = new Set<Listener>();

/** Called with each change of the queues, but not for the first state. */
export function onQueues(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let source: EventSource | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let staleTimer: ReturnType<typeof setTimeout> | undefined;
let silenceTimer: ReturnType<typeof setTimeout> | undefined;

function heard(): void {
  clearTimeout(silenceTimer);
  silenceTimer = setTimeout(lost, SILENCE_MS);
  if (stream.connection.value === "live") return;
  clearTimeout(staleTimer);
  staleTimer = undefined;
  stream.attempts.value = 0;
  stream.connection.value = "live";
  stream.since.value = null;
}

function lost(): void {
  source?.close();
  source = null;
  clearTimeout(silenceTimer);
  if (stream.connection.value === "ended") return;
  stream.since.value ??= present();
  if (stream.connection.value !== "stale") stream.connection.value = "reconnecting";
  staleTimer ??= setTimeout(() => {
    if (stream.connection.value !== "live" && stream.connection.value !== "ended") stream.connection.value = "stale";
  }, STALE_AFTER_MS);
  clearTimeout(timer);
  const wait = Math.min(MAX_WAIT_MS, 250 * 2 ** Math.min(stream.attempts.value, 6));
  timer = setTimeout(connect, wait * (0.75 + Math.random() / 2));
}

function takeQueues(list: Queue[]): void {
  const before = queues.value;
  const after = new Map(list.map((queue) => [queue.queue, queue]));
  queues.value = after;
  if (before.size > 0) for (const listener of listeners) listener(before, after);
}

function connect(): void {
  source?.close();
  stream.attempts.value += 1;
  const after = stream.lastSeq.value;
  const opened = new EventSource(`/admin/stream${after > 0 ? `?after=${after}` : ""}`);
  source = opened;
  const on = (name: string, take: (data: string) => void) =>
    opened.addEventListener(name, (message) => {
      if (source !== opened) return;
      take((message as MessageEvent<string>).data);
      heard();
    });
  on("queues", (data) => takeQueues((JSON.parse(data) as { queues: Queue[] }).queues));
  on("event", (data) => {
    const event = JSON.parse(data) as SystemEvent;
    if (event.seq <= stream.lastSeq.value) return;
    stream.lastSeq.value = event.seq;
    stream.lastEventAt.value = present();
    systemEvents.value = [event, ...systemEvents.value].slice(0, 100);
  });
  on("ping", (data) => {
    stream.lastSeq.value = Math.max(stream.lastSeq.value, (JSON.parse(data) as { cursor: number }).cursor);
  });
  opened.addEventListener("ended", (message) => {
    const { reason } = JSON.parse((message as MessageEvent<string>).data) as { reason: string };
    if (reason === "stopping" || reason === "internal") return;
    // The session or token is no longer good.
    stream.connection.value = "ended";
    stopLive();
    signedOut.value = true;
  });
  opened.onerror = () => {
    if (source !== opened) return;
    const refused = opened.readyState === EventSource.CLOSED;
    lost();
    if (refused) void poll();
  };
}

/** The service answers and has no stream for this tab: too many are open, or the session ended. Then the page asks. */
async function poll(): Promise<void> {
  try {
    const list = await api.get<{ queues: Queue[] }>("/admin/queues");
    if (!started || source) return;
    takeQueues(list.queues);
    heard();
    clearTimeout(timer);
    timer = setTimeout(connect, POLL_MS);
  } catch {
    // A session that ended is known by now; anything else is tried again.
  }
}

let started = false;

// The frame's "Try now" and a page that is seen again come here.
stream.openWith(() => {
  if (!started) return;
  clearTimeout(timer);
  connect();
});

// A browser may keep a page that was left, with its connection, and has six connections to a service in all.
addEventListener("pagehide", () => {
  source?.close();
  source = null;
  for (const one of [timer, silenceTimer]) clearTimeout(one);
});
addEventListener("pageshow", (shown) => {
  if (shown.persisted && started) connect();
});

export function startLive(): void {
  started = true;
  stream.connection.value = "connecting";
  connect();
}

export function stopLive(): void {
  started = false;
  source?.close();
  source = null;
  for (const one of [timer, staleTimer, silenceTimer]) clearTimeout(one);
  staleTimer = undefined;
}

/** Data of a page that is loaded again when one of these queues changes, or after a break. */
export function useWatched<T>(key: string, load: () => Promise<T>, names: QueueName[]): Loaded<T> {
  const loaded = useLoaded<T>(key, load);
  useOnChange(names, loaded.reload);
  return loaded;
}

/** Calls `run` when one of these queues has another version, and when the page is live again. */
export function useOnChange(names: QueueName[], run: () => void): void {
  const version = names.map((name) => queues.value.get(name)?.version ?? "").join(" ");
  const live = stream.connection.value === "live";
  const known = useRef({ version, live });
  useEffect(() => {
    const before = known.current;
    known.current = { version, live };
    const changed = before.version.trim() !== "" && before.version !== version;
    if (changed || (live && !before.live && before.version.trim() !== "")) run();
  }, [version, live]);
}

/** Calls `run` at this interval while the page is seen and live. */
export function useEvery(milliseconds: number, run: () => void): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const interval = setInterval(() => {
      if (!document.hidden && stream.connection.value !== "ended") latest.current();
    }, milliseconds);
    return () => clearInterval(interval);
  }, [milliseconds]);
}
