// A list with one of its things beside it, or below each other where there is no room for both.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { classes } from "../parts";

/** Whether there is room for two columns, as `.split` in the style. */
function useRoom(): boolean {
  const [query] = useState(() => matchMedia("(min-width: 72rem)"));
  const [has, setHas] = useState(query.matches);
  useEffect(() => {
    const changed = () => setHas(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return has;
}

export interface SplitProps {
  list: ComponentChildren;
  item: ComponentChildren;
  /** What was opened: null for nothing, undefined while the list is loaded. In one column it is above the list. */
  open: string | null | undefined;
  /** The list is the narrow one, and stays in view. */
  narrowList?: boolean;
}

export function Split({ list, item, open, narrowList }: SplitProps) {
  const hasRoom = useRoom();
  const place = useRef<HTMLDivElement>(null);
  const was = useRef(open);
  useEffect(() => {
    const before = was.current;
    was.current = open;
    const node = place.current;
    // What was opened before the page was shown is at its top.
    if (!node || !open || before === undefined || before === open || hasRoom) return;
    node.scrollIntoView({ block: "start" });
    if (!node.contains(document.activeElement)) node.focus({ preventScroll: true });
  }, [open]);
  const isBelow = Boolean(open) && !hasRoom;
  const beside = (key: string) => (
    <div key={key} class={classes(narrowList && "stick")}>
      {list}
    </div>
  );
  // The list changes its place in the document too, so that it is read in the order that is seen. The item never does: a
  // dialog in it would no longer be above the page.
  return (
    <div class={classes("split", narrowList && "left")}>
      {!isBelow && beside("above")}
      <div key="item" ref={place} tabIndex={-1} class={classes(!narrowList && "stick")}>
        {item}
      </div>
      {isBelow && beside("below")}
    </div>
  );
}
