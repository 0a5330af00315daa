// All cards: of every kind, newest first, page by page.

import { useState } from "preact/hooks";
import { Amount, Button, Check, Confirm, CopyLine, Dialog, Empty, MoneyField, PageHead, Panel, Segments, Shell, Skeleton, Table, Time, api, amountProblem, classes, fieldErrors, isZero, money, navigate, setQuery, useRoute } from "../parts";
import { type AnyCard, type CardKind, CARD_EVENTS, CARD_PAYMENT_EVENTS, KINDS, KIND_WORDS, afterPayment, cameBack, cardLabel, cardLeft, cardName, cardOf, cardWorth, cardsSlice, isEnded, isUsable, isWaiting, kindOf } from "./data/cards";
import { type Place, usePages } from "./data/load";
import { mayAct, serviceUrl } from "./account";
import { useKeyOf } from "./once";
import { LoadError, NoMatch, Pager } from "./pager";
import { CardStatus, Thumb } from "./face";

const PAGE = 25;

type Shown = "all" | CardKind;
type State = "any" | "usable" | "waiting" | "ended";

const STATES: Record<State, (card: AnyCard) => boolean> = { any: () => true, usable: isUsable, waiting: isWaiting, ended: isEnded };

const KIND_CHOICES: { value: Shown; text: string }[] = [
  { value: "all", text: "All" },
  { value: "us", text: "US" },
  { value: "intl", text: "International" },
  { value: "reloadable", text: "Reloadable" },
  { value: "gift", text: "Gift cards" },
];

const STATE_CHOICES: { value: State; text: string }[] = [
  { value: "any", text: "Any state" },
  { value: "usable", text: "Usable" },
  { value: "waiting", text: "Being made" },
  { value: "ended", text: "Ended" },
];

const choice = <T extends string>(value: string | null, of: { value: T }[]): T | undefined => of.find((one) => one.value === value)?.value;

/** The next page of cards in this state. Reads on until the page is full, so a rare state may take several requests. */
async function readPage(kinds: CardKind[], state: State, place: Place | undefined) {
  const rows: AnyCard[] = [];
  let from = place;
  for (let reads = 0; reads < 8; reads += 1) {
    const slice = await cardsSlice(kinds, from, PAGE - rows.length);
    rows.push(...slice.rows.filter(STATES[state]));
    from = slice.next;
    if (rows.length >= PAGE || from === undefined) break;
  }
  return { rows, next: from };
}

function LeftOn({ card }: { card: AnyCard }) {
  const worth = cardWorth(card);
  const left = cardLeft(card);
  const back = cameBack(card);
  if (!isZero(back)) {
    return (
      <>
        <Amount value={back} sign />
        <div class="tiny quiet">on your balance</div>
      </>
    );
  }
  if (isWaiting(card)) return <span class="quiet">{money(worth.amount, worth.currency)} when made</span>;
  if (kindOf(card) === "gift") return <Amount value={worth.amount} currency={worth.currency} />;
  if (left === null) return <span class="quiet">–</span>;
  return (
    <>
      <Amount value={left} live />
      {String(left) !== String(worth.amount) && <div class="tiny quiet">of {money(worth.amount)}</div>}
    </>
  );
}

export default function Cards() {
  const { query } = useRoute();
  const kind = choice(query.get("kind"), KIND_CHOICES) ?? "all";
  const state = choice(query.get("state"), STATE_CHOICES) ?? "any";
  const kinds = kind === "all" ? KINDS : [kind];
  const cards = usePages<AnyCard, Place>(`cards ${kind} ${state}`, (place) => readPage(kinds, state, place), {
    types: [...CARD_EVENTS, ...CARD_PAYMENT_EVENTS],
    after: (rows, event, page) => {
      if (CARD_PAYMENT_EVENTS.includes(event.type)) return rows.map((row) => afterPayment(row, event));
      const card = cardOf(event);
      const known = rows.some((row) => row.card_id === card.card_id);
      if (known) return rows.map((row) => (row.card_id === card.card_id ? { ...row, ...card } : row));
      return page === 0 && kinds.includes(kindOf(card)) && STATES[state](card) ? [card, ...rows].slice(0, PAGE) : rows;
    },
  });
  const [ordering, setOrdering] = useState(false);
  const [making, setMaking] = useState(false);
  const filtered = kind !== "all" || state !== "any";
  const clear = () => setQuery({ kind: undefined, state: undefined });

  return (
    <Shell app="holder" page="cards" title="Cards">
      <PageHead
        title="Cards"
        actions={
          <Button icon="plus" onClick={() => setOrdering(true)}>
            Order a card
          </Button>
        }
      >
        Numbers stay hidden until you prove that it is you.
      </PageHead>
      <div class="stack">
        <div class="row wrap filters">
          <Segments label="Kind of card" options={KIND_CHOICES} value={kind} onChange={(value) => setQuery({ kind: value === "all" ? undefined : value })} />
          <Segments label="State of the card" options={STATE_CHOICES} value={state} onChange={(value) => setQuery({ state: value === "any" ? undefined : value })} />
        </div>
        {cards.error && <LoadError error={cards.error} what="your cards" retry={cards.reload} />}
        <Panel>
          {cards.data === undefined ? (
            !cards.error && <Skeleton rows={6} label="Loading your cards" />
          ) : cards.data.length > 0 ? (
            <Table
              caption="Your cards, the newest first"
              rows={cards.data}
              rowKey={(card) => card.card_id}
              href={(card) => `/dashboard/cards/${card.card_id}`}
              columns={[
                {
                  title: "Card",
                  fold: "first",
                  class: "two-lines",
                  cell: (card) => (
                    <div class="row">
                      <Thumb card={card} />
                      <div class="grow">
                        <a class="lead" href={`/dashboard/cards/${card.card_id}`}>
                          {cardName(card)}
                        </a>
                        <div class={classes("small quiet", !cardLabel(card) && "narrow-only")}>{cardLabel(card) ?? KIND_WORDS[kindOf(card)]}</div>
                      </div>
                    </div>
                  ),
                },
                { title: "Kind", fold: "hidden", cell: (card) => <span class="soft">{KIND_WORDS[kindOf(card)]}</span> },
                { title: "When", fold: "hidden", cell: (card) => <Time at={card.created_at} class="quiet" /> },
                { title: "State", fold: "second-right", cell: (card) => <CardStatus card={card} /> },
                { title: "Left", number: true, fold: "first-right", cell: (card) => <LeftOn card={card} /> },
              ]}
            />
          ) : filtered ? (
            <NoMatch clear={clear}>No card of this kind is in this state.</NoMatch>
          ) : (
            <Empty icon="card" title="No cards yet" actions={<CopyLine text={`purser pay '${serviceUrl.value}/get-card?amount=5' --wait`} />}>
              An agent buys one with a single call, from $5.00. It is usually ready in two seconds, and appears here by itself.
            </Empty>
          )}
        </Panel>
        <Pager what="cards" {...cards} />
      </div>
      {ordering && (
        <Dialog
          title="Cards are bought by your agents"
          onClose={() => setOrdering(false)}
          actions={
            <>
              <Button kind="ghost" onClick={() => setOrdering(false)}>
                Close
              </Button>
              <Button
                kind="primary"
                decides
                disabled={!mayAct.value}
                onClick={() => {
                  setOrdering(false);
                  setMaking(true);
                }}
              >
                Make a reloadable card
              </Button>
            </>
          }
        >
          <p>Ask one of them, or run the client yourself:</p>
          <CopyLine text={`purser pay '${serviceUrl.value}/get-card?amount=25' --wait`} />
          <p>A reloadable card needs no payment: it is loaded from your card balance.</p>
        </Dialog>
      )}
      {making && <MakeReloadable onClose={() => setMaking(false)} />}
    </Shell>
  );
}

function MakeReloadable({ onClose }: { onClose: () => void }) {
  const [amount, setAmount] = useState("");
  const [reusable, setReusable] = useState(true);
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const key = useKeyOf(`${amount.trim()} ${reusable}`);
  const make = async () => {
    const problem = amountProblem(amount, { min: "1" });
    if (problem) {
      setErrors({ usd_amount: problem });
      return;
    }
    setBusy(true);
    try {
      const made = await api.post<{ card: { card_id: string } }>(
        "/create-reloadable-card",
        { usd_amount: amount.trim(), reusable },
        { key, confirm: { title: `Make a card with ${money(amount.trim())}`, text: "The amount moves from your card balance to the card." } },
      );
      onClose();
      navigate(`/dashboard/cards/${made.card.card_id}`);
    } catch (error) {
      setErrors(fieldErrors(error, ["usd_amount"]));
      setBusy(false);
    }
  };
  return (
    <Confirm title="Make a reloadable card" action="Make card" busy={busy} error={errors.form ?? null} onConfirm={() => void make()} onClose={onClose}>
      <p>The amount moves from your card balance at the issuer to the card. What is left goes back when the card is closed.</p>
      <MoneyField label="Amount" value={amount} onChange={(value) => { setAmount(value); setErrors({}); }} hint="From $1.00" error={errors.usd_amount} />
      <Check checked={reusable} onChange={setReusable}>
        It can be charged more than once
      </Check>
    </Confirm>
  );
}
