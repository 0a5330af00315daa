// Short messages at the bottom of the page, with an undo where there is one.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icon";

interface Shown {
  id: number;
  text: string;
  undo: (() => void) | undefined;
  /** Something was not done. */
  bad: boolean;
}

const shown = signal<Shown[]>([]);
let last = 0;

/** Says something for a moment. With `undo`, for six seconds and with a button. */
export function toast(text: string, undo?: () => void, bad = false): void {
  last += 1;
  const id = last;
  shown.value = [...shown.value.slice(-2), { id, text, undo, bad }];
  setTimeout(() => dismiss(id), undo || bad ? 6_000 : 3_200);
}

/** Says why something was not done. */
export const complain = (text: string): void => toast(text, undefined, true);

function dismiss(id: number): void {
  shown.value = shown.value.filter((one) => one.id !== id);
}

/** Where toasts appear. Each app has one, in its shell. */
export function Toasts() {
  const box = useRef<HTMLDivElement>(null);
  const list = shown.value;
  // In the top layer, so that an open dialog does not cover it; shown anew so that it is above the newest dialog.
  useEffect(() => {
    const node = box.current;
    if (!node?.showPopover) return;
    if (node.matches(":popover-open")) node.hidePopover();
    if (list.length > 0) node.showPopover();
  }, [list]);
  return (
    <div class="toasts" ref={box} popover="manual" role="status" aria-live="polite">
      {list.map((one) => (
        <div class="toast" key={one.id}>
          <Icon name={one.bad ? "bad" : "done"} />
          <span>{one.text}</span>
          {one.undo && (
            <button
              type="button"
              onClick={() => {
                dismiss(one.id);
                one.undo?.();
              }}
            >
              Undo
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
