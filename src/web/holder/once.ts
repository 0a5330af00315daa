// Sending what moves money: the same words sent again take effect once, also if the first answer got lost.

import { useRef } from "preact/hooks";
import { newKey } from "../parts";

/** A key that stays the same while `content` does, for as long as the dialog is open. */
export function useKeyOf(content: string): string {
  const kept = useRef({ content, key: newKey() });
  if (kept.current.content !== content) kept.current = { content, key: newKey() };
  return kept.current.key;
}
