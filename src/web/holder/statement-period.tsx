// What the statements have in common: whose they are, the period, and the file.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Amount, type AmountValue, Button, Dialog, Field, Note, Segments, clock, failure, fullTime, isZero, setQuery, toast, useRoute } from "../parts";
import { account, mayAct } from "./account";
import { type Export, type Shown, dateOf, daysPeriod, monthPeriod, thisMonth } from "./data/statement";

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
export function ExportDialog({ name, file, read, onClose }: { name: string; file: string; read: (progress: (lines: number) => void, stopped: () => boolean) => Promise<Export | null>; onClose: () => void }) {
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
