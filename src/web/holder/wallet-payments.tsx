// What agents paid from the managed wallet, as far back as the service keeps events.

import { Amount, Empty, Id, Panel, Skeleton, Status, Table, Time, actorOf, api, short, withQuery } from "../parts";
import { Transaction } from "./chain";
import type { PastEvent } from "./data/events";
import { type Slice, usePages } from "./data/load";
import { LoadError, Pager } from "./pager";

const PAGE = 10;
/** A payment has one of these at its end, so no payment is listed twice. */
const ENDS = ["wallet_payment.settled", "wallet_payment.unsettled", "wallet_payment.failed"];

interface WalletPayment {
  wallet_payment_id: string;
  status: string;
  kind: string;
  amount: number | string;
  asset: string;
  network: string;
  pay_to: string;
  host: string | null;
  note: string | null;
  tx_hash: string | null;
}

interface Row {
  seq: number;
  at: string;
  by: string | null;
  paid: WalletPayment;
}

const rowOf = (event: PastEvent): Row => ({ seq: event.seq, at: event.created_at, by: actorOf(event), paid: event.data.object as unknown as WalletPayment });

/** Requests for one page. The service looks at some thousand events for each, so few payments among many take several. */
const MAX_READS = 5;

async function readPage(before: number | undefined): Promise<Slice<Row, number>> {
  const rows: Row[] = [];
  let from = before;
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const page = await api.get<{ events: PastEvent[]; has_more: boolean; next_before?: number | null }>(withQuery("/events", { order: "desc", limit: PAGE - rows.length, types: ENDS.join(","), before: from }));
    rows.push(...page.events.map(rowOf));
    from = page.has_more ? (page.next_before ?? undefined) : undefined;
    if (from === undefined || rows.length >= PAGE) break;
  }
  return { rows, next: from };
}

const payee = ({ host, pay_to }: WalletPayment): string => (host === "route" ? "Purser" : (host ?? short(pay_to)));

export function WalletPayments() {
  const list = usePages<Row, number>("wallet payments", readPage, {
    types: ENDS,
    after: (rows, event, page) => (page === 0 && !rows.some((row) => row.seq === event.seq) ? [rowOf(event), ...rows].slice(0, Math.max(PAGE, rows.length)) : rows),
  });
  return (
    <Panel title="Paid from the agents' wallet">
      {list.error && <LoadError error={list.error} what="what agents paid" retry={list.reload} />}
      {list.data === undefined ? (
        !list.error && <Skeleton rows={3} label="Loading what agents paid" />
      ) : list.data.length === 0 ? (
        <Empty icon="wallet" title="Nothing paid yet">
          Each paid call and each transfer from this wallet appears here, with its transaction.
        </Empty>
      ) : (
        <Table
          caption="Paid from the agents' wallet, the newest first"
          rows={list.data}
          rowKey={(row) => row.seq}
          columns={[
            {
              title: "To",
              cell: (row) => (
                <>
                  <b class="anywhere">{payee(row.paid)}</b>
                  <div class="small quiet">{row.paid.note ? `“${row.paid.note}”` : row.paid.kind === "transfer" ? "Transfer" : "Paid call"}</div>
                </>
              ),
            },
            { title: "By", fold: "hidden", cell: (row) => <span class="soft">{row.by ?? "An agent"}</span> },
            { title: "When", fold: "second", cell: (row) => <Time at={row.at} class="quiet" /> },
            { title: "Transaction", fold: "whole", cell: (row) => (row.paid.tx_hash ? <Transaction hash={row.paid.tx_hash} network={row.paid.network} /> : <Id value={row.paid.wallet_payment_id} />) },
            { title: "State", fold: "second-right", cell: (row) => <Status kind="wallet_payment" value={row.paid.status} /> },
            { title: "Amount", number: true, fold: "first-right", cell: (row) => <Amount value={row.paid.amount} struck={row.paid.status !== "settled"} /> },
          ]}
        />
      )}
      <Pager what="payments" {...list} />
    </Panel>
  );
}
