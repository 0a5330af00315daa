// Pages by address, without reloads. Links are plain links: a click on one that belongs to the app is taken here.

import { type Signal, computed, signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { keepFocus } from "./keep-focus";

interface Place {
  path: string;
  search: string;
  /** Grows with each visit, so that the same address can be visited again. */
  visit: number;
}

const here = (visit: number): Place => ({ path: location.pathname, search: location.search, visit });
const place: Signal<Place> = signal(here(0));
const query = computed(() => new URLSearchParams(place.value.search));
let base = "/";

/** The address and its parameters. */
export function useRoute(): { path: string; query: URLSearchParams; params: Record<string, string> } {
  return { path: place.value.path, query: query.value, params: params.value };
}

const params = signal<Record<string, string>>({});

/** Opens a page of the app, or leaves the app for another address of this origin. */
export function navigate(to: string, { replace }: { replace?: boolean } = {}): void {
  const url = new URL(to, location.href);
  if (url.origin !== location.origin || !isInside(url.pathname)) {
    location.assign(url.href);
    return;
  }
  const samePath = url.pathname === location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", url.href);
  place.value = here(place.value.visit + 1);
  if (!samePath) {
    scrollTo(0, 0);
    moved = true;
  }
  if (url.hash) requestAnimationFrame(() => document.getElementById(decodeURIComponent(url.hash.slice(1)))?.scrollIntoView());
}

/** Changes the query of this page, in place by default. Undefined and empty values are removed. */
export function setQuery(changes: Record<string, string | undefined>, { push }: { push?: boolean } = {}): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  navigate(location.pathname + (text ? `?${text}` : ""), { replace: !push });
}

let moved = false;
const isInside = (path: string): boolean => base === "/" || path === base || path.startsWith(`${base}/`);

/** Takes the app's links and the browser's back and forward. */
export function startRouter(at: string): void {
  base = at;
  keepFocus();
  addEventListener("popstate", () => {
    moved ||= place.value.path !== location.pathname;
    place.value = here(place.value.visit + 1);
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest("a");
    if (!link?.href || link.target || link.hasAttribute("download")) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !isInside(url.pathname)) return;
    // A jump within the page is the browser's.
    if (url.hash && url.pathname === location.pathname && url.search === location.search) return;
    event.preventDefault();
    navigate(url.href);
  });
}

export interface PageProps {
  params: Record<string, string>;
}

type PageModule = { default: ComponentType<PageProps> };

export interface PageRow {
  /** `/dashboard/cards/:card_id`. */
  path: string;
  load: () => Promise<PageModule>;
}

function match(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const given = path.replace(/\/+$/, "").split("/");
  if (wanted.length !== given.length) return null;
  const found: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":")) {
      try {
        found[part.slice(1)] = decodeURIComponent(value);
      } catch {
        return null;
      }
    } else if (part !== value) return null;
  }
  return found;
}

const loaded = new Map<string, PageModule>();

let prefetched = false;

export interface PagesProps {
  rows: PageRow[];
  loading: ComponentType;
  missing: ComponentType;
  /** The page's file could not be loaded. `missing` by default. */
  failed?: ComponentType;
}

/** The page of the address. Each page is a file of its own, loaded when it is first opened. */
export function Pages({ rows, loading: Loading, missing: Missing, failed: Failed = Missing }: PagesProps) {
  const { path } = place.value;
  let row: PageRow | undefined;
  let found: Record<string, string> = {};
  for (const candidate of rows) {
    const matched = match(candidate.path, path);
    if (matched) {
      row = candidate;
      found = matched;
      break;
    }
  }
  const [, redraw] = useState(0);
  const [failed, setFailed] = useState<string | null>(null);
  const pattern = row?.path ?? "";
  const module = loaded.get(pattern);
  useEffect(() => {
    if (!row || module) return;
    let wanted = true;
    row.load().then(
      (arrived) => {
        loaded.set(pattern, arrived);
        if (wanted) redraw((count) => count + 1);
      },
      // No answer, or a newer version of the service runs and has other files.
      () => {
        if (wanted) setFailed(pattern);
      },
    );
    return () => {
      wanted = false;
    };
  }, [pattern, module]);
  // After a change of the page, the keyboard and screen readers go on at its beginning.
  useEffect(() => {
    if (module && moved) {
      moved = false;
      document.getElementById("main")?.focus({ preventScroll: true });
    }
  }, [module, path]);
  // The other pages are loaded while nothing else is to do: then they open at once, without the service too.
  useEffect(() => {
    if (!module || prefetched) return;
    prefetched = true;
    const idle = globalThis.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 1_500));
    idle(() => {
      for (const other of rows) {
        other.load().then(
          (arrived) => loaded.set(other.path, arrived),
          () => {},
        );
      }
    });
  }, [module]);
  if (!row) return <Missing />;
  if (!module && failed === pattern) return <Failed />;
  if (!module) return <Loading />;
  params.value = found;
  const Page = module.default;
  return <Page key={pattern} params={found} />;
}
