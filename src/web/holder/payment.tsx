// One payment: what it bought, what it cost, and what came back of it.

import { Amount, Button, Empty, Id, KeyValue, Log, type LogLine, PageHead, type PageProps, Panel, Shell, Skeleton, Status, type StreamEvent, Time, begunBy, money, pageOf, sentence, withBeginning } from "../parts";
import { PRODUCT_WORDS, type Paid, readPayment } from "./data/cards";
import { type PastEvent, readEvents } from "./data/events";
import { useLoad } from "./data/load";
import { dayLink } from "./data/statement";
import { reasonSentence } from "./data/words";
import { LoadError } from "./pager";
import { Receipt } from "./receipt";

/** Whether nobody got what was bought. A card that expired was there before. */
const isUndelivered = ({ productStatus, product_id }: Paid): boolean =>
  ["failed", "rejected", "cancelled"].includes(productStatus ?? "") || (product_id?.startsWith("po_") === true && ["expired", "returned"].includes(productStatus ?? ""));

const NO_PAYMENT = ["payment_not_found", "payment_access_denied"];

export default function PaymentPage({ params }: PageProps) {
  const id = params.id ?? "";
  const payment = useLoad<Paid | null>(`payment page ${id}`, () => readPayment(id), {
    types: ["payment.*", "refund.*"],
    after: (shown, event) => (event.data.object.payment_id === id ? "reload" : shown),
  });
  const shown = payment.data;
  return (
    <Shell app="holder" page="statement" title="Payment" crumbs={[{ text: "Statement", href: "/dashboard/statement" }, { text: "Payment" }]}>
      {shown ? (
        <Loaded payment={shown} />
      ) : payment.error && !NO_PAYMENT.includes(payment.error.code) ? (
        <>
          <PageHead title="Payment" />
          <LoadError error={payment.error} what="this payment" retry={payment.reload} />
        </>
      ) : payment.error || shown === null ? (
        <>
          <PageHead title="Payment" />
          <Panel>
            <Empty icon="statement" title="This payment is not yours, or does not exist" actions={<Button href="/dashboard/statement">Statement</Button>}>
              Check the address, or open it from the page of what it bought.
            </Empty>
          </Panel>
        </>
      ) : (
        <>
          <PageHead title="Payment" />
          <Panel>
            <Skeleton rows={5} label="Loading the payment" />
          </Panel>
        </>
      )}
    </Shell>
  );
}

/** What became of the money, where it did not buy what it was paid for. */
function moneyOf(payment: Paid): string {
  switch (payment.status) {
    case "declined":
    case "refused":
    case "released":
      return `Nothing was taken.${payment.error_reason ? ` ${reasonSentence(payment.error_reason)}` : ""}`;
    case "unknown":
      return "We had no answer. It is neither paid nor refused until the chain says so.";
    case "credited":
      return "It bought nothing, so all of it is on your balance.";
    case "resolved":
      return "An operator decided what happened with its transfer.";
    case "reversed":
      return "The chain took the payment back, so nothing was paid.";
    case "fulfilled":
      return isUndelivered(payment) ? `What it was paid for was not delivered, so ${money(payment.credited)} is back on your balance.` : "It bought what it was paid for.";
    default:
      return "It is being settled.";
  }
}

function Loaded({ payment }: { payment: Paid }) {
  const about = (object: Record<string, unknown>) => object.payment_id === payment.payment_id;
  const types = ["payment.*", "refund.*", "card.*", "gift_card.*", "intl_order.*", "payout.*", "top_up.*"];
  const events = useLoad<PastEvent[]>(`events of ${payment.payment_id}`, () => readEvents({ types, since: payment.created_at, about }), {
    types,
    after: (lines, event) => (about(event.data.object) && !lines.some((one) => one.seq === event.seq) ? [{ ...event, fresh: true }, ...lines] : lines),
  });
  const bought = boughtPage(payment);
  const took = !["declined", "refused", "released"].includes(payment.status);
  return (
    <>
      <PageHead
        title={
          <span class="row wrap">
            Payment: {PRODUCT_WORDS[payment.product] ?? payment.product}
            <Status kind="payment" value={payment.status} tag />
          </span>
        }
        actions={<span class="sum"><Amount value={payment.amount} struck={payment.status === "reversed"} /></span>}
      >
        {moneyOf(payment)}
      </PageHead>
      <div class="columns wide-narrow">
        <Panel title="Timeline" padded>
          {events.error && !events.data ? (
            <LoadError error={events.error} what="the timeline" retry={events.reload} />
          ) : (
            <Log label="What happened with this payment, the newest first" lines={linesOf(events.data ?? [])} />
          )}
        </Panel>
        <div class="stack">
          <Panel title="Details" padded>
            <KeyValue
              rows={[
                { name: "Payment", value: <Id value={payment.payment_id} /> },
                { name: "Made", value: <Time at={payment.created_at} /> },
                payment.agent !== null && { name: "By", value: payment.agent },
                bought !== null && { name: "Bought", value: <a href={bought}>{PRODUCT_WORDS[payment.product] ?? "Its page"}</a> },
                { name: "Statement", value: <a href={dayLink(payment.last_updated_at, payment.payment_id)}>That day</a> },
              ]}
            />
          </Panel>
          {took && <Receipt bought={null} price={payment.amount} fee={null} payment={payment} isOfPayment creditedAt={payment.last_updated_at} refundedAt={events.data?.find((one) => one.type === "refund.credited")?.created_at} cause={payment.product_id ?? payment.payment_id} />}
        </div>
      </div>
    </>
  );
}

/** The page of what a payment bought. */
function boughtPage(payment: Paid): string | null {
  const id = payment.product_id;
  if (!id) return null;
  if (id.startsWith("card_")) return `/dashboard/cards/${id}`;
  return /^(po|top)_/.test(id) ? `/dashboard/transfers/${id}` : null;
}

/** What became of a card after it was made is on its own page. */
const CARD_LIFE = /\.(charged|charge_\w+|paused?|pause_requested|resumed?|resume_requested|close_requested|details_viewed|refresh\w*)$/;

/** One line for each step, of which the last event says how it stands. */
function linesOf(events: PastEvent[]): LogLine[] {
  const begun = begunBy(events);
  const seen = new Set<string>();
  const isNews = (event: StreamEvent): boolean => {
    const { thing } = sentence(event);
    const isNew = !CARD_LIFE.test(event.type) && !seen.has(thing);
    seen.add(thing);
    return isNew;
  };
  return events.filter(isNews).map((event, index) => lineOf(withBeginning(event, begun), event.fresh === true, index > 0));
}

function lineOf(event: StreamEvent, fresh: boolean, isOver: boolean): LogLine {
  const said = sentence(event);
  const page = pageOf(event.type, event.data.object);
  const who = said.who ?? null;
  const state = said.then?.tone ?? "done";
  // What another event follows happens no more.
  const tone = isOver && (state === "move" || state === "wait") ? "done" : state;
  return {
    key: event.seq,
    tone,
    text: (
      <>
        {who && <b>{who} </b>}
        {page && !page.includes("/payments/") ? <a href={page}>{said.text}</a> : said.text}
      </>
    ),
    at: event.created_at,
    fresh,
  };
}
