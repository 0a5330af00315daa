// Panels, notes, empty states, skeletons and lists of facts.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { classes } from "./classes";
import { Icon, type IconName } from "./icon";

export interface PanelProps {
  title?: ComponentChildren;
  /** At the right of the title: a link, a count, a choice. */
  aside?: ComponentChildren;
  /** `ask` is brass: it asks for a person. `plain` has no frame. */
  tone?: "ask" | "plain";
  /** Below a line at the end. */
  foot?: ComponentChildren;
  /** With the inner space of text. Lists and tables have their own. */
  padded?: boolean;
  id?: string;
  class?: string;
  children?: ComponentChildren;
}

export function Panel({ title, aside, tone, foot, padded, id, class: name, children }: PanelProps) {
  const heading = useId();
  return (
    <section class={classes("panel", tone, name)} id={id} aria-labelledby={title ? heading : undefined}>
      {title && (
        <div class="panel-head">
          <h2 id={heading}>{title}</h2>
          {aside && <div class="aside">{aside}</div>}
        </div>
      )}
      {padded ? <div class="panel-body">{children}</div> : children}
      {foot && <div class="panel-foot">{foot}</div>}
    </section>
  );
}

export interface NoteProps {
  tone: "bad" | "wait" | "done" | "info" | "huh";
  title?: ComponentChildren;
  children?: ComponentChildren;
  /** Buttons. */
  actions?: ComponentChildren;
}

/** A message within a page. A bad one is read aloud at once. */
export function Note({ tone, title, children, actions }: NoteProps) {
  return (
    <div class={classes("note", `note-${tone}`)} role={tone === "bad" ? "alert" : undefined}>
      <Icon name={tone} />
      <div>
        {title && <b>{title}</b>}
        {children && <div class="note-text">{children}</div>}
      </div>
      {actions && <div class="acts">{actions}</div>}
    </div>
  );
}

export interface EmptyProps {
  icon: IconName;
  title: string;
  /** The next step. */
  children?: ComponentChildren;
  actions?: ComponentChildren;
}

/** Nothing is here yet, and this is how something comes. */
export function Empty({ icon, title, children, actions }: EmptyProps) {
  return (
    <div class="empty">
      <span class="icon-box">
        <Icon name={icon} large />
      </span>
      <b>{title}</b>
      {children && <p>{children}</p>}
      {actions && <div class="row wrap">{actions}</div>}
    </div>
  );
}

const WIDTHS = ["w-70", "w-55", "w-62", "w-48", "w-66", "w-52"];

/** The shape of what is being loaded. */
export function Skeleton({ rows = 4, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <div class="skeleton" aria-busy="true">
      <p class="only-read" role="status">
        {label}
      </p>
      {Array.from({ length: rows }, (_, index) => (
        <div class="skeleton-row" aria-hidden="true">
          <span class={`shade ${WIDTHS[index % WIDTHS.length]}`} />
          <span class="shade w-12" />
        </div>
      ))}
    </div>
  );
}

/** One grey bar of a skeleton. */
export function Shade({ width }: { width: "w-12" | "w-20" | "w-30" | "w-48" | "w-55" | "w-62" | "w-70" | "w-100" }) {
  return <span class={`shade ${width}`} aria-hidden="true" />;
}

export interface Fact {
  name: ComponentChildren;
  value: ComponentChildren;
}

/** Facts about one thing. Rows that are false, null or undefined are left out. */
export function KeyValue({ rows, right }: { rows: (Fact | false | null | undefined)[]; right?: boolean }) {
  return (
    <dl class={classes("facts", right && "right")}>
      {rows.map(
        (row) =>
          row && (
            <>
              <dt>{row.name}</dt>
              <dd>{row.value}</dd>
            </>
          ),
      )}
    </dl>
  );
}

export interface PageHeadProps {
  title: ComponentChildren;
  children?: ComponentChildren;
  /** Buttons at the right. */
  actions?: ComponentChildren;
}

/** The title of a page with a sentence below. */
export function PageHead({ title, children, actions }: PageHeadProps) {
  return (
    <div class="page-head">
      <div class="grow">
        <h1>{title}</h1>
        {children && <p>{children}</p>}
      </div>
      {actions && <div class="acts">{actions}</div>}
    </div>
  );
}
