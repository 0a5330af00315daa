// The one live connection of an app. It resumes after its cursor, so nothing is missed and nothing comes twice, and it
// says when what the page shows may be old.

import { computed, signal } from "@preact/signals";
import { parseExact } from "./json";
import { followEvent, present } from "./time";

/** An event as the stream delivers it. The types by resource are in `api/events.ts`. */
export interface StreamEvent {
  seq: number;
  id?: string;
  type: string;
  created_at: string;
  data: { object: Record<string, unknown> };
  previous?: Record<string, unknown> | null;
  /** Who or what caused it. Only a request of a session has its id. */
  actor?: { type: string; session_id?: string; in_browser: boolean; payment_id?: string; api_key_id?: string; api_key_name?: string } | null;
}

export type Connection = "connecting" | "live" | "reconnecting" | "stale" | "ended";

/** Not live for so long that decisions wait. */
const STALE_AFTER_MS = 6_000;
const MAX_WAIT_MS = 15_000;
/** The service pings more often than this. */
const SILENCE_MS = 75_000;

const CLOSED_UNAUTHORIZED = 4001;
const CLOSED_FROZEN = 4003;
const CLOSED_EXPIRED_CURSOR = 4010;

export const connection = signal<Connection>("connecting");
/** When the page was last live, while it is not. Milliseconds. */
export const since = signal<number | null>(null);
/** The cursor: the sequence number of the last event. */
export const lastSeq = signal(0);
export const lastEventAt = signal<number | null>(null);
export const attempts = signal(0);
/** False while the page shows what may be old. */
export const canDecide = computed(() => connection.value !== "stale" && connection.value !== "ended");

type Handler = (event: StreamEvent) => void;

const handlers = new Set<{ matches: (type: string) => boolean; handler: Handler }>();
const resumed = new Set<() => void>();
const ends = new Set<(why: "signed-out" | "frozen") => void>();
let socket: WebSocket | null = null;
let path = "/stream";
let timer: ReturnType<typeof setTimeout> | undefined;
let staleTimer: ReturnType<typeof setTimeout> | undefined;
let silenceTimer: ReturnType<typeof setTimeout> | undefined;
let gap = false;

/** Whether a type is named by a pattern: `card.ready`, `card.*`, `*`. */
export function matches(pattern: string, type: string): boolean {
  return pattern === "*" || pattern === type || (pattern.endsWith(".*") && type.startsWith(pattern.slice(0, -1)));
}

/** Calls the handler for each event of these types (`card.*` for all of a resource) until the returned function is called. */
export function onEvent(types: string | string[], handler: Handler): () => void {
  const patterns = typeof types === "string" ? [types] : types;
  const row = { matches: (type: string) => patterns.some((pattern) => matches(pattern, type)), handler };
  handlers.add(row);
  return () => handlers.delete(row);
}

/** Called when the page is live again after a break in which events may have been lost: load everything again. */
export function onGap(handler: () => void): () => void {
  resumed.add(handler);
  return () => resumed.delete(handler);
}

/** Called when the service ended the connection for good. */
export function onEnd(handler: (why: "signed-out" | "frozen") => void): () => void {
  ends.add(handler);
  return () => ends.delete(handler);
}

let opener = connect;

/** Replaces how the connection is opened. The desk has another stream, and moves the signals itself. */
export function openWith(open: () => void): void {
  opener = open;
}

/** Opens the connection, after the cursor of what the page has loaded. */
export function startStream(after: number, { at = "/stream" }: { at?: string } = {}): void {
  path = at;
  lastSeq.value = after;
  connection.value = "connecting";
  connect();
}

export function stopStream(): void {
  clearTimeout(timer);
  clearTimeout(staleTimer);
  clearTimeout(silenceTimer);
  const old = socket;
  socket = null;
  old?.close();
}

/** Tries at once, rather than when the next attempt is due. */
export function tryNow(): void {
  if (connection.value === "live" || connection.value === "ended") return;
  clearTimeout(timer);
  opener();
}

function listen(): void {
  clearTimeout(silenceTimer);
  // A connection can be dead without an end, for example after a laptop slept.
  silenceTimer = setTimeout(() => socket?.close(), SILENCE_MS);
}

function lost(): void {
  if (since.value === null) since.value = present();
  if (connection.value === "live" || connection.value === "connecting") connection.value = "reconnecting";
  staleTimer ??= setTimeout(() => {
    if (connection.value !== "live") connection.value = "stale";
  }, STALE_AFTER_MS);
}

function live(): void {
  clearTimeout(staleTimer);
  staleTimer = undefined;
  attempts.value = 0;
  connection.value = "live";
  since.value = null;
  if (gap) {
    gap = false;
    for (const handler of resumed) handler();
  }
}

function connect(): void {
  if (socket && socket.readyState <= WebSocket.OPEN) socket.close();
  attempts.value += 1;
  const opened = new WebSocket(`${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}${path}`);
  socket = opened;
  opened.onopen = () => {
    if (socket !== opened) return;
    // After a gap: only what is new.
    opened.send(JSON.stringify(gap ? { type: "subscribe" } : { type: "subscribe", after: lastSeq.value }));
    listen();
  };
  opened.onmessage = (message) => {
    if (socket !== opened) return;
    listen();
    const frame = parseExact(String(message.data)) as { type: string; event?: StreamEvent };
    if (frame.type === "ping") opened.send(JSON.stringify({ type: "pong" }));
    // A ping follows each subscription: from then on the page is live.
    if (connection.value !== "live" && (frame.type === "ping" || frame.type === "event")) live();
    if (frame.type === "event" && frame.event) deliver(frame.event);
  };
  opened.onclose = (end) => {
    if (socket !== opened) return;
    socket = null;
    clearTimeout(silenceTimer);
    if (end.code === CLOSED_UNAUTHORIZED || end.code === CLOSED_FROZEN) {
      connection.value = "ended";
      for (const handler of ends) handler(end.code === CLOSED_FROZEN ? "frozen" : "signed-out");
      return;
    }
    if (end.code === CLOSED_EXPIRED_CURSOR) {
      // The events since are no longer kept: go on from now, and load everything again.
      gap = true;
    }
    lost();
    const wait = Math.min(MAX_WAIT_MS, 250 * 2 ** Math.min(attempts.value, 6));
    timer = setTimeout(connect, wait * (0.75 + Math.random() / 2));
  };
}

function deliver(event: StreamEvent): void {
  if (event.seq <= lastSeq.value) return;
  lastSeq.value = event.seq;
  lastEventAt.value = present();
  followEvent(event.created_at);
  for (const row of handlers) if (row.matches(event.type)) row.handler(event);
}

addEventListener("online", tryNow);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) tryNow();
});

export const stream = { connection, since, lastSeq, lastEventAt, attempts, canDecide, onEvent, onGap, onEnd, openWith, start: startStream, stop: stopStream, tryNow };
