// Menus and small popovers, native.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { classes } from "./classes";

export interface MenuProps {
  /** Inside the button that opens it. */
  trigger: ComponentChildren;
  /** For a button without words, and for the popover. */
  label: string;
  triggerClass?: string;
  align?: "start" | "end";
  /** Opens upwards. */
  up?: boolean;
  /** Menu items: links and buttons. */
  children: ComponentChildren;
  /** Called each time before it opens. */
  onOpen?: () => void;
}

const MARGIN = 8;

export function Menu({ trigger, label, triggerClass = "button ghost", align = "start", up, children, onOpen }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  const place = () => {
    const from = button.current?.getBoundingClientRect();
    const node = box.current;
    if (!from || !node) return;
    const { offsetWidth: width, offsetHeight: height } = node;
    const left = align === "end" ? from.right - width : from.left;
    const above = up || from.bottom + height + MARGIN > innerHeight;
    node.style.left = `${Math.min(Math.max(MARGIN, left), innerWidth - width - MARGIN)}px`;
    node.style.top = `${Math.max(MARGIN, Math.min(above ? from.top - height - 6 : from.bottom + 6, innerHeight - height - MARGIN))}px`;
  };
  // A window that is enlarged or turned must not leave it outside.
  useEffect(() => {
    if (!open) return undefined;
    addEventListener("resize", place);
    return () => removeEventListener("resize", place);
  }, [open]);
  const items = () => [...(box.current?.querySelectorAll<HTMLElement>("a, button, input") ?? [])];

  return (
    <>
      <button ref={button} type="button" class={triggerClass} popovertarget={id} aria-haspopup="dialog" aria-expanded={open} aria-label={label}>
        {trigger}
      </button>
      <div
        ref={box}
        id={id}
        popover="auto"
        class={classes("menu")}
        role="dialog"
        aria-label={label}
        onBeforeToggle={(event) => {
          if (event.newState === "open") onOpen?.();
          setOpen(event.newState === "open");
        }}
        onToggle={(event) => {
          if (event.newState !== "open") return;
          place();
          items()[0]?.focus();
        }}
        onClick={(event) => {
          // An item that acts closes the menu; a choice within it does not.
          if ((event.target as Element).closest("a, button:not([aria-pressed])")) box.current?.hidePopover();
        }}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
          event.preventDefault();
          const all = items();
          const at = all.indexOf(document.activeElement as HTMLElement);
          all[(at + (event.key === "ArrowDown" ? 1 : all.length - 1)) % all.length]?.focus();
        }}
      >
        {open && children}
      </div>
    </>
  );
}
