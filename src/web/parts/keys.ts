// Keyboard shortcuts: `g` and a letter to go somewhere, `/` to search, `?` for the list.

export interface Shortcut {
  /** `g h`, `/`, `?`, `s`. */
  keys: string;
  what: string;
  run?: () => void;
}

const groups = new Set<Shortcut[]>();

/** Adds shortcuts until the returned function is called. */
export function addShortcuts(shortcuts: Shortcut[]): () => void {
  groups.add(shortcuts);
  return () => groups.delete(shortcuts);
}

/** All shortcuts of this moment, for the list. */
export const allShortcuts = (): Shortcut[] => [...groups].flat();

const SEQUENCE_MS = 900;
let firstKey = "";
let firstAt = 0;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
  const target = event.target instanceof Element ? event.target : null;
  if (target?.closest("input, textarea, select, dialog, [contenteditable]") || document.querySelector("dialog[open]")) return;
  const sequence = performance.now() - firstAt < SEQUENCE_MS ? `${firstKey} ${event.key}` : "";
  const named = (keys: string) => allShortcuts().find((one) => one.run && one.keys === keys);
  // `g s` is not `s`.
  const shortcut = (sequence && named(sequence)) || named(event.key);
  firstKey = event.key;
  firstAt = performance.now();
  if (!shortcut || !shortcut.run) return;
  firstAt = 0;
  event.preventDefault();
  shortcut.run();
});
