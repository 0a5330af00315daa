// What agents paid from the managed wallet, as far back as the service keeps events.

import { Amount, Empty, Id, Panel, Skeleton, Status, Table, Time, actorOf, api, short, withQuery } from "../parts";
import { merchantName } from "./approvals";
import { Transaction } from "./chain";
import type { PastEvent } from "./data/events";
import { type Slice, usePages } from "./data/load";
import { LoadError, Pager } from "./pager";

const PAGE = 10;
/** A payment has one of these at its end, so no payment is listed twice. */
const ENDS = ["wallet_payment.settled", "wallet_payment.unsettled", "wallet_payment.failed"];
/** Who paid is in the first ones: the last are caused by the chain. */
const STARTS = ["wallet_payment.signed", "wallet_payment.pending"];
/** Who began each payment, by its id. */
const payers = new Map<string, string>();

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
  paid: WalletPayment;
}

const rowOf = (event: PastEvent): Row => ({ seq: event.seq, at: event.created_at, paid: event.data.object as unknown as WalletPayment });

/** Remembers who began a payment, and says whether the event is a beginning. */
function isStart(event: PastEvent): boolean {
  if (!STARTS.includes(event.type)) return false;
  const { actor } = event;
  const who = actor && ["wallet", "payment", "api_key", "passkey"].includes(actor.type) ? actorOf(event) : null;
  if (who) payers.set(String(event.data.object.wallet_payment_id), who);
  return true;
}

/** Events for one request: of each payment its beginning and its end. */
const READ = 60;
/** Requests for one page. The service looks at some thousand events for each, so few payments among many take several. */
const MAX_READS = 5;

async function readPage(before: number | undefined): Promise<Slice<Row, number>> {
  const rows: Row[] = [];
  let from = before;
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const page = await api.get<{ events: PastEvent[]; has_more: boolean; next_before?: number | null }>(withQuery("/events", { order: "desc", limit: READ, types: [...STARTS, ...ENDS].join(","), before: from }));
    rows.push(...page.events.filter((event) => !isStart(event)).map(rowOf));
    from = page.has_more ? (page.next_before ?? undefined) : undefined;
    if (from === undefined || rows.length >= PAGE) break;
  }
  const last = rows.length > PAGE ? rows[PAGE - 1] : undefined;
  return last ? { rows: rows.slice(0, PAGE), next: last.seq } : { rows, next: from };
}

const payee = ({ host, pay_to }: WalletPayment): string => (host ? merchantName(host) : short(pay_to));

export function WalletPayments() {
  const list = usePages<Row, number>("wallet payments", readPage, {
    types: [...STARTS, ...ENDS],
    after: (rows, event, page) => (!isStart(event) && page === 0 && !rows.some((row) => row.seq === event.seq) ? [rowOf(event), ...rows].slice(0, Math.max(PAGE, rows.length)) : rows),
  });
  return (
    <Panel
      title="Paid from the agents’ wallet"
      aside={
        <a class="small" href="/dashboard/statement?account=agents">
          Statement<span class="only-read"> of the agents’ wallet</span>
        </a>
      }
    >
      {list.error && <LoadError error={list.error} what="what agents paid" retry={list.reload} />}
      {list.data === undefined ? (
        !list.error && <Skeleton rows={3} label="Loading what agents paid" />
      ) : list.data.length === 0 ? (
        <Empty icon="wallet" title="Nothing paid yet">
          Each paid call and each transfer from this wallet appears here, with its transaction.
        </Empty>
      ) : (
        <Table
          caption="Paid from the agents’ wallet, the newest first"
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
            { title: "By", fold: "hidden", cell: (row) => <span class="soft">{payers.get(row.paid.wallet_payment_id) ?? "An agent"}</span> },
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
