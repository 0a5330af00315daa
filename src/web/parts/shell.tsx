// The frame of both apps: navigation, the connection, the stale bar, dialogs and toasts.

import { signal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { classes } from "./classes";
import { Connection, StaleBar } from "./connection";
import { Dialog } from "./dialog";
import { Avatar, Icon, type IconName, Mark } from "./icon";
import { short } from "./id";
import { addShortcuts, allShortcuts } from "./keys";
import { Menu } from "./menu";
import { KeyValue } from "./panel";
import { PasskeyStep } from "./passkey";
import { navigate } from "./router";
import { connection } from "./stream";
import { Segments } from "./tabs";
import { type Theme, setTheme, theme } from "./theme";
import { Toasts } from "./toast";

export type AppName = "holder" | "desk";

interface Place {
  /** The name of the page, as in [`ShellProps`]. */
  page: string;
  href: string;
  icon: IconName;
  name: string;
  /** In the sidebar, where there is room. */
  long?: string;
  /** After `g`. */
  key: string;
}

const HOLDER: Place[] = [
  { page: "home", href: "/dashboard", icon: "home", name: "Home", key: "h" },
  { page: "cards", href: "/dashboard/cards", icon: "card", name: "Cards", key: "c" },
  { page: "transfers", href: "/dashboard/transfers", icon: "route", name: "Transfers", key: "t" },
  { page: "agents", href: "/dashboard/agents", icon: "agent", name: "Agents", long: "Agents and limits", key: "a" },
  { page: "statement", href: "/dashboard/statement", icon: "statement", name: "Statement", key: "s" },
  { page: "settings", href: "/dashboard/settings", icon: "settings", name: "Settings", key: "e" },
];
const DESK: { title?: string; places: Place[] }[] = [
  {
    places: [
      { page: "home", href: "/desk", icon: "home", name: "Home", key: "h" },
      { page: "orders", href: "/desk/orders", icon: "globe", name: "Orders", key: "o" },
      { page: "stuck", href: "/desk/stuck", icon: "huh", name: "Stuck", long: "Stuck work", key: "k" },
      { page: "refunds", href: "/desk/refunds", icon: "undo", name: "Refunds", long: "Refunds, approvals", key: "r" },
      { page: "incoming", href: "/desk/incoming", icon: "inbox", name: "Transfers", long: "Unknown transfers", key: "i" },
      { page: "customers", href: "/desk/customers", icon: "people", name: "Customers", key: "c" },
    ],
  },
  {
    title: "Books",
    places: [
      { page: "books", href: "/desk/reconciliation", icon: "books", name: "Reconciliation", key: "b" },
      { page: "audit", href: "/desk/audit", icon: "audit", name: "Audit log", key: "l" },
    ],
  },
  {
    title: "Machine",
    places: [
      { page: "webhooks", href: "/desk/webhooks", icon: "webhook", name: "Webhooks", key: "w" },
      { page: "lines", href: "/desk/lines", icon: "play", name: "Lines", long: "Product lines", key: "n" },
      { page: "supervision", href: "/desk/supervision", icon: "tree", name: "Supervision", key: "v" },
      { page: "operators", href: "/desk/operators", icon: "key", name: "Operators", key: "p" },
      { page: "sandbox", href: "/desk/sandbox", icon: "flask", name: "Sandbox", key: "x" },
    ],
  },
];
const GROUPS: Record<AppName, { title?: string; places: Place[] }[]> = { holder: [{ places: HOLDER }], desk: DESK };
const TABS: Record<AppName, string[]> = { holder: ["home", "cards", "transfers", "agents"], desk: ["home", "orders", "stuck", "customers"] };

export interface Count {
  n: number;
  /** `ask` is brass, `bad` is red. */
  tone?: "ask" | "bad" | undefined;
  /** Read aloud after the number: “need you”. */
  said?: string;
}

/** What the frame shows of the person and the service. An app fills it in once. */
export const frame = {
  /** By page. Zero is not shown. */
  counts: signal<Record<string, Count>>({}),
  person: signal<{ name: string; detail: string; address?: boolean } | null>(null),
  sandbox: signal(false),
  /** In front of the title, so that a tab in the background says that something waits. */
  waiting: signal(0),
  signOut: { run: async (): Promise<void> => {} },
  /** What each page of the holder says first: that agents are stopped, that somebody recovers the account. */
  notes: signal<ComponentType | null>(null),
  /** Pages of the desk that this service or this operator does not have. */
  hidden: signal<string[]>([]),
};

export interface Crumb {
  text: string;
  href?: string;
}

export interface ShellProps {
  app: AppName;
  /** Of the navigation: `home`, `cards`, … */
  page: string;
  /** Of the browser's tab. */
  title: string;
  crumbs?: Crumb[];
  /** Narrow, for reading. */
  read?: boolean;
  /** Without ways to other pages: there are none now. */
  closed?: boolean;
  children: ComponentChildren;
}

function CountBadge({ page }: { page: string }) {
  const count = frame.counts.value[page];
  if (!count || count.n === 0) return null;
  return (
    <span class={classes("count", count.tone)}>
      {count.n}
      {count.said && <span class="only-read"> {count.said}</span>}
    </span>
  );
}

function NavLink({ place, current, long }: { place: Place; current: string; long?: boolean }) {
  return (
    <a href={place.href} aria-current={place.page === current ? "page" : undefined}>
      <Icon name={place.icon} />
      {(long && place.long) || place.name}
      <CountBadge page={place.page} />
    </a>
  );
}

export function ThemeChoice() {
  return (
    <div class="theme-choice">
      <p class="menu-title">Appearance</p>
      <Segments<Theme>
        label="Appearance"
        options={[
          { value: "auto", text: "As device" },
          { value: "light", text: "Light" },
          { value: "dark", text: "Dark" },
        ]}
        value={theme.value}
        onChange={setTheme}
      />
    </div>
  );
}

/** The box of the desk's top bar that finds anything somebody quotes. */
function Search() {
  return (
    <form
      class="search"
      role="search"
      aria-label="Everywhere"
      onSubmit={(event) => {
        event.preventDefault();
        const text = new FormData(event.currentTarget).get("q");
        navigate(`/desk/customers?q=${encodeURIComponent(String(text ?? "").trim())}`);
      }}
    >
      <Icon name="search" />
      <label class="only-read" for="search">
        Find a customer
      </label>
      <input id="search" name="q" class="input" type="search" placeholder="Wallet, id, last four, hash, request id" autocomplete="off" />
      <kbd class="wide-only" aria-hidden="true">
        /
      </kbd>
    </form>
  );
}

function SignOut() {
  const [busy, setBusy] = useState(false);
  return (
    <button
      type="button"
      disabled={busy}
      onClick={() => {
        setBusy(true);
        void frame.signOut.run().finally(() => setBusy(false));
      }}
    >
      <Icon name="leave" />
      Sign out
    </button>
  );
}

export function Shell({ app, page, title, crumbs, read, closed, children }: ShellProps) {
  const desk = app === "desk";
  const home = desk ? "/desk" : "/dashboard";
  const hidden = frame.hidden.value;
  const groups = GROUPS[app].map((group) => ({ ...group, places: group.places.filter((place) => !closed && !hidden.includes(place.page)) })).filter((group) => group.places.length > 0);
  const places = groups.flatMap((group) => group.places);
  const tabs = places.filter((place) => TABS[app].includes(place.page));
  const rest = places.filter((place) => !TABS[app].includes(place.page));
  const person = frame.person.value;
  const top = useRef<HTMLElement>(null);
  const [listed, setListed] = useState(false);
  const waiting = frame.waiting.value;
  const Notes = frame.notes.value;

  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title} · Purser${desk ? " desk" : ""}`;
  }, [title, waiting, desk]);
  useEffect(() => {
    document.body.classList.toggle("desk", desk);
    return addShortcuts([
      ...places.map((place) => ({ keys: `g ${place.key}`, what: place.long ?? place.name, run: () => navigate(place.href) })),
      ...(desk ? [{ keys: "/", what: "Find anything somebody quotes", run: () => document.getElementById("search")?.focus() }] : []),
      { keys: "?", what: "This list", run: () => setListed(true) },
    ]);
  }, [app, hidden, closed]);
  useEffect(() => {
    const scrolled = () => top.current?.classList.toggle("scrolled", scrollY > 4);
    addEventListener("scroll", scrolled, { passive: true });
    return () => removeEventListener("scroll", scrolled);
  }, []);

  const brand = (
    <a class="brand" href={home} aria-label={`Purser${desk ? " desk" : ""}: home`}>
      <Mark />
      <span>
        Purser{desk && " "}
        {desk && <small>desk</small>}
      </span>
    </a>
  );
  return (
    <div class={classes("app", connection.value === "stale" && "is-stale")}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <div class="frame">
        <aside class="side" aria-label="Sidebar">
          {brand}
          <nav aria-label="Main" hidden={closed}>
            {groups.map((group) => (
              <>
                {group.title && <p class="nav-title">{group.title}</p>}
                <div class="nav">
                  {group.places.map((place) => (
                    <NavLink key={place.page} place={place} current={page} long />
                  ))}
                </div>
              </>
            ))}
          </nav>
          <div class="side-foot">
            <Menu
              up
              label={person ? `${person.address ? short(person.name) : person.name} ${person.detail}: menu` : "Account"}
              triggerClass="who"
              trigger={
                <>
                  {desk && person ? <Avatar name={person.name} /> : <Avatar name="account" icon="wallet" />}
                  <span class="grow">
                    <b class="small">{person ? (person.address ? short(person.name) : person.name) : "…"}</b>{" "}
                    <span class="tiny quiet">{person?.detail ?? ""}</span>
                  </span>
                  <Icon name="more" />
                </>
              }
            >
              {!closed && (
                <a href={desk ? "/desk/audit" : "/dashboard/settings"}>
                  <Icon name={desk ? "audit" : "settings"} />
                  {desk ? "What I did" : "Settings"}
                </a>
              )}
              {desk && (
                <a href="/desk/me">
                  <Icon name="passkey" />
                  Passkeys and sessions
                </a>
              )}
              <button type="button" onClick={() => setListed(true)}>
                <Icon name="keyboard" />
                <span class="grow">Keyboard shortcuts</span>
                <kbd>?</kbd>
              </button>
              <hr />
              <ThemeChoice />
              <hr />
              <SignOut />
            </Menu>
          </div>
        </aside>
        <div class="main">
          <header class="top" ref={top}>
            {brand}
            {desk ? (
              <>
                <Search />
                <a class="button ghost only-icon find" href="/desk/customers" aria-label="Find a customer">
                  <Icon name="search" />
                </a>
              </>
            ) : (
              <div class="crumbs">
                {crumbs && (
                  <nav class="row" aria-label="Where you are">
                    {crumbs.map((crumb, index) => (
                      <>
                        {index > 0 && <Icon name="right" />}
                        {crumb.href ? <a href={crumb.href}>{crumb.text}</a> : <span aria-current="page">{crumb.text}</span>}
                      </>
                    ))}
                  </nav>
                )}
              </div>
            )}
            <span class="grow" />
            {frame.sandbox.value && (
              <span class="chip dashed" title="Test money. Nothing here leaves this machine.">
                Sandbox
              </span>
            )}
            <Connection />
          </header>
          <StaleBar>{desk ? "What you see may be old. Nothing can be decided until we are back." : "What you see may be old. You can stop your agents as soon as the service answers."}</StaleBar>
          <main class={classes("content", read && "read")} id="main" tabIndex={-1}>
            {Notes && <Notes />}
            {children}
          </main>
        </div>
      </div>
      <nav class="tabbar" aria-label="Main, short">
        {tabs.map((place) => (
          <NavLink key={place.page} place={place} current={page} />
        ))}
        <Menu
          up
          align="end"
          label="More"
          triggerClass="tab-more"
          trigger={
            <>
              <Icon name="more" />
              More
            </>
          }
        >
          {rest.map((place) => (
            <NavLink key={place.page} place={place} current={page} long />
          ))}
          {rest.length > 0 && <hr />}
          <ThemeChoice />
          <hr />
          <SignOut />
        </Menu>
      </nav>
      {listed && (
        <Dialog title="Keyboard" onClose={() => setListed(false)}>
          <KeyValue
            rows={[...allShortcuts(), { keys: "Esc", what: "Close" }].map((shortcut) => ({
              name: (
                <span class="row">
                  {shortcut.keys.split(" ").map((key) => (
                    <kbd>{key}</kbd>
                  ))}
                </span>
              ),
              value: shortcut.what,
            }))}
          />
        </Dialog>
      )}
      <PasskeyStep />
      <Toasts />
    </div>
  );
}

/** The frame of a page outside the apps: signing in, links that were used. */
export function PublicFrame({ title, children, foot }: { title: string; children: ComponentChildren; foot?: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · Purser`;
  }, [title]);
  return (
    <div class="public">
      <header>
        <a class="brand" href="/">
          <Mark />
          <span>Purser</span>
        </a>
        {frame.sandbox.value && <span class="chip dashed">Sandbox</span>}
      </header>
      <main id="main" class="narrow" tabIndex={-1}>
        {children}
      </main>
      <footer>{foot ?? <span>Financial products for software agents, paid per call.</span>}</footer>
      <PasskeyStep />
      <Toasts />
    </div>
  );
}
