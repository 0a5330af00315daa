// One customer: everything that happened, money, what they own, open work; refunds and freezing.

import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import {
  Amount, Button, Dialog, Empty, ErrorLine, Exact, Field, Icon, Id, KeyValue, MoneyField, Note, Panel, Select, Shell, Skeleton, StatusTag, Time, amountProblem, api, clock, copy, day, failure, fieldErrors, money, now, short, span, toast,
  useLoaded, useRoute, withQuery,
} from "../parts";
import type { Customer, CustomerResource, OpenJob, OperatorRefund, OperatorRefundList } from "../api/operator";
import { AboveLimit, Act, Ask } from "./act";
import { remember } from "./customers";
import { Export, LoadError } from "./lists";
import { useEvery, useOnChange, useWatched } from "./live";
import { Notes } from "./notes";
import { Timeline } from "./timeline";
import { amountOf, spaced, upper } from "./names";
import { jobDoing, kindName, kindNames } from "./words";

/** Of a payment, what it bought. */
const PRODUCT: Record<string, string> = {
  usa_prepaid_card: "US card", intl_prepaid_card: "International card", gift_card: "Gift card", push_to_card: "Payout to a card", bank_payment: "Payout to a bank", app_payment: "Payout to a payment app", card_balance: "Top-up",
};

interface Found {
  found: CustomerResource[];
  customer: Customer | null;
  next_after: string | null;
}
interface Preview {
  wallet: string;
  frozen: boolean;
  answer: { status: number; body: Record<string, unknown>; stream_close_code: number };
  stops: { streams: number; available: number; recovery: boolean; jobs: OpenJob[] };
  continues: { jobs: OpenJob[]; usable_cards: number; sign_in: boolean };
}

const BY: Record<string, string> = {
  wallet: "a wallet", user_id: "a Solana wallet", transaction: "a transaction", request_id: "a request id", job_id: "the id of work", id: "one of our ids", last4: "the last four of a card",
};

/** Jobs by what they do, with their number. */
const doings = (jobs: OpenJob[]): string => {
  const counts = new Map<string, number>();
  for (const job of jobs) counts.set(jobDoing(job.job_type), (counts.get(jobDoing(job.job_type)) ?? 0) + 1);
  return [...counts].map(([name, n]) => (n > 1 ? `${name} (${n})` : name)).join(", ");
};

function Freeze({ wallet, waits, onClose, onDone }: { wallet: string; waits: string; onClose: () => void; onDone: () => void }) {
  const message = useSignal("Please write to us before anything else is bought: we have a question about a payment.");
  const error = useSignal<string | null>(null);
  const busy = useSignal(false);
  const preview = useLoaded(`freeze ${wallet}`, () => api.get<Preview>(withQuery("/admin/freeze/preview", { wallet })));
  const found = preview.data;
  const send = async () => {
    if (message.value.trim().length < 10) {
      error.value = "Say something that helps its holder.";
      return;
    }
    busy.value = true;
    try {
      await api.post("/admin/freeze", { wallet, message: message.value.trim() });
      toast("Frozen. Its agents get 403 from now on.");
      onDone();
      onClose();
    } catch (thrown) {
      error.value = failure(thrown).said;
    } finally {
      busy.value = false;
    }
  };
  return (
    <Dialog
      title="Freeze this account?"
      wide
      onClose={onClose}
      onSubmit={() => void send()}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="danger primary" icon="freeze" type="submit" busy={busy.value} decides>
            Freeze account
          </Button>
        </>
      }
    >
      <Field label="What its holder and agents read" rows={3} value={message.value} onChange={(text) => (message.value = text)} hint="Plain words. Do not say how you noticed." error={error.value} maxLength={500} />
      {preview.error ? (
        <LoadError error={preview.error} retry={preview.reload} />
      ) : !found ? (
        <Skeleton rows={4} label="Looking what the freeze reaches" />
      ) : (
        <>
          <div class="columns two">
            <div class="preview">
              <div class="preview-head">Agents get {found.answer.status} on every call</div>
              <pre class="code" tabIndex={0} aria-label="The answer to agents">
                {JSON.stringify({ ...found.answer.body, frozen_message: message.value, request_id: "req_…" }, null, 1)}
              </pre>
            </div>
            <div class="preview">
              <div class="preview-head">The holder’s page</div>
              <div class="panel-body first">
                <b>This account is frozen</b>
                <p class="soft">“{message.value}”</p>
              </div>
            </div>
          </div>
          <ul class="yes-no">
            <li class="no">
              <Icon name="hand" />
              <span>
                Nothing more is bought, paid out or withdrawn.{" "}
                {found.stops.recovery && "The recovery of the account is cancelled. "}
                {found.stops.streams > 0 && `${found.stops.streams} open ${found.stops.streams === 1 ? "stream is" : "streams are"} closed with ${found.answer.stream_close_code}.`}
              </span>
            </li>
            <li class="no">
              <Icon name="pause" />
              <span>
                {money(found.stops.available)} stays and can’t be used.{" "}
                {found.stops.jobs.length > 0 ? `${doings(found.stops.jobs)}: ${found.stops.jobs.length === 1 ? "it waits" : "they wait"}. What is signed already is only looked up.` : waits ? "No work of the service would stop." : "No money is on its way out."}
              </span>
            </li>
            <li class="yes">
              <Icon name="check" />
              <span>{found.continues.jobs.length > 0 ? `What is paid goes on: ${doings(found.continues.jobs)}.` : waits ? `Open besides: ${waits}.` : "Nothing else is in work."}</span>
            </li>
            <li class="yes">
              <Icon name="card" />
              <span>
                {found.continues.usable_cards > 0
                  ? `${found.continues.usable_cards} ${found.continues.usable_cards === 1 ? "card goes" : "cards go"} on paying in shops: the issuer is not told. Pause them at the issuer if they must stop.`
                  : "There is no card that could go on paying."}
              </span>
            </li>
            <li class="yes">
              <Icon name="key" />
              <span>Its holder can sign in and read your message. Support can freeze; operators and administrators unfreeze.</span>
            </li>
          </ul>
        </>
      )}
    </Dialog>
  );
}

/** What a payment was, with cents as people write it. */
function paid(payment: CustomerResource): string {
  const [whole = "", cents = ""] = String(payment.object.amount ?? payment.object.charged_usd_amount ?? "").split(".");
  return whole === "" ? "" : `${whole}.${cents.padEnd(2, "0")}`;
}

/** A payment that can be refunded, with the card that it bought. */
interface Refundable {
  id: string;
  paid: string;
  text: string;
  product: string;
}

/** States in which the whole charge was credited: nothing is left to refund. */
const CREDITED: Record<string, string[]> = {
  card: ["failed"], gift_card: ["failed"], intl_order: ["cancelled", "rejected"], payout: ["failed", "returned", "expired", "cancelled"], top_up: ["failed"],
};

/** Refunds of the customer that wait for a second operator. */
function useWaitingRefunds(wallet: string): OperatorRefund[] {
  const found = useWatched(
    `refunds of ${wallet}`,
    async () => {
      let all: OperatorRefund[] = [];
      let after: string | null = null;
      do {
        const page: OperatorRefundList = await api.get(withQuery("/admin/refunds", { after, limit: 100 }));
        all = all.concat(page.refunds.filter((one) => one.wallet === wallet));
        after = page.refunds.length === 100 ? page.next_after : null;
      } while (after !== null);
      return all;
    },
    ["refunds"],
  );
  return found.data ?? [];
}

/** The payments that bought something, were not given back and have no refund waiting, the newest first. */
function refundable(customer: Customer, waiting: OperatorRefund[]): Refundable[] {
  const all = customer.resources.flatMap((group) => group.newest);
  const products = new Map(all.map((one) => [one.id, one]));
  const refunded = new Set(all.filter((one) => one.kind === "refund" && ["requested", "approved", "credited"].includes(one.status)).map((one) => String(one.object.payment_id)));
  for (const one of waiting) refunded.add(one.payment_id);
  return all.flatMap((one) => {
    if (one.kind !== "payment" || one.status !== "fulfilled" || refunded.has(one.id)) return [];
    const bought = products.get(String(one.object.product_id ?? ""));
    if (bought && CREDITED[bought.kind]?.includes(bought.status)) return [];
    const product = String(one.object.product ?? "");
    const last4 = String(bought?.object.last4 ?? bought?.object.card_last4 ?? "");
    const at = String(one.object.created_at ?? "");
    const when = Number.isNaN(Date.parse(at)) ? "" : `, ${day(at, now.peek()).replace(/^[TY]/, (letter) => letter.toLowerCase())} ${clock(at)}`;
    return [{ id: one.id, paid: paid(one), product, text: `${PRODUCT[product] ?? "Payment"}${last4 ? ` •••• ${last4}` : ""}, ${money(paid(one))}${when}` }];
  });
}

/** Why a refund is refused while what was bought can be used: what the dialog can do about it. */
function stillUsable(message: string, product: string | undefined): string {
  const amount = /still use (\d+(?:\.\d+)?) of/.exec(message)?.[1];
  const isCard = /prepaid_card$/.test(product ?? "");
  return `${amount ? money(amount) : "A part"} of it can still be used. ${isCard ? "Ask the holder to close the card" : "It must be returned first"}, or tick “The holder keeps what they bought”.`;
}

function Refund({ payments, onClose, onDone }: { payments: Refundable[]; onClose: () => void; onDone: () => void }) {
  const payment = useSignal(payments[0]?.id ?? "");
  const amount = useSignal(payments[0]?.paid ?? "");
  const reason = useSignal("");
  const keeps = useSignal(false);
  const errors = useSignal<Record<string, string>>({});
  const busy = useSignal(false);
  const chosen = payments.find((one) => one.id === payment.value);
  const send = async () => {
    const found: Record<string, string> = {};
    const wrong = amountProblem(amount.value, chosen?.paid ? { max: chosen.paid } : {});
    if (wrong) found.amount = wrong;
    if (reason.value.trim().length < 4) found.reason = "Say why: the approver reads it.";
    errors.value = found;
    if (Object.keys(found).length > 0) return;
    busy.value = true;
    try {
      const made = await api.post<{ status: string }>("/admin/refunds", {
        payment_id: payment.value,
        amount: new Exact(amount.value.trim()),
        reason: reason.value.trim(),
        ...(keeps.value ? { holder_keeps_product: true } : {}),
      }, { confirm: { title: "Confirm that it is you", text: `You confirm a refund of ${money(amount.value.trim())}.` } });
      toast(made.status === "requested" ? "It waits for a second operator." : "Refunded. The holder sees it.");
      onDone();
      onClose();
    } catch (thrown) {
      const failed = failure(thrown);
      errors.value = failed.code === "product_not_returned" ? { form: stillUsable(failed.message, chosen?.product) } : fieldErrors(thrown, ["amount", "reason", "payment_id"]);
    } finally {
      busy.value = false;
    }
  };
  return (
    <Dialog
      title="Ask for a refund"
      onClose={onClose}
      onSubmit={() => void send()}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" type="submit" busy={busy.value} disabled={payments.length === 0} decides>
            Ask for it
          </Button>
        </>
      }
    >
      {payments.length === 0 ? (
        <p>This customer has no payment that bought something, was not given back and has no refund waiting.</p>
      ) : (
        <>
          <Select
            label="Payment"
            value={payment.value}
            onChange={(value) => {
              payment.value = value;
              const next = payments.find((one) => one.id === value);
              if (next) amount.value = next.paid;
            }}
            options={payments.map((one) => ({ value: one.id, text: one.text }))}
            error={errors.value.payment_id}
          />
          <MoneyField label="Amount" value={amount.value} onChange={(text) => (amount.value = text)} hint={chosen?.paid ? `Up to ${money(chosen.paid)}. A payment is refunded only once.` : "Up to what was charged. A payment is refunded only once."} error={errors.value.amount} />
          <AboveLimit gives={amount.value.trim()} />
          <Field label="Reason" rows={2} value={reason.value} onChange={(text) => (reason.value = text)} error={errors.value.reason} maxLength={500} />
          <label class="check">
            <input type="checkbox" checked={keeps.value} onChange={(event) => (keeps.value = event.currentTarget.checked)} />
            <span>
              The holder keeps what they bought. <span class="quiet">For gift cards, top-ups and open cards: it is then at our cost, and recorded so.</span>
            </span>
          </label>
          {errors.value.form && <ErrorLine>{errors.value.form}</ErrorLine>}
        </>
      )}
    </Dialog>
  );
}

/** Of each kind, at first and at most. The timeline has what is older. */
const NEWEST = 20;
const MOST_OWNED = 100;
const MOST_WORK = 50;

function Owns({ customer, focus, more }: { customer: Customer; focus: string | null; more: (() => void) | undefined }) {
  const open = useSignal<string | null>(null);
  return (
    <Panel
      title="Owns"
      aside={
        customer.resources.length > 0 && (
          <Export
            name={`owns-${customer.wallet.slice(0, 14)}`}
            rows={() => customer.resources.flatMap((group) => group.newest)}
            columns={[
              ["kind", (row) => row.kind],
              ["id", (row) => row.id],
              ["status", (row) => row.status],
              ["amount", (row) => amountOf(row.object)],
            ]}
          />
        )
      }
    >
      {customer.resources.length === 0 ? (
        <p class="nothing">Nothing yet.</p>
      ) : (
        <ul class="list">
          {customer.resources.map((group) => (
            <li key={group.kind}>
              <details class="owns" open={open.value === group.kind || group.newest.some((one) => one.id === focus)} onToggle={(event) => event.currentTarget.open && (open.value = group.kind)}>
                <summary class="cell owns-cell">
                  <Icon name="right" />
                  <span>{kindNames(group.kind)}</span>
                  <b class="number">{group.count.toLocaleString("en")}</b>
                </summary>
                <ul class="owned">
                  {group.newest.map((one) => (
                    <li key={one.id} class={one.id === focus ? "focus" : undefined}>
                      <Id value={one.id} />
                      <span class="small soft">{upper(spaced(one.status))}</span>
                      <a class="small" href={`/desk/customers/${customer.wallet}?id=${one.id}`}>
                        Timeline<span class="only-read"> of {short(one.id)}</span>
                      </a>
                    </li>
                  ))}
                  {group.not_shown > 0 && (
                    <li class="small quiet">
                      {group.not_shown.toLocaleString("en")} older ones
                      {more && (
                        <button type="button" class="as-link" onClick={more}>
                          Show {MOST_OWNED} of each
                        </button>
                      )}
                    </li>
                  )}
                </ul>
              </details>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** What is open of a customer without being a job: it waits for an operator, a recipient or a provider. */
const OPEN: Record<string, string[]> = {
  intl_order: ["queued", "claimed"], card: ["pending"], gift_card: ["processing"], payout: ["awaiting-details", "queued", "in-process"], top_up: ["paid", "bridging", "delivered"],
  withdrawal: ["pending", "sent"], card_withdrawal: ["pending", "queued", "claimed"], bank_transfer: ["pending"],
};

/** “International cards: 2, Payouts: 1” */
const openWords = (customer: Customer): string =>
  customer.resources
    .map((group) => ({ kind: group.kind, open: group.newest.filter((one) => OPEN[one.kind]?.includes(one.status)).length }))
    .filter((one) => one.open > 0)
    .map((one) => `${kindNames(one.kind)}: ${one.open}`)
    .join(", ");

function Work({ jobs, customer, refunds }: { jobs: OpenJob[]; customer: Customer; refunds: OperatorRefund[] }) {
  const waits = openWords(customer);
  const all = useSignal(false);
  const shown = all.value ? jobs : jobs.slice(0, MOST_WORK);
  return (
    <Panel
      title="Open work"
      aside={
        jobs.length > 0 && (
          <Export
            name="open-work"
            rows={() => jobs}
            columns={[
              ["job_id", (row) => row.job_id],
              ["job_type", (row) => row.job_type],
              ["subject", (row) => row.subject],
              ["created_at", (row) => row.created_at],
              ["attempts", (row) => row.attempts],
              ["dead_lettered", (row) => String(row.dead_lettered)],
            ]}
          />
        )
      }
    >
      {refunds.map((refund) => (
        <a key={refund.refund_id} class="cell work-cell" href="/desk/refunds">
          <span>
            Refund of {money(refund.amount)}
            <span class="quiet small"> · {refund.requested_by} asked <Time at={refund.created_at} /></span>
          </span>
          <StatusTag tone="wait" icon="hand">
            To approve
          </StatusTag>
        </a>
      ))}
      {jobs.length === 0 ? (
        (waits || refunds.length === 0) && <p class="nothing">{waits ? `No work of the service is open. Not over yet: ${waits}.` : "Nothing is in work."}</p>
      ) : (
        <ul class="list">
          {waits && <li class="nothing">Not over yet: {waits}.</li>}
          {shown.map((job) => (
            <li key={job.job_id}>
              <a class="cell work-cell" href={job.dead_lettered ? `/desk/stuck?job=${job.job_id}` : `/desk/customers?q=${job.subject}`}>
                <span>
                  {jobDoing(job.job_type)}
                  <span class="quiet small">
                    {" "}
                    · {span((now.value - Date.parse(job.created_at)) / 1_000)}
                    {job.attempts > 0 && `, ${job.attempts} ${job.attempts === 1 ? "failed try" : "failed tries"}`}
                  </span>
                </span>
                {job.dead_lettered ? <StatusTag tone="bad">Stuck</StatusTag> : job.attempts > 0 ? <StatusTag tone="wait" icon="again">Tried again</StatusTag> : <StatusTag tone="off" icon="clock">Waits or runs</StatusTag>}
              </a>
            </li>
          ))}
          {shown.length < jobs.length && (
            <li class="nothing">
              <button type="button" class="as-link" onClick={() => (all.value = true)}>
                Show {(jobs.length - shown.length).toLocaleString("en")} more
              </button>
            </li>
          )}
        </ul>
      )}
    </Panel>
  );
}

export default function CustomerPage({ params }: { params: Record<string, string> }) {
  const wallet = params.wallet ?? "";
  const { query } = useRoute();
  const focus = query.get("id");
  const by = query.get("by");
  const [asking, setAsking] = useState<"freeze" | "unfreeze" | "refund" | null>(null);
  const [written, setWritten] = useState(0);
  const limit = useRef(NEWEST);
  const found = useLoaded(`customer ${wallet}`, () => api.get<Found>(withQuery("/admin/customers", { q: wallet, limit: limit.current })));
  const showMore = () => {
    limit.current = MOST_OWNED;
    found.reload();
  };
  // An act of one's own is in the timeline at once.
  const changed = () => {
    found.reload();
    setWritten((n) => n + 1);
  };
  useEvery(10_000, found.reload);
  useOnChange(["dead_letters", "intl_orders", "refunds"], found.reload);
  const customer = found.data?.customer ?? null;
  const refunds = useWaitingRefunds(customer?.wallet ?? wallet);
  useEffect(() => {
    if (customer) remember(customer.wallet);
  }, [customer?.wallet]);
  if (found.error && !found.data) {
    return (
      <Shell app="desk" page="customers" title="Customer">
        <LoadError error={found.error} retry={found.reload} />
      </Shell>
    );
  }
  if (!found.data) {
    return (
      <Shell app="desk" page="customers" title="Customer">
        <Skeleton rows={8} />
      </Shell>
    );
  }
  if (!customer) {
    return (
      <Shell app="desk" page="customers" title="Customer">
        <h1 class="only-read">Customer</h1>
        <Empty icon="search" title={`No account of ${short(wallet)}`} actions={<Button href="/desk/customers">Search</Button>}>
          An account begins with the first payment or sign-in of its wallet.
        </Empty>
      </Shell>
    );
  }
  return (
    <Shell app="desk" page="customers" title={`Customer ${short(customer.wallet)}`}>
      <div class="page-head">
        <div class="grow">
          {by && BY[by] && (
            <p class="small">
              <span class="chip">
                <Icon name="check" />
                Found by {BY[by]}
              </span>
            </p>
          )}
          <div class="row wrap">
            <h1 class="mono customer-name">{short(customer.wallet)}</h1>
            <Button small kind="ghost" icon="copy" label="Copy the whole wallet" onClick={() => void copy(customer.wallet, "Copied wallet")} />
            <StatusTag tone={customer.frozen ? "bad" : "done"} icon={customer.frozen ? "freeze" : "done"} tag>
              {customer.frozen ? "Frozen" : "Active"}
            </StatusTag>
          </div>
          <p>
            On {upper(customer.network)}. A customer since <Time at={customer.created_at} />.
          </p>
        </div>
        <div class="acts">
          <Act icon="undo" onClick={() => setAsking("refund")}>
            Refund…
          </Act>
          {customer.frozen ? (
            <Act icon="check" onClick={() => setAsking("unfreeze")}>
              Unfreeze…
            </Act>
          ) : (
            <Act needs="freeze" kind="danger" icon="freeze" onClick={() => setAsking("freeze")}>
              Freeze…
            </Act>
          )}
        </div>
      </div>
      {customer.frozen && (
        <div class="above">
          <Note tone="bad" title="This account is frozen.">
            “{customer.frozen_message}”
          </Note>
        </div>
      )}
      <div class="columns wide-narrow">
        <div class="stack">
          {focus ? (
            <Timeline key={focus} id={focus} title={`Timeline of ${short(focus)}`} aside={<a href={`/desk/customers/${customer.wallet}`}>Whole account</a>} watched={["dead_letters", "intl_orders", "refunds"]} />
          ) : (
            <Timeline key={customer.wallet} wallet={customer.wallet} version={written} watched={["dead_letters", "intl_orders", "refunds", "incoming_transfers"]} />
          )}
          <Work jobs={customer.open_jobs} customer={customer} refunds={refunds} />
        </div>
        <div class="stack">
          <Panel title="Money" padded>
            <KeyValue
              right
              rows={[
                { name: "Balance", value: <Amount value={customer.balance} live /> },
                { name: "Held", value: <Amount value={customer.held} live /> },
                { name: "Available", value: <b><Amount value={customer.available} live /></b> },
                { name: "Ever credited", value: <Amount value={customer.total_deposits} /> },
              ]}
            />
          </Panel>
          <Notes key={customer.wallet} wallet={customer.wallet} onWritten={() => setWritten((n) => n + 1)} />
          <Owns customer={customer} focus={focus} more={limit.current === NEWEST ? showMore : undefined} />
          <Panel title="Names" padded>
            <KeyValue
              rows={[
                { name: "Wallet", value: <Id value={customer.wallet} what="wallet" /> },
                { name: "user_id", value: <Id value={customer.user_id} what="user_id" /> },
              ]}
            />
            {found.data.found.length > 1 && <p class="small quiet">{kindName(found.data.found[1]?.kind ?? "")} and others have this address too.</p>}
          </Panel>
        </div>
      </div>
      {asking === "freeze" && <Freeze wallet={customer.wallet} waits={openWords(customer)} onClose={() => setAsking(null)} onDone={changed} />}
      {asking === "unfreeze" && (
        <Ask
          title="Unfreeze this account?"
          action="Unfreeze account"
          path="/admin/unfreeze"
          body={{ wallet: customer.wallet }}
          done="Unfrozen. What waited goes on."
          confirm={{ title: "Confirm that it is you", text: `The account of ${short(customer.wallet)} may buy, pay out and withdraw again.` }}
          onDone={changed}
          onClose={() => setAsking(null)}
        >
          <p>
            It was frozen with: “{customer.frozen_message}” Its agents may buy, pay out and withdraw again at once, and what waited goes on. {money(customer.available)} can be used.
          </p>
        </Ask>
      )}
      {asking === "refund" && <Refund payments={refundable(customer, refunds)} onClose={() => setAsking(null)} onDone={changed} />}
    </Shell>
  );
}
