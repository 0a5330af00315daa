// What every list of the desk has: a filter, pages, a file for a spreadsheet, and news.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type ApiFailure, Button, Field, Note, Skeleton, complain, failure, toast } from "../parts";
import { type QueueName, useOnChange } from "./live";

export interface PageOf<Row> {
  rows: Row[];
  /** The cursor of the next page; null at the end. */
  next: string | null;
}

export interface Paged<Row> {
  rows: Row[] | undefined;
  error: ApiFailure | undefined;
  /** Whether there are more. */
  hasMore: boolean;
  loading: boolean;
  more: () => void;
  reload: () => void;
  /** All rows, from the first. For a file. */
  all: () => Promise<Row[]>;
}

/** A file has at most so many rows. */
const MOST_ROWS = 50_000;

/** Rows of a page of a file: there are fewer requests then. */
const FILE_PAGE = 200;

/**
 * A list that is read page by page. It is read again, as far as it was, when one of the queues changes. Rows that have a
 * `fixed` name don't change once they are there, so only those above them are read again.
 */
export function usePaged<Row>(key: string, load: (after: string | null, most?: number) => Promise<PageOf<Row>>, watched: QueueName[] = [], fixed?: (row: Row) => string): Paged<Row> {
  const rows = useSignal<Row[] | undefined>(undefined);
  const next = useSignal<string | null>(null);
  const error = useSignal<ApiFailure | undefined>(undefined);
  const loading = useSignal(false);
  const state = useRef({ run: 0, load, pages: 1 });
  state.current.load = load;

  const read = async (pages: number) => {
    const run = ++state.current.run;
    loading.value = true;
    try {
      let found: Row[] = [];
      let after: string | null = null;
      for (let page = 0; page < pages; page += 1) {
        const part: PageOf<Row> = await state.current.load(after);
        if (run !== state.current.run) return;
        found = found.concat(part.rows);
        after = part.next;
        if (after === null) break;
      }
      rows.value = found;
      next.value = after;
      error.value = undefined;
    } catch (thrown) {
      if (run === state.current.run) error.value = failure(thrown);
    } finally {
      if (run === state.current.run) loading.value = false;
    }
  };

  /** Adds what is new at the top. If a whole page is new, there may be more in between, and the list begins again. */
  const readNew = async (name: (row: Row) => string) => {
    const run = ++state.current.run;
    try {
      const part = await state.current.load(null);
      if (run !== state.current.run) return;
      const known = new Set((rows.value ?? []).map(name));
      const fresh = part.rows.filter((row) => !known.has(name(row)));
      if (fresh.length === part.rows.length && fresh.length > 0) {
        state.current.pages = 1;
        rows.value = part.rows;
        next.value = part.next;
      } else {
        rows.value = [...fresh, ...(rows.value ?? [])];
      }
      error.value = undefined;
    } catch (thrown) {
      if (run === state.current.run) error.value = failure(thrown);
    } finally {
      if (run === state.current.run) loading.value = false;
    }
  };

  useEffect(() => {
    state.current.pages = 1;
    rows.value = undefined;
    void read(1);
  }, [key]);
  useOnChange(watched, () => void (fixed && rows.value ? readNew(fixed) : read(state.current.pages)));

  return {
    rows: rows.value,
    error: error.value,
    hasMore: next.value !== null,
    loading: loading.value,
    more: () => {
      state.current.pages += 1;
      const run = ++state.current.run;
      loading.value = true;
      state.current
        .load(next.value)
        .then(
          (part) => {
            if (run !== state.current.run) return;
            rows.value = (rows.value ?? []).concat(part.rows);
            next.value = part.next;
          },
          (thrown) => {
            if (run === state.current.run) error.value = failure(thrown);
          },
        )
        .finally(() => {
          if (run === state.current.run) loading.value = false;
        });
    },
    reload: () => void read(state.current.pages),
    all: async () => {
      let found: Row[] = [];
      let after: string | null = null;
      do {
        const part: PageOf<Row> = await state.current.load(after, FILE_PAGE);
        found = found.concat(part.rows);
        after = part.next;
      } while (after !== null && found.length < MOST_ROWS);
      return found;
    },
  };
}

export type Cell = string | number | null | undefined;

/** A cell. Spreadsheets run texts that begin like a formula, so those get a quote in front. */
function cellText(value: Cell): string {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csv(head: string[], rows: Cell[][]): string {
  return [head, ...rows].map((row) => row.map(cellText).join(",")).join("\r\n") + "\r\n";
}

/** Offers a text as a file. It never leaves the browser. */
export function save(name: string, text: string, type = "text/csv;charset=utf-8"): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export interface ExportProps<Row> {
  /** Of the file, without its ending. */
  name: string;
  rows: () => Promise<Row[]> | Row[];
  columns: [head: string, cell: (row: Row) => Cell][];
  small?: boolean;
  /** Of the button, where a page has several. */
  text?: string;
}

/** A list as a file for a spreadsheet. */
export function Export<Row>({ name, rows, columns, small = true, text = "Export" }: ExportProps<Row>) {
  const busy = useSignal(false);
  return (
    <Button
      small={small}
      icon="save"
      busy={busy.value}
      // Several lists of a page have one. Ids at the end of the file's name are not read.
      label={text === "Export" ? `Export ${name.replace(/-[^-]*\d[^-]*$/, "").replaceAll("-", " ")}` : undefined}
      onClick={() => {
        busy.value = true;
        Promise.resolve()
          .then(rows)
          .then(
            (all) => {
              save(`${name}-${new Date().toISOString().slice(0, 10)}.csv`, csv(columns.map(([head]) => head), all.map((row) => columns.map(([, cell]) => cell(row)))));
              toast(`${all.length.toLocaleString("en")} rows saved`);
            },
            (thrown) => complain(failure(thrown).said),
          )
          .finally(() => {
            busy.value = false;
          });
      }}
    >
      {text}
    </Button>
  );
}

export interface ListBarProps {
  filter: string;
  onFilter: (text: string) => void;
  /** What the filter looks at. */
  hint: string;
  children?: ComponentChildren;
}

/** Above a list: a text that filters it, and what else narrows or saves it. */
export function ListBar({ filter, onFilter, hint, children }: ListBarProps) {
  return (
    <div class="list-bar">
      <Field label={`Filter: ${hint}`} labelOnlyRead type="search" placeholder={`Filter by ${hint}`} value={filter} onChange={onFilter} class="list-filter" />
      <div class="row wrap">{children}</div>
    </div>
  );
}

/** Whether any of the texts contains the filter. */
export function fits(filter: string, ...texts: Cell[]): boolean {
  const wanted = filter.trim().toLowerCase();
  return wanted === "" || texts.some((text) => text !== null && text !== undefined && String(text).toLowerCase().includes(wanted));
}

export interface ListStateProps<Row> {
  list: Paged<Row>;
  /** Rows that fit the filter. */
  shown: number;
  /** What there is when there is nothing. */
  empty: ComponentChildren;
  /** Beside the number of rows. */
  foot?: ComponentChildren;
  children: ComponentChildren;
}

/** A list while it loads, when it can't be loaded, when it is empty, and with its end. */
export function ListState<Row>({ list, shown, empty, foot, children }: ListStateProps<Row>) {
  if (list.error && !list.rows) return <LoadError error={list.error} retry={list.reload} />;
  if (!list.rows) return <Skeleton rows={5} />;
  return (
    <>
      {list.error && <LoadError error={list.error} retry={list.reload} />}
      {list.rows.length === 0 ? empty : shown === 0 ? <p class="nothing">Nothing in what is loaded fits the filter.</p> : children}
      {(list.hasMore || list.rows.length > 0) && (
        <div class="panel-foot">
          <span>
            {shown === list.rows.length ? `${list.rows.length.toLocaleString("en")} shown` : `${shown.toLocaleString("en")} of ${list.rows.length.toLocaleString("en")} shown`}
            {list.hasMore ? ", there are more" : ""}
          </span>
          {foot}
          {list.hasMore && (
            <Button small busy={list.loading} onClick={list.more}>
              Show more
            </Button>
          )}
        </div>
      )}
    </>
  );
}

export function LoadError({ error, retry }: { error: ApiFailure; retry: () => void }) {
  return (
    <div class="load-error">
      <Note
        tone="bad"
        title="This could not be loaded"
        actions={
          <Button small icon="again" onClick={retry}>
            Try again
          </Button>
        }
      >
        {error.said}
      </Note>
    </div>
  );
}
