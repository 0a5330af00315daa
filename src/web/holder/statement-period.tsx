// What the statements have in common: whose they are, the period, the file, and the paper.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Amount, type AmountValue, Button, Dialog, Field, Note, PageHead, Segments, Shell, clock, failure, fullTime, isZero, present, setQuery, toast, useRoute } from "../parts";
import { account, mayAct } from "./account";
import type { Slice } from "./data/load";
import { type Export, type Shown, dateOf, daysPeriod, monthPeriod, readForPaper, thisMonth } from "./data/statement";

/** Values of `account` in the address. Without one it is the balance. */
export const OF_WALLET = "agents";
export const OF_PURCHASES = "purchases";

const isDay = (text: string | null): text is string => text !== null && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));

/** The period of the address: a month, or from and to. */
export function periodOf(query: URLSearchParams): { shown: Shown; days: boolean } {
  const from = query.get("from");
  const to = query.get("to");
  if (isDay(from) || isDay(to)) return { shown: daysPeriod(isDay(from) ? from : "", isDay(to) ? to : ""), days: true };
  const month = query.get("month");
  return { shown: monthPeriod(month && /^\d{4}-(0[1-9]|1[0-2])$/.test(month) ? month : thisMonth()), days: false };
}

/** The rows of a statement on paper: while it is printed the page has all of the period, not only those of the shown page. */
export interface Paper<Row, At> {
  /** Absent while nothing is printed. */
  rows: Slice<Row, At> | null;
  preparing: boolean;
  print: () => Promise<void>;
}

/** What is said if there is more than is printed. */
export const NEWEST_ONLY = " The newest lines only; the CSV file has all of them.";

export function usePaper<Row, At>(slice: (after: At | undefined) => Promise<Slice<Row, At>>): Paper<Row, At> {
  const [rows, setRows] = useState<Slice<Row, At> | null>(null);
  const [preparing, setPreparing] = useState(false);
  useEffect(() => {
    if (!rows) return undefined;
    const done = () => setRows(null);
    addEventListener("afterprint", done, { once: true });
    requestAnimationFrame(() => print());
    return () => removeEventListener("afterprint", done);
  }, [rows]);
  return {
    rows,
    preparing,
    print: async () => {
      setPreparing(true);
      try {
        setRows(await readForPaper(slice));
      } catch (thrown) {
        toast(failure(thrown).said);
      }
      setPreparing(false);
    },
  };
}

export interface StatementPageProps {
  shown: Shown;
  /** What it is called on paper. */
  name: string;
  /** What it has. */
  text: string;
  file: { title: string; name: string; read: (progress: (lines: number) => void, stopped: () => boolean) => Promise<Export | null> };
  paper: { preparing: boolean; print: () => Promise<void> };
  children: ComponentChildren;
}

/** The frame of a statement: what it is called here and on paper, its file and its print. */
export function StatementPage({ shown, name, text, file, paper, children }: StatementPageProps) {
  const [exporting, setExporting] = useState(false);
  return (
    <Shell app="holder" page="statement" title="Statement">
      <div class="statement">
        <div class="print-only print-head">
          <div>
            <span>Purser</span>
            <span>{name}</span>
          </div>
          <p class="small">
            Account {account.value?.user_id} · {shown.name} · made {fullTime(new Date(present()).toISOString())}
          </p>
        </div>
        <div class="no-print">
          <PageHead
            title="Statement"
            actions={
              <>
                <Button icon="save" onClick={() => setExporting(true)}>
                  CSV
                </Button>
                <Button icon="print" busy={paper.preparing} onClick={() => void paper.print()}>
                  Print
                </Button>
              </>
            }
          >
            {text}
          </PageHead>
        </div>
        <div class="stack">{children}</div>
      </div>
      {exporting && <ExportDialog name={file.title} file={file.name} read={file.read} onClose={() => setExporting(false)} />}
    </Shell>
  );
}

/** Chooses the period and whose statement it is. */
export function StatementBar({ shown, days, of, children }: { shown: Shown; days: boolean; of: string; children?: ComponentChildren }) {
  const { query } = useRoute();
  const [choosing, setChoosing] = useState(false);
  const hasWallet = of === OF_WALLET || (mayAct.value && account.value?.agent_wallet);
  return (
    <div class="period no-print">
      <div class="row wrap">
        {shown.before && (
          <Button kind="ghost" small icon="left" label={`Earlier: ${monthPeriod(shown.before).name}`} onClick={() => setQuery({ month: shown.before })} />
        )}
        <b aria-live="polite">{shown.name}</b>
        {!days && (
          <Button
            kind="ghost"
            small
            icon="right"
            label={shown.after ? `Later: ${monthPeriod(shown.after).name}` : "Later: it has not begun"}
            disabled={shown.after === undefined}
            onClick={() => setQuery({ month: shown.after === thisMonth() ? undefined : shown.after })}
          />
        )}
        <Button small icon="calendar" onClick={() => setChoosing(true)}>
          Choose days
        </Button>
        {days && (
          <Button small kind="ghost" onClick={() => setQuery({ from: undefined, to: undefined, of: undefined })}>
            This month
          </Button>
        )}
      </div>
      <Segments
        label="Statement of"
        options={[{ value: "", text: "Balance" }, ...(hasWallet ? [{ value: OF_WALLET, text: "Agents’ wallet" }] : []), { value: OF_PURCHASES, text: "All purchases" }]}
        value={of}
        onChange={(value) => setQuery({ account: value || undefined, show: undefined, of: undefined })}
      />
      {children}
      {choosing && <ChooseDays query={query} onClose={() => setChoosing(false)} />}
    </div>
  );
}

function ChooseDays({ query, onClose }: { query: URLSearchParams; onClose: () => void }) {
  const [from, setFrom] = useState(query.get("from") ?? "");
  const [to, setTo] = useState(query.get("to") ?? "");
  const [error, setError] = useState<string | null>(null);
  const apply = () => {
    if (from === "" && to === "") {
      setError("Choose at least one day.");
      return;
    }
    if (from !== "" && to !== "" && from > to) {
      setError("The first day is after the last one.");
      return;
    }
    onClose();
    setQuery({ from: from || undefined, to: to || undefined, month: undefined, of: undefined });
  };
  return (
    <Dialog
      title="Choose days"
      onClose={onClose}
      onSubmit={apply}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" onClick={apply}>
            Show these days
          </Button>
        </>
      }
    >
      <div class="dates">
        <Field label="From" type="date" value={from} onChange={(value) => { setFrom(value); setError(null); }} />
        <Field label="To" type="date" value={to} onChange={(value) => { setTo(value); setError(null); }} error={error} />
      </div>
      <p>Both days are inside. Leave one empty to have everything before or after the other.</p>
    </Dialog>
  );
}

export function Sum({ name, value, out }: { name: string; value: AmountValue; out?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="live-amount">
        <Amount value={out && !isZero(value) ? `-${value}` : value} />
      </dd>
    </div>
  );
}

export function Day({ at, time = true }: { at: string; time?: boolean }) {
  return (
    <time class="quiet nowrap" dateTime={at} title={fullTime(at)}>
      {dateOf(at)}
      {time && `, ${clock(at)}`}
    </time>
  );
}

/** Reads all pages of the period into a file, and says how far it is. */
function ExportDialog({ name, file, read, onClose }: { name: string; file: string; read: (progress: (lines: number) => void, stopped: () => boolean) => Promise<Export | null>; onClose: () => void }) {
  const [lines, setLines] = useState(0);
  const [error, setError] = useState<string | null>(null);
  const stopped = useRef(false);
  useEffect(() => {
    stopped.current = false;
    read(setLines, () => stopped.current).then(
      (done) => {
        if (!done) return;
        const url = URL.createObjectURL(done.blob);
        const link = document.createElement("a");
        link.href = url;
        link.download = file;
        link.click();
        setTimeout(() => URL.revokeObjectURL(url), 60_000);
        toast(`Saved ${file} with ${done.lines.toLocaleString("en")} lines`);
        onClose();
      },
      (thrown: unknown) => setError(failure(thrown).said),
    );
    return () => {
      stopped.current = true;
    };
  }, []);
  return (
    <Dialog
      title={`${name} as CSV`}
      onClose={onClose}
      actions={
        <Button kind="ghost" onClick={onClose}>
          {error ? "Close" : "Stop"}
        </Button>
      }
    >
      {error ? (
        <Note tone="bad" title="The file could not be made">
          {error}
        </Note>
      ) : (
        <p role="status">Reading the lines: {lines.toLocaleString("en")} so far.</p>
      )}
    </Dialog>
  );
}
