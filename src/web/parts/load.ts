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

/**
 * Loads data for a page. `key` says what is loaded: another key loads other data. Events of `types` load it again, at
 * most one request at a time, so that a burst of events causes two requests and not a hundred.
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
    const off = patterns.length > 0 ? onEvent(patterns, run) : () => {};
    const offGap = onGap(run);
    return () => {
      off();
      offGap();
    };
  }, [String(types)]);

  return { data: data.value, error: error.value, reload: run };
}
