// One card: its face, what is on it, its charges, and everything that happened to it.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import {
  Amount, Button, Confirm, Empty, Id, KeyValue, Log, type LogLine, Meter, Note, OutLink, PageHead, type PageProps, Panel, Route, Shell, Skeleton, StatusTag, type Stop, Table, Time, type Tone, actorOf, ago, api, byWords, compare, failure, isZero, less, money, now, span, toast,
} from "../parts";
import type { Card, CardCharge, GiftCard, GiftCardOffer, IntlCard, ReloadableCard } from "../api/public";
import { account, mayAct } from "./account";
import { type AnyCard, type CardHistory, EVENT_PREFIX, KIND_WORDS, NO_CARD, type Paid as Payment, cameBackWords, cardLabel, cardName, cardOf, cardWorth, hasSecret, isEnded, isUsable, isWaiting, kindOf, readCard, readHistory, readOffer, readPayment } from "./data/cards";
import { type PastEvent, readBuyer, readEvents } from "./data/events";
import { isAbsent, useLoad } from "./data/load";
import { reasonSentence, reasonWords } from "./data/words";
import { chainName, webAddress } from "./chain";
import { Contact } from "./contact";
import { CardStatus, Face } from "./face";
import { LoadError } from "./pager";
import { Receipt, paidLines, worthWords } from "./receipt";
import { RevealBar, useReveal } from "./reveal";

export default function CardPage({ params }: PageProps) {
  const id = params.card_id ?? "";
  const card = useLoad(`card ${id}`, () => readCard(id), {
    types: ["card.*", "intl_order.*", "reloadable_card.*", "gift_card.*"],
    after: (shown, event) => {
      const changed = cardOf(event);
      return changed.card_id === id ? ({ ...shown, ...changed } as AnyCard) : shown;
    },
  });
  const shown = card.data;
  const name = shown ? cardName(shown) : "Card";
  return (
    <Shell app="holder" page="cards" title={shown ? `Card ${name}` : "Card"} crumbs={[{ text: "Cards", href: "/dashboard/cards" }, { text: name }]}>
      {shown ? (
        <Loaded key={id} card={shown} />
      ) : card.error ? (
        <>
          <PageHead title="Card" />
          {NO_CARD.includes(card.error.code) ? (
            <Panel>
              <Empty icon="card" title="This card is not yours, or does not exist" actions={<Button href="/dashboard/cards">All cards</Button>}>
                Check the address, or open the card from the list.
              </Empty>
            </Panel>
          ) : (
            <LoadError error={card.error} what="this card" retry={card.reload} />
          )}
        </>
      ) : (
        <>
          <PageHead title="Card" />
          <Panel>
            <Skeleton rows={6} label="Loading the card" />
          </Panel>
        </>
      )}
    </Shell>
  );
}

function Loaded({ card }: { card: AnyCard }) {
  const kind = kindOf(card);
  const id = card.card_id;
  const offer = useLoad<GiftCardOffer | null>(`offer ${id}`, () => (kind === "gift" ? readOffer((card as GiftCard).product_id) : Promise.resolve(null)));
  const title = cardLabel(card) ?? (offer.data ? `${offer.data.brand} gift card` : cardName(card));
  const prefix = EVENT_PREFIX[kind];
  const isMine = (object: Record<string, unknown>) => object.card_id === id;
  const history = useLoad<CardHistory>(`history ${id}`, () => (kind === "gift" ? Promise.resolve({ charges: [], changes: [] }) : readHistory(id)), {
    types: [`${prefix}.*`],
    after: (shown, event) => (isMine(event.data.object) ? "reload" : shown),
  });
  const paymentId = "payment_id" in card ? card.payment_id : null;
  // A refund is of the payment, and its event does not name the card.
  const types = [`${prefix}.*`, "refund.credited"];
  const isOfThis = (object: Record<string, unknown>) => isMine(object) || (paymentId !== null && object.payment_id === paymentId);
  const events = useLoad(`events ${id}`, () => readEvents({ types, since: card.created_at, about: isOfThis }), {
    types,
    after: (lines, event) => (isOfThis(event.data.object) && !lines.some((one) => one.seq === event.seq) ? [{ ...event, fresh: true }, ...lines] : lines),
  });
  const payment = useLoad<Payment | null>(`payment ${paymentId}`, () => (paymentId ? readPayment(paymentId) : Promise.resolve(null)), {
    types: ["payment.*", "refund.*"],
    after: (shown, event) => (event.data.object.payment_id === paymentId ? "reload" : shown),
  });
  const paid = payment.data;
  const isOurs = paid !== null && paid !== undefined && Object.values(account.value?.agent_wallet?.addresses ?? {}).includes(paid.payer);
  const buyer = useLoad<string | null>(`buyer ${isOurs && paymentId}`, () => (isOurs ? readBuyer(paid) : Promise.resolve(null)));
  const boughtBy = paid?.agent ?? buyer.data ?? null;
  const reveal = useReveal(card, kind === "gift" ? "Show the gift card’s code?" : "Show the card number?");

  return (
    <>
      <PageHead
        title={
          <span class="row wrap">
            {title}
            <span aria-live="polite">
              <CardStatus card={{ ...card, payment_reversed: paid?.status === "reversed", refunded_usd_amount: paid?.refunded ?? 0 }} tag />
            </span>
          </span>
        }
      >
        {kind === "gift" ? `For shops in ${countryName((card as GiftCard).country)}` : KIND_WORDS[kind]}
        {cardLabel(card) && "last4" in card && card.last4 ? `, ${cardName(card)}` : ""}
        {paymentId ? "" : ", from your card balance"}
      </PageHead>
      <div class="columns-card">
        <div class="stack">
          {kind === "gift" ? <GiftFace card={card as GiftCard} title={title} reveal={reveal} /> : <NumberFace card={card} reveal={reveal} />}
          {paid?.status === "reversed" && (
            <Note tone="wait" title="Nothing was paid for this card">
              {chainName(paid.network)} took the payment back. What comes back of the card is credited only if an operator decides so. <Contact>to settle it</Contact>
            </Note>
          )}
          {kind === "intl" && <IntlOrder card={card as IntlCard} takenAt={events.data?.find((one) => one.type === "intl_order.claimed")?.created_at} />}
          {kind !== "gift" && !["queued", "claimed", "pending", "creating"].includes(card.status) && <OnCard card={card as Card} refunded={paid?.refunded ?? 0} />}
          <Details card={card} payment={payment.data ?? null} buyer={boughtBy} views={(events.data ?? []).filter((one) => one.type.endsWith(".details_viewed")).map((one) => one.created_at)} />
        </div>
        <div class="stack">
          {kind === "gift" ? <Redemption card={card as GiftCard} offer={offer} shown={reveal.card !== null} /> : isWaiting(card) || isNeverMade(card) ? null : <Charges card={card as Card} history={history} />}
          <Panel title="Timeline" padded>
            {history.error && !history.data ? (
              <LoadError error={history.error} what="the timeline" retry={history.reload} />
            ) : (
              <Log label="What happened to this card, the newest first" lines={timeline(card, history.data, events.data ?? [], payment.data ?? null)} />
            )}
          </Panel>
          {paymentId !== null && <Price card={card} payment={payment.data ?? null} refundedAt={events.data?.find((one) => one.type === "refund.credited")?.created_at} />}
        </div>
      </div>
    </>
  );
}

/** An order that ended before there was a card. */
const isNeverMade = (card: AnyCard): boolean => ["failed", "cancelled", "rejected"].includes(card.status);

const NOT_SHOWN = "•••• •••• ••••";

function NumberFace({ card, reveal }: { card: AnyCard; reveal: ReturnType<typeof useReveal> }) {
  const details = reveal.card?.card_details ?? null;
  const last4 = "last4" in card ? card.last4 : null;
  const number = details?.card_number.replace(/(.{4})(?=.)/g, "$1 ");
  const state = isEnded(card) ? (card.status === "expired" ? "Expired" : "Ended") : card.status === "paused" ? "Paused" : undefined;
  const expiry = details ? `${String(details.exp_month).padStart(2, "0")}/${String(details.exp_year).slice(-2)}` : "••/••";
  const address = details?.billing_address;
  return (
    <div class="stack tight">
      <Face card={card} title={cardLabel(card) ?? "Purser"} state={state}>
        {last4 === null ? (
          <p class="face-wait">{isEnded(card) ? "No card was made" : "The number appears here once the card is made"}</p>
        ) : (
          <>
            <p class="face-number">
              {number ?? (
                <>
                  <span aria-hidden="true">
                    {NOT_SHOWN} {last4}
                  </span>
                  <span class="only-read">Card number hidden, ends in {last4}</span>
                </>
              )}
            </p>
            <p class="face-fine">
              <span>
                Expires <b>{expiry}</b>
              </span>
              <span>
                CVV <b>{details?.cvv ?? "•••"}</b>
              </span>
            </p>
          </>
        )}
      </Face>
      <RevealBar
        reveal={reveal}
        card={card}
        action="Show number"
        copies={
          details
            ? [
                { text: details.card_number, what: "number", label: "Copy number" },
                { text: details.cvv, what: "CVV", label: "Copy CVV" },
              ]
            : []
        }
      />
      {address && (
        <p class="small soft">
          Billing address: {[address.line1, address.city, address.state, address.postal_code, address.country].filter(Boolean).join(", ")}
        </p>
      )}
    </div>
  );
}

function GiftFace({ card, title, reveal }: { card: GiftCard; title: string; reveal: ReturnType<typeof useReveal> }) {
  const shown = reveal.card;
  const copies = [
    shown?.redemption_code && { text: shown.redemption_code, what: "code", label: "Copy code" },
    shown?.pin_code && { text: shown.pin_code, what: "PIN", label: "Copy PIN" },
    shown?.redemption_url && { text: shown.redemption_url, what: "link", label: "Copy link" },
  ].filter((one): one is { text: string; what: string; label: string } => Boolean(one));
  return (
    <div class="stack tight">
      <Face card={card} title={title.replace(/ gift card$/, "")} state={isEnded(card) ? "Not made" : undefined}>
        <p class="face-worth">{money(card.amount, card.currency)}</p>
        {card.status === "processing" ? (
          <p class="face-wait">The code appears here once the card is made</p>
        ) : (
          <p class="face-number">
            {shown ? (
              (shown.redemption_code ?? (shown.redemption_url ? "Redeemed by a link" : "No code yet"))
            ) : (
              <>
                <span aria-hidden="true">•••• •••• ••••</span>
                <span class="only-read">Code hidden</span>
              </>
            )}
          </p>
        )}
        {shown?.pin_code && (
          <p class="face-fine">
            <span>
              PIN <b>{shown.pin_code}</b>
            </span>
          </p>
        )}
      </Face>
      <RevealBar reveal={reveal} card={card} action="Show code" copies={copies} />
      {webAddress(shown?.redemption_url) && (
        <p>
          <OutLink href={webAddress(shown?.redemption_url) ?? ""}>Redeem it at the shop</OutLink>
        </p>
      )}
      {shown?.held && (
        <Note tone="wait" title="Not final yet">
          {shown.hint ?? "The code is shown once the payment is final on its chain."}
        </Note>
      )}
    </div>
  );
}

/** What an operator does for an international card, with the hours that are left. */
function IntlOrder({ card, takenAt }: { card: IntlCard; takenAt: string | undefined }) {
  const [asking, setAsking] = useState(false);
  const open = card.status === "queued" || card.status === "claimed";
  if (!open) return null;
  const isTaken = card.status === "claimed";
  const dueAt = Date.parse(card.created_at) + 24 * 3_600_000;
  const left = (dueAt - now.value) / 1_000;
  const isLate = card.overdue || left <= 0;
  const stops: Stop[] = [
    { is: "done", name: "Paid", detail: <Time at={card.created_at} /> },
    { is: isLate ? "hold" : "now", name: isTaken ? "An operator took it" : "Waits for an operator", detail: isLate ? `${span(-left)} late` : `at the latest in ${span(left)}` },
    { is: "next", name: "Ready", detail: "next" },
  ];
  return (
    <Panel title="Order" padded>
      <div class="stack">
        <Route stops={stops} label="Steps of this order" />
        {isLate ? (
          <Note tone="wait" title="It takes longer than 24 hours">
            {isTaken ? (
              <>
                An operator took it {takenAt ? <Time at={takenAt} /> : "before"} and has not finished it. From then on only an operator can cancel it. <Contact>to have it cancelled</Contact>
              </>
            ) : (
              `No operator has it yet. You can go on waiting, or cancel: ${money(card.charged_usd_amount)}, the fee included, goes to your balance at once.`
            )}
          </Note>
        ) : (
          <p class="small soft">A person at the issuer makes this card. You can close this page: it is here when you come back.</p>
        )}
        {!isTaken ? (
          <Button kind="danger" decides disabled={!mayAct.value} onClick={() => setAsking(true)}>
            Cancel order…
          </Button>
        ) : (
          !isLate && <p class="small quiet">An operator took it, so it can’t be cancelled any more.</p>
        )}
      </div>
      {asking && (
        <ActDialog
          title="Cancel this order?"
          action="Cancel order"
          cancel="Keep the order"
          path="/cancel-intl-order"
          cardId={card.card_id}
          done="The order is cancelled, and its price is on your balance."
          onClose={() => setAsking(false)}
        >
          <p>
            <b>{money(card.charged_usd_amount)}</b>, fee included, goes to your balance at once. A new order starts at the end of the queue.
          </p>
        </ActDialog>
      )}
    </Panel>
  );
}

interface ActDialogProps {
  title: string;
  action: string;
  cancel?: string;
  path: string;
  cardId: string;
  done: string;
  children: ComponentChildren;
  onClose: () => void;
}

function ActDialog({ title, action, cancel = "Cancel", path, cardId, done, children, onClose }: ActDialogProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      await api.post(path, { card_id: cardId }, { confirm: { title, text: "Only you can do this." } });
      onClose();
      toast(done);
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
  };
  return (
    <Confirm title={title} action={action} cancel={cancel} danger busy={busy} error={error} onConfirm={() => void act()} onClose={onClose}>
      {children}
    </Confirm>
  );
}

const ASKED: Record<string, string> = { pause: "Pausing", resume: "Resuming", close: "Closing" };

function OnCard({ card, refunded }: { card: Card | IntlCard | ReloadableCard; refunded: Payment["refunded"] }) {
  const kind = kindOf(card);
  const [busy, setBusy] = useState<string | null>(null);
  const [closing, setClosing] = useState(false);
  const name = card.last4 ? `•••• ${card.last4}` : "this card";
  const act = async (action: "pause" | "resume") => {
    setBusy(action);
    try {
      await api.post(`/${action}-card`, { card_id: card.card_id });
      toast(action === "pause" ? `Card ${name} is paused. Charges are declined.` : `Card ${name} works again.`, action === "pause" ? () => void act("resume") : undefined);
    } catch (thrown) {
      toast(failure(thrown).said);
    }
    setBusy(null);
  };
  const paused = card.status === "paused";
  const usable = isUsable(card) || paused;
  const goesTo = kind === "reloadable" ? "your card balance" : "your balance";
  const waits = kind === "intl" ? " An operator carries it out." : "";
  const credited = "credited_usd_amount" in card ? card.credited_usd_amount : 0;
  return (
    <Panel title="On this card" padded>
      <div class="stack">
        {isEnded(card) ? (
          <p class="soft">
            {isNeverMade(card) ? "No card was made. " : "The card has ended. "}
            {cameBackWords(credited, refunded)}
            {"failure_reason" in card && card.failure_reason ? ` ${reasonSentence(card.failure_reason)}` : ""}
            {"rejection_reason" in card && card.rejection_reason ? ` The operator said: “${card.rejection_reason}”.` : ""}
          </p>
        ) : (
          <>
            <div class="row between">
              <span class="on-card live-amount">{money(card.available_usd_amount)}</span>
              <span class="quiet">{compare(card.available_usd_amount, card.usd_amount) === 0 ? "all of it is left" : `of ${money(card.usd_amount)}`}</span>
            </div>
            <Meter calm value={String(card.available_usd_amount)} max={String(card.usd_amount)} label={`${money(card.available_usd_amount)} of ${money(card.usd_amount)} left`} />
            {!isZero(refunded) && <p class="small soft">Purser refunded {money(refunded)} of its price to your balance.</p>}
          </>
        )}
        {card.pending_action && (
          <StatusTag tone="move">
            {ASKED[card.pending_action] ?? card.pending_action}, until {kind === "intl" ? "an operator" : "the issuer"} answers
          </StatusTag>
        )}
        {usable && (
          <div class="twin">
            {paused ? (
              <Button icon="play" decides busy={busy === "resume"} disabled={!mayAct.value || card.pending_action !== null} onClick={() => void act("resume")}>
                Resume
              </Button>
            ) : (
              <Button icon="pause" busy={busy === "pause"} disabled={!mayAct.value || card.pending_action !== null} onClick={() => void act("pause")}>
                Pause
              </Button>
            )}
            <Button kind="danger" decides disabled={!mayAct.value || card.pending_action === "close"} onClick={() => setClosing(true)}>
              Close card…
            </Button>
          </div>
        )}
      </div>
      {closing && (
        <ActDialog title={`Close card ${name}?`} action="Close card" path="/close-card" cardId={card.card_id} done={`Closing card ${name}.`} onClose={() => setClosing(false)}>
          <p>
            <b>
              {money(card.available_usd_amount)} goes back to {goesTo}
            </b>
            , once the issuer releases it.{waits} A closed card cannot be opened again, and shops that saved it are declined.
          </p>
          <p>A charge that is still being cleared is taken first.</p>
        </ActDialog>
      )}
    </Panel>
  );
}

/** What the card cost, and what came back of it: the whole price of a card that was not made, or what was not spent. */
function Price({ card, payment, refundedAt }: { card: AnyCard; payment: Payment | null; refundedAt: string | undefined }) {
  if (!("charged_usd_amount" in card)) return null;
  const worth = cardWorth(card);
  const credited = "credited_usd_amount" in card ? card.credited_usd_amount : card.status === "failed" ? card.charged_usd_amount : 0;
  return (
    <Receipt
      bought={{ name: kindOf(card) === "gift" ? "Worth" : "On the card", value: worthWords(worth.amount, worth.currency, card.charged_usd_amount ?? 0, card.fees_paid ?? 0) }}
      price={card.charged_usd_amount}
      fee={{ amount: card.fees_paid, currency: "USD" }}
      payment={payment}
      credited={credited}
      creditedAt={card.last_updated_at}
      refundedAt={refundedAt}
      cause={card.card_id}
    />
  );
}

function Details({ card, payment, buyer, views }: { card: AnyCard; payment: Payment | null; buyer: string | null; views: string[] }) {
  const worth = cardWorth(card);
  const paid = "charged_usd_amount" in card ? card.charged_usd_amount : null;
  const fee = "fees_paid" in card ? card.fees_paid : null;
  return (
    <Panel title="Details" padded>
      <KeyValue
        rows={[
          { name: "Card", value: <Id value={card.card_id} /> },
          paid === null && { name: "Loaded with", value: money(worth.amount, worth.currency) },
          { name: "Ordered", value: <Time at={card.created_at} /> },
          buyer !== null && { name: "Bought by", value: buyer },
          payment === null && paid !== null && { name: "Price", value: `${money(paid)}${fee ? `, of it ${money(fee)} fee` : ""}` },
          "reusable" in card && { name: "Charges", value: card.reusable ? "More than one" : "One, then it closes" },
          { name: "Works in", value: kindOf(card) === "us" || kindOf(card) === "reloadable" ? "US shops and online" : kindOf(card) === "intl" ? "Shops of all countries" : `Shops in ${"country" in card ? countryName(card.country) : "its country"}` },
          hasSecret(card) && { name: kindOf(card) === "gift" ? "Code seen" : "Number seen", value: views.length === 0 ? "Not lately" : `${views.length === 1 ? "Once" : `${views.length} times`}, last ${ago(views[0] ?? "", now.value)}` },
        ]}
      />
    </Panel>
  );
}

let regions: Intl.DisplayNames | undefined;
function countryName(code: string): string {
  try {
    regions ??= new Intl.DisplayNames("en", { type: "region" });
    return regions.of(code) ?? code;
  } catch {
    return code;
  }
}

const CHARGE: Record<string, [Tone, string]> = { settled: ["done", "Posted"], pending: ["move", "Pending"], declined: ["off", "Declined"], refunded: ["done", "Refunded"] };

function Charges({ card, history }: { card: Card | IntlCard | ReloadableCard; history: ReturnType<typeof useLoad<CardHistory>> }) {
  const [asked, setAsked] = useState(false);
  const [said, setSaid] = useState<string | null>(null);
  const refreshing = asked || ("refreshing" in card && card.refreshing);
  const refresh = async () => {
    setAsked(true);
    setSaid(null);
    try {
      await api.post("/refresh-card-data", { card_id: card.card_id });
      toast("Asked the issuer. New charges appear here.");
    } catch (thrown) {
      setSaid(failure(thrown).said);
    }
    setAsked(false);
  };
  const canRefresh = kindOf(card) === "us" && card.status === "ready";
  return (
    <Panel
      title="Charges"
      aside={
        canRefresh && (
          <Button small icon="again" busy={refreshing} disabled={!mayAct.value} onClick={() => void refresh()}>
            Ask the issuer
          </Button>
        )
      }
    >
      {said && (
        <div class="panel-body">
          <Note tone="info">{said}</Note>
        </div>
      )}
      {history.data === undefined ? (
        history.error ? (
          <LoadError error={history.error} what="the charges" retry={history.reload} />
        ) : (
          <Skeleton rows={3} label="Loading charges" />
        )
      ) : history.data.charges.length === 0 ? (
        <Empty icon="card" title={isEnded(card) ? "It was never charged" : "Not charged yet"}>
          {isEnded(card) ? "No shop charged this card." : "What shops charge appears here as it happens, declined charges too."}
        </Empty>
      ) : (
        <Table
          caption="Charges of this card, the newest first"
          rows={history.data.charges}
          rowKey={(charge) => charge.transaction_id}
          columns={[
            {
              title: "Merchant",
              cell: (charge) => (
                <>
                  {charge.merchant}
                  <div class="small quiet">{reasonWords(charge.decline_reason)}</div>
                </>
              ),
            },
            { title: "When", fold: "second", cell: (charge) => <Time at={charge.at} class="quiet" /> },
            { title: "State", fold: "second-right", cell: (charge) => <ChargeStatus charge={charge} /> },
            {
              title: "Amount",
              number: true,
              fold: "first-right",
              cell: (charge) => (charge.status === "declined" || charge.status === "refunded" ? <Amount value={charge.usd_amount} struck /> : <Amount value={less("0", String(charge.usd_amount))} />),
            },
          ]}
        />
      )}
    </Panel>
  );
}

function ChargeStatus({ charge }: { charge: CardCharge }) {
  const [tone, word] = CHARGE[charge.status] ?? ["off", charge.status];
  return <StatusTag tone={tone}>{word}</StatusTag>;
}

function Redemption({ card, offer, shown }: { card: GiftCard; offer: ReturnType<typeof useLoad<GiftCardOffer | null>>; shown: boolean }) {
  return (
    <Panel title="How to redeem it" padded>
      <div class="stack">
        {card.status === "processing" && <p>The seller makes the card, usually in two seconds.</p>}
        {card.status === "failed" && <p>{reasonSentence(card.failure_reason) ?? "The seller declined it."} {money(card.charged_usd_amount)} was credited to your balance.</p>}
        {card.status === "completed" && (
          <ol class="steps">
            <li>{shown ? "Copy the code." : "Show the code, and copy it."}</li>
            <li>
              Enter it at {offer.data?.brand ?? cardName(card).replace(/ gift card$/, "")} in {countryName(card.country)}. It is worth {money(card.amount, card.currency)}.
            </li>
            <li>Keep it as you keep cash: anybody who has the code can spend it.</li>
          </ol>
        )}
        {offer.data && (
          <KeyValue
            rows={[
              { name: "Product", value: offer.data.name },
              { name: "About", value: offer.data.description },
              { name: "Terms", value: offer.data.terms },
            ]}
          />
        )}
        {offer.error && !isAbsent(offer.error) && <p class="small quiet">The catalog does not answer now, so its terms are not shown.</p>}
      </div>
    </Panel>
  );
}

const CHANGES: Record<string, { icon: NonNullable<LogLine["icon"]>; tone: Tone; text: string }> = {
  ready: { icon: "check", tone: "done", text: "Ready to be used" },
  open: { icon: "check", tone: "done", text: "Opened" },
  paused: { icon: "pause", tone: "wait", text: "Paused: charges are declined" },
  resumed: { icon: "play", tone: "done", text: "Resumed" },
  closed: { icon: "off", tone: "off", text: "Closed" },
  expired: { icon: "off", tone: "off", text: "Expired" },
  failed: { icon: "bad", tone: "off", text: "The issuer did not make the card" },
};

const HAPPENED: Record<string, { icon: NonNullable<LogLine["icon"]>; tone: Tone; text: string }> = {
  details_viewed: { icon: "eye", tone: "move", text: "read the number" },
  pause_requested: { icon: "pause", tone: "move", text: "asked to pause it" },
  resume_requested: { icon: "play", tone: "move", text: "asked to resume it" },
  close_requested: { icon: "off", tone: "move", text: "asked to close it" },
  refresh_requested: { icon: "again", tone: "move", text: "asked the issuer for new charges" },
  claimed: { icon: "hand", tone: "move", text: "An operator took the order" },
  queued: { icon: "clock", tone: "move", text: "Waits for an operator" },
  overdue: { icon: "alert", tone: "wait", text: "The order takes longer than 24 hours" },
  cancelled: { icon: "undo", tone: "off", text: "The order was cancelled, and its price credited" },
  rejected: { icon: "bad", tone: "off", text: "An operator rejected the order, and its price was credited" },
  remainder_released: { icon: "undo", tone: "done", text: "What was left is on your balance" },
  completed: { icon: "check", tone: "done", text: "The code arrived" },
  processing: { icon: "clock", tone: "move", text: "Ordered from the seller" },
};

const whoOf = (event: PastEvent): string => actorOf(event) ?? "Your agent or you";

/** Who paused, resumed or closed it, by the time of the change. */
function changedBy(events: PastEvent[], change: string, at: string): string | null {
  const found = events.find((event) => event.type.endsWith(`.${change}`) && Math.abs(Date.parse(event.created_at) - Date.parse(at)) < 2_000);
  return found ? actorOf(found) : null;
}

/** All that is known of a card in one list, the newest first. */
function timeline(card: AnyCard, history: CardHistory | undefined, events: PastEvent[], payment: Payment | null): LogLine[] {
  const lines: (LogLine & { at: string })[] = [];
  for (const change of history?.changes ?? []) {
    const words = CHANGES[change.event];
    const by = changedBy(events, change.event, change.at);
    if (words) lines.push({ key: `change ${change.event} ${change.at}`, tone: words.tone, icon: words.icon, text: words.text, at: change.at, ...(by ? { sub: <span>{byWords(by)}</span> } : {}) });
  }
  for (const charge of history?.charges ?? []) {
    const declined = charge.status === "declined";
    lines.push({
      key: `charge ${charge.transaction_id}`,
      tone: declined ? "wait" : "done",
      icon: declined ? "off" : charge.status === "refunded" ? "undo" : "card",
      text: declined ? (
        <>
          Declined: {charge.merchant}, {money(charge.usd_amount)}
          {charge.decline_reason ? `, ${(reasonWords(charge.decline_reason) ?? "").toLowerCase()}` : ""}
        </>
      ) : (
        <>
          <b>{charge.merchant}</b> charged {money(charge.usd_amount)}
          {charge.status === "refunded" && " and gave it back"}
        </>
      ),
      at: charge.at,
    });
  }
  for (const event of events) {
    if (event.type === "refund.credited") {
      lines.push({ key: `event ${event.seq}`, tone: "done", icon: "undo", text: `Purser refunded ${money(String(event.data.object.amount))} to your balance`, at: event.created_at, fresh: event.fresh === true });
      continue;
    }
    const what = event.type.slice(event.type.indexOf(".") + 1);
    const words = HAPPENED[what];
    if (!words) continue;
    const person = ["details_viewed", "pause_requested", "resume_requested", "close_requested", "refresh_requested"].includes(what);
    const reading = what === "details_viewed" && kindOf(card) === "gift" ? "read the code" : words.text;
    const by = person ? null : actorOf(event);
    lines.push({
      key: `event ${event.seq}`,
      tone: words.tone,
      icon: words.icon,
      text: person ? `${whoOf(event)} ${reading}` : words.text,
      at: event.created_at,
      fresh: event.fresh === true,
      ...(by && !/operator/.test(words.text) ? { sub: <span>{byWords(by)}</span> } : {}),
    });
  }
  if (payment) lines.push(...paidLines(payment));
  else if (!("payment_id" in card)) {
    lines.push({ key: "ordered", tone: "done", icon: "plus", text: `Made with ${money(cardWorth(card).amount)} from your card balance`, at: card.created_at, sub: <Id value={card.card_id} /> });
  }
  return lines.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
}
