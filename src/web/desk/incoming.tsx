// Money that the ledger does not explain: transfers to the treasury that no payment explains, and after a restore transfers and orders
// that left without a record.

import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Amount, Button, Dialog, Empty, ErrorLine, Exact, Field, Id, KeyValue, MoneyField, Note, PageHead, Panel, Segments, Select, Shell, StatusTag, Table, Time, type Tone, amountProblem, api, fieldErrors, setQuery, short, toast, useLoaded, useRoute, withQuery } from "../parts";
import type { Approval, IncomingTransfer, UntrackedOrder, UntrackedTransfer } from "../api/operator";
import { Act, Ask, usd } from "./act";
import { Export, ListBar, ListState, fits, usePaged } from "./lists";
import { countOf, useOnChange } from "./live";
import { providerName, spaced, upper } from "./names";
import { PendingNote, PendingTag, usePending } from "./pending";
import { Split } from "./split";

const STATES: Record<string, readonly [Tone, string]> = {
  found: ["move", "Being looked up"],
  waiting: ["wait", "Waits for you"],
  crediting: ["move", "Being credited"],
  credited: ["done", "Credited"],
  adopted: ["done", "Bought what it paid for"],
  operator_funds: ["off", "Own funds"],
  returning: ["move", "Being returned"],
  returned: ["done", "Returned"],
  claimed: ["done", "A payment has it"],
  forwarded: ["done", "Went to a card balance"],
};

const DECISIONS = {
  credit: {
    title: "Credit",
    button: "Credit",
    action: "Credit the sender",
    path: "/admin/incoming-transfers/credit",
    says: (t: IncomingTransfer) => `${usd(t.amount)} goes to the balance of the account of ${t.sender.slice(0, 8)}…, which is opened if there is none.`,
    done: "Credited to the sender",
  },
  funds: {
    title: "Keep as own funds",
    button: "Keep",
    action: "Keep as own funds",
    path: "/admin/incoming-transfers/operator-funds",
    says: (t: IncomingTransfer) => `${usd(t.amount)} is money that the business itself sent. No customer is owed anything for it.`,
    done: "Recorded as own funds",
  },
  return: {
    title: "Return",
    button: "Return",
    action: "Return it",
    path: "/admin/incoming-transfers/return",
    says: (t: IncomingTransfer) => `${usd(t.amount)} is sent back to ${t.sender.slice(0, 8)}… on ${providerName(t.network)}. An exchange’s wallet may not reach its customer: then credit it instead.`,
    done: "It is being returned",
  },
} as const;
type Decision = keyof typeof DECISIONS;

/** The sender can be a customer: the search says so. */
function Sender({ transfer }: { transfer: IncomingTransfer }) {
  return (
    <a class="mono" href={transfer.account === null ? `/desk/customers?q=${encodeURIComponent(transfer.sender)}` : `/desk/customers/${transfer.account}`}>
      {short(transfer.sender)}
    </a>
  );
}

function Detail({ transfer, pending, reload }: { transfer: IncomingTransfer; pending: Approval | undefined; reload: () => void }) {
  const [asking, setAsking] = useState<Decision | null>(null);
  const asked = asking ? DECISIONS[asking] : undefined;
  const open = transfer.status === "waiting";
  return (
    <>
      <Panel title={`${usd(transfer.amount)} on ${providerName(transfer.network)}`} padded>
        <div class="stack">
          <KeyValue
            rows={[
              { name: "From", value: <Sender transfer={transfer} /> },
              { name: "Address", value: <Id value={transfer.sender} what="sender" /> },
              { name: "Transaction", value: <Id value={transfer.transaction} what="transaction" /> },
              { name: "Came in", value: <Time at={transfer.at} as="full" /> },
              transfer.product_id !== null && { name: "May have bought", value: <Id value={transfer.product_id} /> },
              transfer.shows !== null && { name: "Shown of it", value: upper(spaced(transfer.shows)) },
              { name: "Id", value: <Id value={transfer.deposit_id} /> },
            ]}
          />
          {transfer.status === "found" && <Note tone="info">It is still being looked up. It can be decided when that is over.</Note>}
          {transfer.product_id !== null && open && (
            <Note tone="wait" title="It may have bought something before the restore.">
              Look at the provider first. If that reached its recipient, attribute it to this transfer below.
            </Note>
          )}
          {pending ? (
            <PendingNote approval={pending} />
          ) : (
            (Object.keys(DECISIONS) as Decision[]).map((name) => (
              <div class="choice in-panel" key={name}>
                <div>
                  <h3>{DECISIONS[name].title}</h3>
                  <p>{DECISIONS[name].says(transfer)}</p>
                </div>
                <Act small disabled={!open} label={`${DECISIONS[name].title}…`} onClick={() => setAsking(name)}>
                  {DECISIONS[name].button}…
                </Act>
              </div>
            ))
          )}
        </div>
      </Panel>
      {asked && (
        <Ask
          title={`${asked.title}: ${usd(transfer.amount)}`}
          action={asked.action}
          path={asked.path}
          body={{ deposit_id: transfer.deposit_id }}
          {...(asking === "funds" ? {} : { gives: transfer.amount })}
          fields={{ note: { name: "evidence", label: "How do you know?", hint: "It goes into the audit log and cannot be changed.", least: "Say how you know." } }}
          done={asked.done}
          onDone={reload}
          onClose={() => setAsking(null)}
        >
          <p>{asked.says(transfer)}</p>
        </Ask>
      )}
    </>
  );
}

interface Lost {
  untracked_transfers: UntrackedTransfer[];
  unexplained_orders: UntrackedOrder[];
}
interface LostRow {
  name: string;
  what: string;
  amount: string | number;
  currency: string;
  at: string;
  to: string | null;
  account: string | null;
  candidates: string[];
  order: boolean;
}

const WHOSE = [
  { value: "account", text: "An account’s wallet address" },
  { value: "withdrawal", text: "A withdrawal" },
  { value: "top_up", text: "A top-up" },
  { value: "deposit", text: "An incoming transfer that paid for it" },
  { value: "loss", text: "Nobody: it is lost" },
];

function Attribute({ row, onClose, onDone }: { row: LostRow; onClose: () => void; onDone: () => void }) {
  const whose = useSignal(row.candidates[0]?.startsWith("wd_") ? "withdrawal" : row.candidates[0]?.startsWith("top_") ? "top_up" : row.candidates[0]?.startsWith("dep_") ? "deposit" : "account");
  const id = useSignal(row.candidates[0] ?? row.account ?? "");
  const amount = useSignal("");
  const evidence = useSignal("");
  const errors = useSignal<Record<string, string>>({});
  const busy = useSignal(false);
  const send = async () => {
    const wrong: Record<string, string> = {};
    if (whose.value !== "loss" && !id.value.trim()) wrong.id = "Say whose it was.";
    if (row.order && amount.value.trim()) {
      const problem = amountProblem(amount.value);
      if (problem) wrong.amount = problem;
    }
    if (evidence.value.trim().length < 4) wrong.evidence = "Say how you know.";
    errors.value = wrong;
    if (Object.keys(wrong).length > 0) return;
    busy.value = true;
    try {
      const target = whose.value === "loss" ? { loss: true } : { [whose.value === "account" ? "account" : `${whose.value}_id`]: id.value.trim() };
      await api.post("/admin/untracked-transfers/attribute", {
        transaction: row.name,
        ...target,
        ...(amount.value.trim() ? { amount: new Exact(amount.value.trim()) } : {}),
        evidence: evidence.value.trim(),
      });
      toast("Attributed");
      onDone();
      onClose();
    } catch (thrown) {
      const at = fieldErrors(thrown, ["evidence", "amount", "account"]);
      errors.value = at.account ? { ...at, id: at.account } : at;
    } finally {
      busy.value = false;
    }
  };
  return (
    <Dialog
      title={`Whose was ${row.currency === "USDC" ? usd(row.amount) : `${row.amount} ${row.currency}`}?`}
      wide
      onClose={onClose}
      onSubmit={() => void send()}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" type="submit" busy={busy.value} decides>
            Attribute it
          </Button>
        </>
      }
    >
      <p>It left before the restore and is in no record. The ledger takes it from the account it belongs to; a loss is ours.</p>
      <Select label="It belonged to" value={whose.value} onChange={(value) => (whose.value = value)} options={WHOSE} />
      {whose.value !== "loss" && <Field label="Which" mono value={id.value} onChange={(text) => (id.value = text)} error={errors.value.id} hint={row.candidates.length > 0 ? `It may be ${row.candidates.join(", ")}.` : "Its id, or the wallet of the account."} />}
      {row.order && <MoneyField label="What the account was charged" value={amount.value} onChange={(text) => (amount.value = text)} error={errors.value.amount} hint="For a payout: amount and fee." />}
      <Field label="What that rests on" rows={3} value={evidence.value} onChange={(text) => (evidence.value = text)} error={errors.value.evidence} maxLength={500} />
      {errors.value.form && <ErrorLine>{errors.value.form}</ErrorLine>}
    </Dialog>
  );
}

function LostPanel() {
  const [asking, setAsking] = useState<LostRow | null>(null);
  const found = useLoaded("lost", () => api.get<Lost>("/admin/dead-letters"));
  useOnChange(["untracked_transfers"], found.reload);
  const pendingOf = usePending();
  const rows: LostRow[] = [
    ...(found.data?.untracked_transfers ?? []).map((one): LostRow => ({
      name: one.name,
      what: `Transfer on ${providerName(one.network)}`,
      amount: one.amount,
      currency: "USDC",
      at: one.at,
      to: one.receiver,
      account: one.account,
      candidates: one.candidates.map((candidate) => candidate.id),
      order: false,
    })),
    ...(found.data?.unexplained_orders ?? []).map((one): LostRow => ({
      name: one.transaction,
      what: `${one.list === "payouts" ? "Payout" : "Bank transfer"} ${one.direction === "in" ? "in" : "out"}`,
      amount: one.amount,
      currency: one.currency,
      at: one.at,
      to: one.product,
      account: null,
      candidates: [],
      order: true,
    })),
  ];
  if (rows.length === 0) return null;
  return (
    <Panel title="Left without a record" tone="ask" aside="after a restore">
      <Table
        caption="Transfers and orders that are missing from the ledger"
        rows={rows}
        rowKey={(row) => row.name}
        columns={[
          {
            title: "What",
            cell: (row) => (
              <span>
                <b>{row.what}</b>
                <span class="small quiet block">
                  <Time at={row.at} />
                </span>
              </span>
            ),
          },
          { title: "To", cell: (row) => row.to && <Id value={row.to} what="receiver" />, fold: "hidden" },
          { title: "Name", cell: (row) => <Id value={row.name} what="transaction" /> },
          { title: "May be", cell: (row) => row.candidates.map((id) => <Id key={id} value={id} />), fold: "hidden" },
          { title: "Amount", number: true, cell: (row) => <Amount value={row.amount} currency={row.currency} />, fold: "first-right" },
          { title: "Attribute", titleOnlyRead: true, number: true, fold: "second-right", cell: (row) => (pendingOf(row.name) ? <a href="/desk/approvals"><PendingTag approval={pendingOf(row.name)} /></a> : <Act small onClick={() => setAsking(row)}>Attribute…</Act>) },
        ]}
      />
      {asking && <Attribute row={asking} onClose={() => setAsking(null)} onDone={found.reload} />}
    </Panel>
  );
}

export default function Incoming() {
  const { query } = useRoute();
  const filter = useSignal("");
  const state = useSignal<"all" | "waiting" | "found">("all");
  const list = usePaged<IncomingTransfer>(
    "incoming",
    async (after) => {
      const page = await api.get<{ incoming_transfers: IncomingTransfer[]; next_after: string | null }>(withQuery("/admin/incoming-transfers", { after, limit: 100 }));
      return { rows: page.incoming_transfers, next: page.incoming_transfers.length === 100 ? page.next_after : null };
    },
    ["incoming_transfers"],
  );
  const pendingOf = usePending();
  const rows = list.rows ?? [];
  const shown = rows.filter((row) => (state.value === "all" || row.status === state.value) && fits(filter.value, row.deposit_id, row.sender, row.transaction, row.amount, row.network));
  // Reconciliation names a transfer as its chain does: the transaction, and the number within it.
  const named = query.get("transfer");
  const isNamed = (row: IncomingTransfer) => named !== null && (named === row.transaction || named === `${row.transaction}#${row.index}`);
  const chosen = rows.find((row) => row.deposit_id === query.get("id") || isNamed(row));
  const selected = chosen ?? shown[0];
  return (
    <Shell app="desk" page="incoming" title="Incoming transfers">
      <PageHead title="Unknown transfers">Money came to the treasury and no payment explains it. Somebody is owed it: decide who.</PageHead>
      <div class="stack">
        {countOf("untracked_transfers") > 0 && <LostPanel />}
        <Split
          open={list.rows && (chosen?.deposit_id ?? null)}
          list={
            <Panel>
              <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="sender, transaction, amount">
                <Segments
                  label="State"
                  options={[
                    { value: "all", text: "All" },
                    { value: "waiting", text: "To decide" },
                    { value: "found", text: "Being looked up" },
                  ]}
                  value={state.value}
                  onChange={(value) => (state.value = value)}
                />
                <Export
                  name="incoming-transfers"
                  rows={list.all}
                  columns={[
                    ["deposit_id", (row) => row.deposit_id],
                    ["network", (row) => row.network],
                    ["transaction", (row) => row.transaction],
                    ["sender", (row) => row.sender],
                    ["amount", (row) => String(row.amount)],
                    ["at", (row) => row.at],
                    ["status", (row) => row.status],
                  ]}
                />
              </ListBar>
              <ListState
                list={list}
                shown={shown.length}
                empty={
                  <Empty icon="check" title="Every transfer is explained">
                    A transfer that is sent by hand, or paid twice, comes here once its chain says that it is final.
                  </Empty>
                }
              >
                <Table
                  caption="Undecided transfers, the oldest first"
                  rows={shown}
                  rowKey={(row) => row.deposit_id}
                  selected={(row) => row.deposit_id === selected?.deposit_id}
                  onRow={(row) => setQuery({ id: row.deposit_id, transfer: undefined })}
                  columns={[
                    {
                      title: "Transfer",
                      cell: (row) => (
                        <span>
                          <a href={`/desk/incoming?id=${row.deposit_id}`} class="lead">
                            {providerName(row.network)}
                          </a>
                          <span class="small quiet block">
                            <Time at={row.at} />
                          </span>
                        </span>
                      ),
                    },
                    {
                      title: "From",
                      cell: (row) => <Sender transfer={row} />,
                    },
                    { title: "State", cell: (row) => (pendingOf(row.deposit_id) ? <PendingTag approval={pendingOf(row.deposit_id)} /> : <StatusTag tone={STATES[row.status]?.[0] ?? "off"}>{STATES[row.status]?.[1] ?? row.status}</StatusTag>), fold: "second-right" },
                    { title: "Amount", number: true, cell: (row) => <Amount value={row.amount} />, fold: "first-right" },
                  ]}
                />
              </ListState>
            </Panel>
          }
          item={selected && <Detail key={selected.deposit_id} transfer={selected} pending={pendingOf(selected.deposit_id)} reload={list.reload} />}
        />
      </div>
    </Shell>
  );
}

