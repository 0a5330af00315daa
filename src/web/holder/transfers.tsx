// Money on its way, what arrived, and those who were paid.

import { useState } from "preact/hooks";
import { Amount, Button, Empty, Id, PageHead, Panel, Route, Segments, Shell, Skeleton, Status, StatusTag, Table, Time, money, now, setQuery, span, useRoute } from "../parts";
import { mayAct } from "./account";
import { type Place, useLoad, usePages } from "./data/load";
import { stepWords, stopsOf, timesOf } from "./data/route";
import { readNames } from "./data/people";
import { type Shown, TRANSFER_EVENTS, type Transfer, type TransferKind, amountWords, isOpen, moneyOf, named, ofEvent, readOpen, statusKind, transfersSlice, troubleWord, updated } from "./data/transfers";
import { LoadError, NoMatch, Pager } from "./pager";
import { People } from "./people";
import { Withdraw } from "./withdraw-to";

const PAGE = 25;

const CHOICES: { value: Shown; text: string }[] = [
  { value: "all", text: "All" },
  { value: "top_ups", text: "Top-ups" },
  { value: "payouts", text: "Payouts" },
  { value: "withdrawals", text: "Withdrawals" },
  { value: "bank", text: "Bank" },
];

const KINDS: Record<Shown, TransferKind[]> = {
  all: ["top_up", "payout", "withdrawal", "card_withdrawal", "bank_transfer"],
  top_ups: ["top_up"],
  payouts: ["payout"],
  withdrawals: ["withdrawal", "card_withdrawal"],
  bank: ["bank_transfer"],
};

/** The rows after an event: a known transfer changes in its row, a new one comes first. */
function withEvent(rows: Transfer[], type: string, object: Record<string, unknown>, add: (transfer: Transfer) => boolean): Transfer[] {
  const transfer = ofEvent(type, object);
  if (!transfer) return rows;
  if (rows.some((row) => row.id === transfer.id)) return rows.map((row) => (row.id === transfer.id ? updated(row, transfer) : row));
  return add(transfer) ? [transfer, ...rows] : rows;
}

const href = (row: Transfer) => `/dashboard/transfers/${row.id}`;

function What({ row, names }: { row: Transfer; names: Map<string, string> | undefined }) {
  return (
    <>
      <a class="lead" href={href(row)}>
        {named(row, names)}
        <span class="only-read">, {amountWords(row)}</span>
      </a>
      <div class="small quiet row wrap">
        <Time at={row.createdAt} />
        <span class="wide-only">
          <Id value={row.id} />
        </span>
      </div>
    </>
  );
}

/** What was moved, with what it cost; or what came back of it. */
function amount(row: Transfer) {
  const { back, cost } = moneyOf(row);
  if (back !== null) {
    return (
      <>
        <Amount value={back} sign />
        <div class="tiny quiet">on your balance</div>
      </>
    );
  }
  return (
    <>
      <Amount value={row.amount} currency={row.currency} />
      {cost !== null && <div class="tiny quiet">{money(cost)} with its fee</div>}
    </>
  );
}

function State({ row }: { row: Transfer }) {
  const trouble = troubleWord(row, now.value);
  return trouble ? <StatusTag tone="wait">{trouble}</StatusTag> : <Status kind={statusKind(row)} value={row.status} />;
}

export default function Transfers() {
  const { query } = useRoute();
  const shown = CHOICES.find((one) => one.value === query.get("kind"))?.value ?? "all";
  const [withdrawing, setWithdrawing] = useState(false);
  const open = useLoad("open transfers", readOpen, {
    types: TRANSFER_EVENTS,
    after: (rows, event) => withEvent(rows, event.type, event.data.object, isOpen),
  });
  const list = usePages<Transfer, Place>(`transfers ${shown}`, (place) => transfersSlice(shown, place, PAGE), {
    types: TRANSFER_EVENTS,
    after: (rows, event, page) => withEvent(rows, event.type, event.data.object, (transfer) => page === 0 && KINDS[shown].includes(transfer.kind)).slice(0, Math.max(PAGE, rows.length)),
  });
  const names = useLoad("names", readNames, { types: ["payment_recipient.*", "bank_destination.*"] });
  const flying = (open.data ?? []).filter(isOpen);

  return (
    <Shell app="holder" page="transfers" title="Transfers">
      <PageHead
        title="Transfers"
        actions={
          <Button icon="arrow" decides disabled={!mayAct.value} onClick={() => setWithdrawing(true)}>
            Withdraw
          </Button>
        }
      >
        Top-ups, payouts and withdrawals, with every leg.
      </PageHead>
      <div class="stack">
        <Panel title="On its way">
          {open.error && !open.data ? (
            <LoadError error={open.error} what="what is on its way" retry={open.reload} />
          ) : open.data === undefined ? (
            <Skeleton rows={2} label="Loading what is on its way" />
          ) : flying.length === 0 ? (
            <Empty icon="route" title="Nothing is on its way">
              Top-ups, payouts and withdrawals show here with each step until they arrive.
            </Empty>
          ) : (
            <Table
              caption="On its way, the newest first"
              rows={flying}
              rowKey={(row) => row.id}
              href={href}
              columns={[
                { title: "What", cell: (row) => <What row={row} names={names.data} /> },
                { title: "Step", fold: "whole", cell: (row) => <Steps row={row} /> },
                { title: "State", fold: "second-right", cell: (row) => <State row={row} /> },
                { title: "Amount", number: true, fold: "first-right", cell: amount },
              ]}
            />
          )}
        </Panel>
        <Panel
          title="All transfers"
          aside={<Segments label="Kind of transfer" options={CHOICES} value={shown} onChange={(value) => setQuery({ kind: value === "all" ? undefined : value })} />}
        >
          {list.error && <LoadError error={list.error} what="your transfers" retry={list.reload} />}
          {list.data === undefined ? (
            !list.error && <Skeleton rows={6} label="Loading your transfers" />
          ) : list.data.length === 0 ? (
            shown === "all" ? (
              <Empty icon="route" title="No transfers yet">
                Your agents top up the card balance, pay people and banks; you withdraw. All of it is listed here.
              </Empty>
            ) : (
              <NoMatch clear={() => setQuery({ kind: undefined })}>There is no transfer of this kind yet.</NoMatch>
            )
          ) : (
            <Table
              caption="All transfers, the newest first"
              rows={list.data}
              rowKey={(row) => row.id}
              href={href}
              columns={[
                { title: "What", cell: (row) => <What row={row} names={names.data} /> },
                { title: "Took", fold: "hidden", cell: (row) => <span class="quiet">{isOpen(row) ? "not over" : took(row)}</span> },
                { title: "State", fold: "second-right", cell: (row) => <State row={row} /> },
                { title: "Amount", number: true, fold: "first-right", cell: amount },
              ]}
            />
          )}
        </Panel>
        <Pager what="transfers" {...list} />
        <People />
      </div>
      {withdrawing && <Withdraw onClose={() => setWithdrawing(false)} />}
    </Shell>
  );
}

/** How long it took: in tenths of a second below ten seconds. */
export function took(row: Transfer): string {
  const ms = Date.parse(row.updatedAt) - Date.parse(row.createdAt);
  if (ms < 100) return "under 0.1 s";
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms / 1_000);
}

function Steps({ row }: { row: Transfer }) {
  const stops = stopsOf(row, timesOf(row, []));
  return <Route mini stops={stops} label={stepWords(row, stops)} />;
}
