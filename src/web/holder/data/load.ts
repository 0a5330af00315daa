// Loading of what a page shows: one request at a time, events change it in place or load it again, and lists come page
// by page so that only the shown page is in memory.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ApiFailure, failure } from "../../parts/api";
import { type StreamEvent, onEvent, onGap } from "../../parts/stream";

/** A burst of events causes one more request after this, not one for each. */
const AT_MOST_EVERY_MS = 1_000;

export interface Loaded<T> {
  /** Kept while it is loaded again, and after a load that failed. */
  data: T | undefined;
  error: ApiFailure | undefined;
  loading: boolean;
  /** Loads it again now. */
  reload: () => void;
  /** Changes what is shown until it is loaded again. */
  change: (next: (data: T) => T) => void;
}

export interface Live<T> {
  /** Types of the events that concern it. */
  types: string[];
  /** What it is after an event. `"reload"`: the event does not say. The same data: the event does not concern it. */
  after?: (data: T, event: StreamEvent) => T | "reload";
  /** Milliseconds between two loads that events cause, if loading is costly. */
  atMostEvery?: number;
}

/** Whether the service does not have the route, so that the page leaves this part out. */
export const isAbsent = (error: ApiFailure | undefined): boolean => error?.code === "route_not_found";

/** Loads data for a page. `key` says what: another key forgets the data and loads other data. */
export function useLoad<T>(key: string, load: () => Promise<T>, live?: Live<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: ApiFailure; loading: boolean }>({ key, loading: true });
  const it = useRef({ key, load, live, running: false, again: false, alive: true, lastAt: 0, timer: 0 });
  it.current.load = load;
  it.current.live = live;

  const run = useCallback(() => {
    const now = it.current;
    if (!now.alive) return;
    if (now.running) {
      now.again = true;
      return;
    }
    const asked = now.key;
    now.running = true;
    now.again = false;
    now.lastAt = performance.now();
    setState((old) => (old.key === asked ? { ...old, loading: true } : { key: asked, loading: true }));
    now
      .load()
      .then(
        (data) => {
          if (now.alive && now.key === asked) setState({ key: asked, data, loading: false });
        },
        (thrown: unknown) => {
          if (!now.alive || now.key !== asked) return;
          setState((old) => ({ ...(old.key === asked && old.data !== undefined ? { data: old.data } : {}), key: asked, error: failure(thrown), loading: false }));
        },
      )
      .finally(() => {
        now.running = false;
        if (now.again || now.key !== asked) run();
      });
  }, []);

  const soon = useCallback(() => {
    const now = it.current;
    if (now.timer) return;
    const wait = Math.max(0, now.lastAt + (now.live?.atMostEvery ?? AT_MOST_EVERY_MS) - performance.now());
    now.timer = window.setTimeout(() => {
      now.timer = 0;
      run();
    }, wait);
  }, [run]);

  useEffect(() => {
    it.current.key = key;
    run();
  }, [key, run]);

  useEffect(() => {
    it.current.alive = true;
    return () => {
      it.current.alive = false;
      clearTimeout(it.current.timer);
    };
  }, []);

  const types = live?.types.join(" ") ?? "";
  useEffect(() => {
    const offGap = onGap(soon);
    const off = types
      ? onEvent(types.split(" "), (event) => {
          const now = it.current;
          const { after } = now.live ?? {};
          if (!after) {
            soon();
            return;
          }
          // An answer that is on its way may be older than the event.
          if (now.running) now.again = true;
          setState((old) => {
            if (old.data === undefined || old.key !== now.key) return old;
            const next = after(old.data, event);
            if (next === "reload") {
              soon();
              return old;
            }
            return next === old.data ? old : { ...old, data: next };
          });
        })
      : () => {};
    return () => {
      off();
      offGap();
    };
  }, [types, soon]);

  const change = useCallback((next: (data: T) => T) => {
    setState((old) => (old.data === undefined ? old : { ...old, data: next(old.data) }));
  }, []);
  const shown = state.key === key ? state : { data: undefined, error: undefined, loading: true };
  return { data: shown.data, error: shown.error, loading: shown.loading, reload: run, change };
}

/** Rows of a list, with the cursor of the page after them. */
export interface Slice<T, C> {
  rows: T[];
  next: C | undefined;
}

export interface Paged<T> extends Loaded<T[]> {
  /** Number of the shown page, from 0. */
  page: number;
  hasNext: boolean;
  next: () => void;
  previous: () => void;
}

/** A list page by page. Of the pages before the shown one only the cursors are in memory. */
export function usePages<T, C>(key: string, load: (cursor: C | undefined) => Promise<Slice<T, C>>, live?: { types: string[]; after: (rows: T[], event: StreamEvent, page: number) => T[] | "reload" }): Paged<T> {
  const [cursors, setCursors] = useState<{ key: string; list: (C | undefined)[] }>({ key, list: [undefined] });
  const list = cursors.key === key ? cursors.list : [undefined];
  const page = list.length - 1;
  const cursor = list[page];
  const loaded = useLoad<Slice<T, C>>(
    `${key}\n${page}`,
    () => load(cursor),
    live && {
      types: live.types,
      after: (slice, event) => {
        const rows = live.after(slice.rows, event, page);
        return rows === "reload" ? rows : rows === slice.rows ? slice : { ...slice, rows };
      },
    },
  );
  const following = loaded.data?.next;
  const { change } = loaded;
  return {
    data: loaded.data?.rows,
    error: loaded.error,
    loading: loaded.loading,
    reload: loaded.reload,
    change: (next) => change((slice) => ({ ...slice, rows: next(slice.rows) })),
    page,
    hasNext: following !== undefined,
    next: () => {
      if (following !== undefined) setCursors({ key, list: [...list, following] });
    },
    previous: () => {
      if (list.length > 1) setCursors({ key, list: list.slice(0, -1) });
    },
  };
}

/** One of several lists that are shown as one. Each gives its rows newest first. */
export type Source<T> = (after: string | undefined, limit: number) => Promise<{ rows: T[]; more: boolean }>;

/** How far each source was shown: the id of its last row, and whether that was its last. */
export type Place = { after: string | undefined; ended: boolean }[];

/** The next rows of all sources together, newest first. */
export async function mergedSlice<T>(sources: Source<T>[], place: Place | undefined, limit: number, of: (row: T) => { id: string; at: string }): Promise<Slice<T, Place>> {
  const from = place ?? sources.map(() => ({ after: undefined, ended: false }));
  const read = await Promise.all(sources.map((source, index) => (from[index]?.ended ? { rows: [], more: false } : source(from[index]?.after, limit))));
  const all = read.flatMap((part, source) => part.rows.map((row) => ({ row, source, ...of(row) })));
  all.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  const taken = all.slice(0, limit);
  const next = from.map((old, source) => {
    const mine = taken.filter((one) => one.source === source);
    const part = read[source];
    return { after: mine.at(-1)?.id ?? old.after, ended: old.ended || (part !== undefined && !part.more && mine.length === part.rows.length) };
  });
  return { rows: taken.map((one) => one.row), next: next.every((one) => one.ended) ? undefined : next };
}
