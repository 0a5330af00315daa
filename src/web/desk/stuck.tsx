// Work that is stuck and payments that are not known: the evidence, what may be done, and what each act will do.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Amount, Button, Empty, Icon, Id, KeyValue, Note, Panel, Segments, Shell, Skeleton, StatusTag, Time, api, money, now, setQuery, short, span, useLoaded, useRoute, present } from "../parts";
import type { Approval, DeadLetteredJob, HeldJob, JobAction, UnknownPayment, UntrackedOrder, UntrackedTransfer } from "../api/operator";
import { Act, Ask, type AskFields, useAct } from "./act";
import { Export, ListBar, LoadError, fits } from "./lists";
import { useEvery, useOnChange } from "./live";
import { PendingNote, PendingTag, usePending } from "./pending";
import { Split } from "./split";
import { Timeline } from "./timeline";
import { spaced, upper } from "./names";
import { PROVIDER_SAYS, jobTitle, otherOf } from "./words";

interface DeadLetters {
  jobs: DeadLetteredJob[];
  unknown_payments: UnknownPayment[];
  held: HeldJob[];
  untracked_transfers: UntrackedTransfer[];
  unexplained_orders: UntrackedOrder[];
  withdrawals_paused: boolean;
  withdrawals_paused_until: string | null;
}

type Is = "stuck" | "late" | "unknown" | "held";

interface Item {
  is: Is;
  job_id: string;
  job_type: string;
  subject: string;
  title: string;
  amount: string | number | null;
  currency: string;
  since: string;
  attempts: number;
  last_error: string | null;
  request_id: string | null;
  wallet: string | null;
  status: string | null;
  provider_status: string | null;
  provider_error: string | null;
  idempotency_key: string;
  actions: JobAction[];
  next_try_at: string | null;
  held: string | null;
}

const TAG = {
  stuck: { tone: "bad", word: "Stuck" },
  late: { tone: "wait", word: "Late, still tried" },
  unknown: { tone: "huh", word: "Unknown" },
  held: { tone: "wait", word: "Held" },
} as const;
const HELD: Record<string, string> = {
  held_frozen: "The account is frozen. It goes on by itself once the account works again.",
  held_restored: "Money does not leave until everything that left before the restore is in the ledger.",
  held_unfinal: "The payment behind it is not final yet. It goes on by itself once it is.",
};

function itemsOf(found: DeadLetters): Item[] {
  const shared = (job: DeadLetteredJob | HeldJob) => ({
    job_id: job.job_id,
    job_type: job.job_type,
    subject: job.subject,
    title: jobTitle(job.job_type),
    amount: job.amount ?? null,
    currency: job.currency ?? "USDC",
    since: job.created_at,
    attempts: job.attempts,
    last_error: job.last_error,
    request_id: job.request_id,
    wallet: job.wallet ?? null,
    status: job.status ?? null,
    idempotency_key: job.idempotency_key,
    actions: job.actions,
  });
  return [
    ...found.jobs.map((job): Item => ({
      ...shared(job),
      is: job.late ? "late" : "stuck",
      provider_status: job.provider_status ?? null,
      provider_error: job.provider_error ?? null,
      next_try_at: job.next_try_at,
      held: null,
    })),
    ...found.unknown_payments.map((payment): Item => ({
      is: "unknown",
      job_id: payment.job_id,
      job_type: payment.job_type,
      subject: payment.payment_id,
      title: "A payment is not known",
      amount: payment.amount ?? null,
      currency: payment.currency ?? "USDC",
      since: payment.since,
      attempts: payment.attempts,
      last_error: payment.last_error,
      request_id: null,
      wallet: payment.wallet ?? null,
      status: payment.status ?? null,
      provider_status: payment.provider_status ?? null,
      provider_error: payment.provider_error ?? null,
      idempotency_key: payment.idempotency_key,
      actions: payment.actions,
      next_try_at: null,
      held: null,
    })),
    ...found.held.map((job): Item => ({ ...shared(job), is: "held", provider_status: null, provider_error: null, next_try_at: null, held: job.held })),
  ];
}

const waits = (item: Item): number => Math.max(0, (now.value - Date.parse(item.since)) / 1_000);
const amountText = (item: Item): string => (item.amount === null ? "what was paid" : money(item.amount, item.currency === "USDC" ? "USD" : item.currency));

interface Choice {
  action: JobAction;
  title: string;
  does: string;
  /** Why it is not offered. */
  not: string;
  button: string;
}

function choicesOf(item: Item): Choice[] {
  const other = otherOf(item.job_type);
  const done = item.provider_status === "completed";
  const unfinished = item.provider_status === "pending" || item.provider_status === "held";
  const waitFor = `Not offered: ${other.toLowerCase()} has it and has not finished. Try again, or ask there what it waits for.`;
  return [
    {
      action: "retry",
      title: "Try again now",
      does: `Asks once more under the same key, so ${other.toLowerCase()} can’t do it twice. If it fails again, it is stuck again. Safe at any time.`,
      not: item.is === "late" || item.is === "held" || item.is === "unknown" ? "Not needed: it is tried again by itself." : "Not offered for this kind of work.",
      button: "Try again",
    },
    {
      action: "resolve_completed",
      title: "Decide: it was done",
      does: `You have proof that ${other.toLowerCase()} did it. It counts as done, the holder sees it so, and the ledger moves ${amountText(item)} as for a success.`,
      not: done ? "Not needed: it says so itself, and the next look records it." : unfinished ? waitFor : "Not offered: this kind of work is decided by its own evidence only.",
      button: "It was done…",
    },
    {
      action: "resolve_not_completed",
      title: "Decide: it was not done",
      does: `You have proof that ${other.toLowerCase()} never did it and never will. It counts as failed, and ${amountText(item)} goes back to the holder’s balance.`,
      not: done ? "Not offered: it was done, so it would be paid twice." : unfinished ? waitFor : "Not offered: there is no proof that it cannot happen any more.",
      button: "It was not done…",
    },
    {
      action: "credit",
      title: "Credit the holder",
      does: `Gives ${amountText(item)} to the holder’s balance. If it was done after all, the loss is ours.`,
      not: done ? "Not offered: it was done, so it would be paid twice." : "Not offered: there is no proof that the money has not left.",
      button: "Credit back…",
    },
    {
      action: "keep",
      title: "End the withheld credit",
      does: "The chain took back the payment behind this credit. Nothing is credited, and the amount stays with the service. It cannot be undone.",
      not: "Only for a credit whose payment the chain took back.",
      button: "End it…",
    },
  ];
}

const FIELDS: Record<Exclude<JobAction, "retry">, { path: string; body: Record<string, unknown>; fields: AskFields; title: string; action: string; done: string; danger?: boolean }> = {
  resolve_completed: {
    path: "/admin/jobs/resolve",
    body: { outcome: "completed" },
    title: "It was done",
    action: "Record that it was done",
    done: "Recorded as done. The holder sees it now.",
    fields: {
      reference: { name: "reference", label: "Reference at the other end", hint: "The id under which they did it.", required: true },
      note: { name: "evidence", label: "What that rests on", hint: "A ticket, a mail, a statement line. It goes into the audit log and cannot be changed.", least: "Say where you know it from." },
    },
  },
  resolve_not_completed: {
    path: "/admin/jobs/resolve",
    body: { outcome: "not_completed" },
    title: "It was not done",
    action: "Record that it was not done",
    danger: true,
    done: "Recorded as not done.",
    fields: { note: { name: "evidence", label: "What that rests on", hint: "A ticket, a mail, their word. It goes into the audit log and cannot be changed.", least: "Say where you know it from." } },
  },
  credit: {
    path: "/admin/jobs/credit",
    body: {},
    title: "Credit back",
    action: "Credit the holder",
    danger: true,
    done: "Credited. The holder is told.",
    fields: {
      note: { name: "evidence", label: "What that rests on", hint: "It goes into the audit log and cannot be changed.", least: "Say where you know it from." },
      check: { name: "funds_not_sent", text: "I have checked that the money has not left.", error: "Credit only what has not left." },
    },
  },
  keep: {
    path: "/admin/jobs/keep",
    body: {},
    title: "End the withheld credit",
    action: "End it without paying",
    danger: true,
    done: "Ended. Nothing was credited.",
    fields: { note: { name: "evidence", label: "What that rests on", hint: "It goes into the audit log and cannot be changed.", least: "Say where you know it from." } },
  },
};

function Side({ icon, title, big, children }: { icon: "books" | "globe" | "again"; title: string; big: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="evidence">
      <h2>
        <Icon name={icon} />
        {title}
      </h2>
      <p class="evidence-big">{big}</p>
      {children}
    </div>
  );
}

function Detail({ item, askedAt, pending, reload }: { item: Item; askedAt: number; pending: Approval | undefined; reload: () => void }) {
  const [asking, setAsking] = useState<Exclude<JobAction, "retry"> | null>(null);
  const { busy, act } = useAct();
  const other = otherOf(item.job_type);
  const says = item.provider_status ? PROVIDER_SAYS[item.provider_status] : undefined;
  const asked = asking ? FIELDS[asking] : undefined;
  return (
    <>
      <section class="panel" aria-labelledby="stuck-title">
        <div class="panel-body first">
          <div class="row wrap">
            <h2 class="large-title" id="stuck-title">
              {item.title}
            </h2>
            <StatusTag tone={TAG[item.is].tone} tag>
              {TAG[item.is].word}
            </StatusTag>
          </div>
          <p class="soft">
            {item.is === "unknown"
              ? `We sent a payment of ${amountText(item)} and had no answer. It is neither paid nor refused until the chain says so; the buyer waits.`
              : item.is === "held"
                ? HELD[item.held ?? ""]
                : item.is === "late"
                  ? `It fails and is tried again by itself${item.next_try_at ? "" : " soon"}. It is older than it should be.`
                  : `${item.attempts === 1 ? "The only try" : item.attempts === 2 ? "Both tries" : `All ${item.attempts} tries`} failed. Nothing happens until a person decides.`}
            {item.next_try_at && (
              <>
                {" "}
                Next try <Time at={item.next_try_at} />.
              </>
            )}
          </p>
        </div>
        <div class="evidences">
          <Side icon="books" title="Our ledger says" big={upper(spaced(item.status ?? "no record"))}>
            <KeyValue
              rows={[
                item.amount !== null && { name: "Amount", value: <Amount value={item.amount} currency={item.currency} /> },
                { name: "Of", value: <Id value={item.subject} /> },
                item.wallet !== null && { name: "Holder", value: <a class="mono" href={`/desk/customers/${item.wallet}`}>{short(item.wallet)}</a> },
                { name: "Since", value: <Time at={item.since} /> },
              ]}
            />
          </Side>
          <Side
            icon="globe"
            title={`${other} says now`}
            big={says ? <StatusTag tone={says[0]}>{says[1]}</StatusTag> : <StatusTag tone={item.provider_error ? "huh" : "off"}>{item.provider_error ? "No answer" : "Cannot be asked"}</StatusTag>}
          >
            <p class="small soft anywhere">{says ? says[2] : (item.provider_error ?? "Asking it would do the work again, so it is not asked.")}</p>
            <p class="tiny quiet">
              Asked for you {span((now.value - askedAt) / 1_000)} ago.{" "}
              <button type="button" class="as-link" onClick={reload}>
                Ask again
              </button>
            </p>
          </Side>
          <Side icon="again" title="What we tried" big={item.attempts === 1 ? "1 try" : `${item.attempts} tries`}>
            {item.last_error && <p class="small mono soft anywhere">{item.last_error}</p>}
            <KeyValue
              rows={[
                { name: "Work", value: <Id value={item.job_id} /> },
                item.idempotency_key !== item.job_id && { name: "Key there", value: <Id value={item.idempotency_key} what="idempotency key" /> },
                item.request_id !== null && !/^req_0+$/.test(item.request_id) && { name: "Request", value: <Id value={item.request_id} /> },
              ]}
            />
          </Side>
        </div>
        <h2 class="choice-head">What you can do</h2>
        {pending && (
          <div class="panel-body">
            <PendingNote approval={pending} />
          </div>
        )}
        {choicesOf(item)
          .filter((choice) => (pending ? choice.action === "retry" : choice.action !== "keep" || item.actions.includes("keep")))
          .map((choice) => {
            const offered = item.actions.includes(choice.action);
            return (
              <div key={choice.action} class={offered ? "choice" : "choice no"}>
                <div>
                  <h3>{choice.title}</h3>
                  <p>{offered ? choice.does : choice.not}</p>
                </div>
                {offered ? (
                  choice.action === "retry" ? (
                    <Act
                      {...(pending ? {} : { kind: "primary" as const })}
                      icon="again"
                      busy={busy === "retry"}
                      onClick={() => void act("retry", "/admin/jobs/retry", { job_id: item.job_id }, "Tried again. The list shows what comes of it.").then(reload)}
                    >
                      {choice.button}
                    </Act>
                  ) : (
                    <Act onClick={() => setAsking(choice.action as Exclude<JobAction, "retry">)}>{choice.button}</Act>
                  )
                ) : (
                  <StatusTag tone="off" icon="lock">
                    Not for this
                  </StatusTag>
                )}
              </div>
            );
          })}
        <div class="panel-foot">
          <span>What the other end says goes before what you record, always. What you do is recorded with your name.</span>
        </div>
      </section>
      <Timeline key={item.subject} id={item.subject} aside={item.wallet && <a href={`/desk/customers/${item.wallet}`}>Customer</a>} watched={["dead_letters", "unknown_payments"]} />
      {asking && asked && (
        <Ask
          title={`${asked.title}: ${amountText(item)}`}
          wide
          action={asked.action}
          danger={asked.danger === true}
          path={asked.path}
          body={{ job_id: item.job_id, ...asked.body }}
          {...((asking === "credit" || asking === "resolve_not_completed") && item.amount !== null && item.currency === "USDC" ? { gives: item.amount } : {})}
          fields={asked.fields}
          done={asked.done}
          onDone={reload}
          onClose={() => setAsking(null)}
        >
          <Note tone="info" title="What happens">
            {choicesOf(item).find((choice) => choice.action === asking)?.does}
          </Note>
        </Ask>
      )}
    </>
  );
}

export default function Stuck() {
  const { query } = useRoute();
  const filter = useSignal("");
  const show = useSignal<Is | "all">("all");
  const askedAt = useSignal(present());
  const found = useLoaded("dead-letters", async () => {
    const letters = await api.get<DeadLetters>("/admin/dead-letters");
    askedAt.value = present();
    return letters;
  });
  useOnChange(["dead_letters", "late_jobs", "unknown_payments"], found.reload);
  useEvery(30_000, found.reload);
  const pendingOf = usePending();
  const all = found.data ? itemsOf(found.data) : [];
  const shown = all.filter((item) => (show.value === "all" || item.is === show.value) && fits(filter.value, item.title, item.subject, item.job_id, item.wallet, item.amount, item.last_error, item.job_type));
  const chosen = query.get("job");
  const item = all.find((one) => one.job_id === chosen) ?? shown[0];
  const lost = (found.data?.untracked_transfers.length ?? 0) + (found.data?.unexplained_orders.length ?? 0);
  return (
    <Shell app="desk" page="stuck" title={item?.title ?? "Stuck work"}>
      <h1 class="only-read">Stuck work</h1>
      {found.data?.withdrawals_paused && (
        <div class="above">
          <Note tone="wait" title="Withdrawals are paused after a restore." actions={lost > 0 && <Button small href="/desk/incoming">Attribute transfers</Button>}>
            {found.data.withdrawals_paused_until && (
              <>
                The pause ends <Time at={found.data.withdrawals_paused_until} /> at the earliest.{" "}
              </>
            )}
            {lost > 0 ? `${lost} transfers or orders have no record yet.` : "Everything that left has a record."}
          </Note>
        </div>
      )}
      {found.error && !found.data ? (
        <LoadError error={found.error} retry={found.reload} />
      ) : !found.data ? (
        <Skeleton rows={6} />
      ) : all.length === 0 ? (
        <Panel>
          <Empty icon="check" title="Nothing is stuck, and every payment is known">
            Work that fails is tried again by itself, ever more slowly. When it gives up, it comes here with the evidence and what you may do.
          </Empty>
        </Panel>
      ) : (
        <Split
          narrowList
          open={item?.job_id === chosen ? chosen : null}
          list={
            <Panel title="Stuck and unknown">
              <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="id, wallet, error">
                <Export
                  name="stuck"
                  rows={() => all}
                  columns={[
                    ["is", (row) => row.is],
                    ["job_id", (row) => row.job_id],
                    ["job_type", (row) => row.job_type],
                    ["subject", (row) => row.subject],
                    ["wallet", (row) => row.wallet],
                    ["amount", (row) => row.amount],
                    ["currency", (row) => row.currency],
                    ["since", (row) => row.since],
                    ["attempts", (row) => row.attempts],
                    ["last_error", (row) => row.last_error],
                    ["provider_status", (row) => row.provider_status],
                  ]}
                />
              </ListBar>
              <div class="list-segments">
                <Segments<Is | "all">
                  label="Show"
                  options={[
                    { value: "all", text: "All" },
                    { value: "stuck", text: "Stuck" },
                    { value: "unknown", text: "Unknown" },
                    { value: "late", text: "Late" },
                    { value: "held", text: "Held" },
                  ]}
                  value={show.value}
                  onChange={(value) => (show.value = value)}
                />
              </div>
              <ul class="list">
                {shown.map((one) => (
                  <li key={one.job_id}>
                    <a
                      class="cell stuck-cell"
                      href={`/desk/stuck?job=${one.job_id}`}
                      aria-current={one === item ? "true" : undefined}
                      onClick={(event) => {
                        event.preventDefault();
                        setQuery({ job: one.job_id });
                      }}
                    >
                      <span class="row between">
                        <b>{one.title}</b>
                        {one.amount !== null && <Amount value={one.amount} currency={one.currency === "USDC" ? "USD" : one.currency} />}
                      </span>
                      <span class="row between small">
                        {pendingOf(one.job_id) ? <PendingTag approval={pendingOf(one.job_id)} /> : <StatusTag tone={TAG[one.is].tone}>{TAG[one.is].word}</StatusTag>}
                        <span class="quiet">
                          {span(waits(one))}, {one.attempts === 1 ? "1 try" : `${one.attempts} tries`}
                        </span>
                      </span>
                    </a>
                  </li>
                ))}
              </ul>
              {shown.length === 0 && <p class="nothing">Nothing fits.</p>}
            </Panel>
          }
          item={<div class="stack">{item && <Detail key={item.job_id} item={item} askedAt={askedAt.value} pending={pendingOf(item.job_id)} reload={found.reload} />}</div>}
        />
      )}
    </Shell>
  );
}
