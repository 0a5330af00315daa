// The desk's live connection: server-sent events of `/admin/stream`, one for all tabs of the operator. It moves the same
// signals as the holder's stream, so the frame shows it in the same way.

import { computed, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Loaded, api, signedOut, stream, followEvent, useLoaded, present } from "../parts";
import { type Shared, share } from "./shared";

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
/** Another tab that has the connection answers within this time, or it is taken from it. */
const ANSWER_MS = 4_000;
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

/** What the tab with the connection tells the others, and what they ask it. */
type Message =
  | { type: "queues"; queues: Queue[] }
  | { type: "event"; event: SystemEvent }
  | { type: "live"; cursor: number }
  | { type: "lost" }
  | { type: "ended" }
  | { type: "hello" }
  | { type: "try" };

let source: EventSource | null = null;
let shared: Shared | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let staleTimer: ReturnType<typeof setTimeout> | undefined;
let silenceTimer: ReturnType<typeof setTimeout> | undefined;

const tell = (message: Message): void => shared?.send(message);

/** Whether this tab has the connection, and not another tab for it. */
export const leads = (): boolean => shared?.leads() ?? false;

/** After silence, the connection is dead, or the tab that has it. */
function expect(within: number): void {
  clearTimeout(silenceTimer);
  silenceTimer = setTimeout(() => (leads() ? lost() : takeOver()), within);
}

function takeOver(): void {
  down();
  shared?.take();
  expect(ANSWER_MS);
}

function heard(): void {
  expect(SILENCE_MS);
  if (stream.connection.value === "live") return;
  clearTimeout(staleTimer);
  staleTimer = undefined;
  stream.attempts.value = 0;
  stream.connection.value = "live";
  stream.since.value = null;
}

/** Shows that the page is not live. */
function down(): void {
  if (stream.connection.value === "ended") return;
  stream.since.value ??= present();
  if (stream.connection.value !== "stale") stream.connection.value = "reconnecting";
  staleTimer ??= setTimeout(() => {
    if (stream.connection.value !== "live" && stream.connection.value !== "ended") stream.connection.value = "stale";
  }, STALE_AFTER_MS);
}

function lost(): void {
  source?.close();
  source = null;
  clearTimeout(silenceTimer);
  if (stream.connection.value === "ended") return;
  down();
  tell({ type: "lost" });
  clearTimeout(timer);
  const wait = Math.min(MAX_WAIT_MS, 250 * 2 ** Math.min(stream.attempts.value, 6));
  timer = setTimeout(connect, wait * (0.75 + Math.random() / 2));
}

/** The session or token is no longer good. */
function end(): void {
  stream.connection.value = "ended";
  stopLive();
  signedOut.value = true;
}

function takeQueues(list: Queue[]): void {
  const before = queues.value;
  const after = new Map(list.map((queue) => [queue.queue, queue]));
  queues.value = after;
  if (before.size > 0) for (const listener of listeners) listener(before, after);
}

function takeEvent(event: SystemEvent): void {
  if (event.seq <= stream.lastSeq.value) return;
  stream.lastSeq.value = event.seq;
  followEvent(event.created_at);
  stream.lastEventAt.value = present();
  systemEvents.value = [event, ...systemEvents.value].slice(0, 100);
}

function takeCursor(cursor: number): void {
  stream.lastSeq.value = Math.max(stream.lastSeq.value, cursor);
}

/** A message between the tabs. */
function hear(message: Message): void {
  if (!started) return;
  if (message.type === "hello" || message.type === "try") {
    if (!leads()) return;
    if (message.type === "try" && stream.connection.value !== "live") connect();
    if (queues.value.size > 0) tell({ type: "queues", queues: [...queues.value.values()] });
    tell(stream.connection.value === "live" ? { type: "live", cursor: stream.lastSeq.value } : { type: "lost" });
    return;
  }
  if (leads()) return;
  if (message.type === "ended") return end();
  if (message.type === "lost") {
    down();
    return expect(SILENCE_MS);
  }
  if (message.type === "queues") takeQueues(message.queues);
  else if (message.type === "event") takeEvent(message.event);
  else takeCursor(message.cursor);
  // What a tab knows while it is not live comes with its own message.
  if (message.type === "live" || stream.connection.value === "live") heard();
}

function connect(): void {
  if (!leads()) return;
  clearTimeout(timer);
  source?.close();
  expect(SILENCE_MS);
  stream.attempts.value += 1;
  const after = stream.lastSeq.value;
  const opened = new EventSource(`/admin/stream${after > 0 ? `?after=${after}` : ""}`);
  source = opened;
  const on = (name: string, take: (data: string) => void) =>
    opened.addEventListener(name, (message) => {
      if (source !== opened) return;
      const wasLive = stream.connection.value === "live";
      take((message as MessageEvent<string>).data);
      heard();
      if (!wasLive || name === "ping") tell({ type: "live", cursor: stream.lastSeq.value });
    });
  on("queues", (data) => {
    const list = (JSON.parse(data) as { queues: Queue[] }).queues;
    takeQueues(list);
    tell({ type: "queues", queues: list });
  });
  on("event", (data) => {
    const event = JSON.parse(data) as SystemEvent;
    takeEvent(event);
    tell({ type: "event", event });
  });
  on("ping", (data) => takeCursor((JSON.parse(data) as { cursor: number }).cursor));
  opened.addEventListener("ended", (message) => {
    const { reason } = JSON.parse((message as MessageEvent<string>).data) as { reason: string };
    if (reason === "stopping" || reason === "internal") return;
    tell({ type: "ended" });
    end();
  });
  opened.onerror = () => {
    if (source !== opened) return;
    const refused = opened.readyState === EventSource.CLOSED;
    lost();
    if (refused) void poll();
  };
}

/** The service answers and has no stream for this browser: too many are open, or the session ended. Then the page asks. */
async function poll(): Promise<void> {
  try {
    const list = await api.get<{ queues: Queue[] }>("/admin/queues");
    if (!started || source || !leads()) return;
    takeQueues(list.queues);
    heard();
    tell({ type: "queues", queues: list.queues });
    tell({ type: "live", cursor: stream.lastSeq.value });
    clearTimeout(timer);
    timer = setTimeout(connect, POLL_MS);
  } catch {
    // A session that ended is known by now; anything else is tried again.
  }
}

let started = false;
/** Whose connection it is: tabs of another operator have another one. */
let owner = "";

function join(): void {
  shared = share(`purser-desk ${owner}`, {
    lead: connect,
    resign: () => {
      source?.close();
      source = null;
      clearTimeout(timer);
      expect(SILENCE_MS);
    },
    hear: (message) => hear(message as Message),
  });
  tell({ type: "hello" });
  expect(ANSWER_MS);
}

function leave(): void {
  source?.close();
  source = null;
  shared?.close();
  shared = null;
  for (const one of [timer, silenceTimer]) clearTimeout(one);
}

// The frame's "Try now" and a page that is seen again come here.
stream.openWith(() => {
  if (!started) return;
  if (leads()) return connect();
  tell({ type: "try" });
  expect(ANSWER_MS);
});

// A browser may keep a page that was left, and the connection is for pages that are open.
addEventListener("pagehide", leave);
addEventListener("pageshow", (shown) => {
  if (shown.persisted && started) join();
});

/** Opens the connection of this operator, or shares that of another tab. */
export function startLive(operator: string): void {
  if (started) leave();
  started = true;
  owner = operator;
  stream.connection.value = "connecting";
  join();
}

export function stopLive(): void {
  started = false;
  leave();
  clearTimeout(staleTimer);
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
