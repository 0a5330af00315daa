// Data of a page: loaded once, loaded again when an event says that it changed.

import { useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { ApiFailure, failure } from "./api";
import { onEvent, onGap } from "./stream";

export interface Loaded<T> {
  /** Undefined until it is there. Kept while it is loaded again. */
  data: T | undefined;
  error: ApiFailure | undefined;
  /** Loads it again now. */
  reload: () => void;
}

/** Between two loads that events cause. */
const PAUSE_MS = 1_000;

/**
 * Loads data for a page. `key` says what is loaded: another key loads other data. Events of `types` load it again: one
 * request at a time and at most one a second, so that a burst of events causes two requests and not a hundred.
 */
export function useLoaded<T>(key: string, load: () => Promise<T>, types: string | string[] = []): Loaded<T> {
  const data = useSignal<T | undefined>(undefined);
  const error = useSignal<ApiFailure | undefined>(undefined);
  const state = useRef({ key, running: false, again: false, load });
  state.current.load = load;

  const run = useCallback(() => {
    const now = state.current;
    if (now.running) {
      now.again = true;
      return;
    }
    now.running = true;
    const wanted = now.key;
    now
      .load()
      .then(
        (value) => {
          if (now.key !== wanted) return;
          data.value = value;
          error.value = undefined;
        },
        (thrown) => {
          if (now.key === wanted) error.value = failure(thrown);
        },
      )
      .finally(() => {
        now.running = false;
        if (now.again || now.key !== wanted) {
          now.again = false;
          run();
        }
      });
  }, []);

  useEffect(() => {
    if (state.current.key !== key) {
      state.current.key = key;
      data.value = undefined;
      error.value = undefined;
    }
    run();
  }, [key]);
  useEffect(() => {
    const patterns = typeof types === "string" ? [types] : types;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = 0;
    const soon = () => {
      if (timer !== undefined) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          last = performance.now();
          run();
        },
        Math.max(0, last + PAUSE_MS - performance.now()),
      );
    };
    const off = patterns.length > 0 ? onEvent(patterns, soon) : () => {};
    const offGap = onGap(run);
    return () => {
      clearTimeout(timer);
      off();
      offGap();
    };
  }, [String(types)]);

  return { data: data.value, error: error.value, reload: run };
}
