// Buttons, and links that look like them.

import type { ComponentChildren, JSX } from "preact";
import { classes } from "./classes";
import { Icon, type IconName } from "./icon";
import { canDecide } from "./stream";

export interface ButtonProps {
  children?: ComponentChildren;
  /** `primary` acts, `danger` takes away, `ghost` steps back. `["danger", "primary"]` is the red one of a confirmation. */
  kind?: "primary" | "danger" | "ghost" | "danger primary";
  icon?: IconName;
  small?: boolean;
  wide?: boolean;
  /** Shows that it works, and refuses a second press. */
  busy?: boolean;
  disabled?: boolean;
  /** A decision: disabled while the page is not live, because it would rest on old figures. */
  decides?: boolean;
  /** A link instead. */
  href?: string;
  /** Another site or page, in a new tab. */
  outside?: boolean;
  type?: "button" | "submit";
  /** For a button without words. */
  label?: string;
  onClick?: (event: MouseEvent) => void;
  id?: string;
  class?: string;
  popoverTarget?: string;
  autoFocus?: boolean;
  pressed?: boolean;
}

/** The address if it leads to a page, and nothing if it would run a script. Some come from providers. */
export function safeHref(href: string): string | undefined {
  try {
    const { protocol } = new URL(href, location.href);
    return ["http:", "https:", "mailto:"].includes(protocol) ? href : undefined;
  } catch {
    return undefined;
  }
}

export function Button(props: ButtonProps) {
  const { children, kind, icon, small, wide, busy, href, outside, type = "button", label, onClick, id } = props;
  const name = classes("button", kind, small && "small", wide && "wide", children === undefined && "only-icon", props.class);
  const inside = (
    <>
      {icon && <Icon name={busy ? "move" : icon} turning={busy === true} />}
      {!icon && busy && <Icon name="move" turning />}
      {children}
    </>
  );
  if (href !== undefined) {
    const away: JSX.AnchorHTMLAttributes = outside ? { target: "_blank", rel: "noreferrer" } : {};
    return (
      <a class={name} href={safeHref(href)} id={id} aria-label={label} title={label} {...away}>
        {inside}
        {outside && <span class="only-read"> (opens a new tab)</span>}
      </a>
    );
  }
  const held = props.decides === true && !canDecide.value;
  return (
    <button
      type={type}
      class={name}
      id={id}
      aria-label={label}
      title={held ? "Not while this page is not live." : label}
      aria-busy={busy ? "true" : undefined}
      aria-pressed={props.pressed}
      disabled={props.disabled === true || held}
      popovertarget={props.popoverTarget}
      autoFocus={props.autoFocus}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    >
      {inside}
    </button>
  );
}

/** A link to another site, such as a chain's explorer. */
export function OutLink({ href, children }: { href: string; children: ComponentChildren }) {
  return (
    <a href={safeHref(href)} target="_blank" rel="noreferrer" class="nowrap">
      {children}
      <span class="only-read"> (opens a new tab)</span>
    </a>
  );
}
