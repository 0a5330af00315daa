// Cards of every kind: their lists, one card, its history and its numbers.

import { ApiFailure, api, withQuery } from "../../parts/api";
import { isZero, money, sum } from "../../parts/money";
import { productWords } from "../../parts/sentences";
import { type Tone, statusOf } from "../../parts/status";
import type { StreamEvent } from "../../parts/stream";
import { confirmIt } from "../../parts/passkey";
import type {
  Card,
  CardCharge,
  CardDetails,
  CardHistoryEntry,
  CardTransactionsResponse,
  ExactDecimal,
  GiftCard,
  GiftCardOffer,
  GiftCardSearchResponse,
  IntlCard,
  ListedUsaCard,
  Payment,
  ReloadableCard,
} from "../../api/public";
import { type Place, type Slice, type Source, mergedSlice } from "./load";

/** A card, in a list with what became of its payment. */
export type AnyCard = (Card | IntlCard | ReloadableCard | GiftCard) & Pick<ListedUsaCard, "payment_reversed" | "refunded_usd_amount">;
export type CardKind = "us" | "intl" | "reloadable" | "gift";

/** The kinds with the name that the API has for each. */
const TYPES: Record<CardKind, AnyCard["card_type"]> = {
  us: "Non-Reloadable U.S.",
  intl: "Non-Reloadable International",
  reloadable: "Reloadable",
  gift: "Gift Card",
};

export const KINDS = Object.keys(TYPES) as CardKind[];

export const KIND_WORDS: Record<CardKind, string> = {
  us: "Prepaid, US",
  intl: "Prepaid, international",
  reloadable: "Reloadable, US",
  gift: "Gift card",
};

export function kindOf(card: AnyCard): CardKind {
  return KINDS.find((kind) => TYPES[kind] === card.card_type) ?? "us";
}

/** The kind under which `Status` knows the states of a card. */
export const STATUS_KINDS = { us: "card", intl: "intl_order", reloadable: "reloadable_card", gift: "gift_card" } as const;

/** How a card stands, in a word. Neither state says that an order is late, nor what became of the payment. */
export function cardStatus(card: AnyCard): { tone: Tone; word: string } {
  const isLate = isWaiting(card) && "overdue" in card && card.overdue;
  const { tone, word } = isLate ? ({ tone: "wait", word: "Late" } as const) : statusOf(STATUS_KINDS[kindOf(card)], card.status);
  if (card.payment_reversed) return { tone: "bad", word: `${word}, payment taken back` };
  return isZero(card.refunded_usd_amount ?? 0) ? { tone, word } : { tone, word: `${word}, ${money(card.refunded_usd_amount)} refunded` };
}

/** Types of the events of each kind. */
export const EVENT_PREFIX = { us: "card", intl: "intl_order", reloadable: "reloadable_card", gift: "gift_card" } as const;
export const CARD_EVENTS = ["card.*", "intl_order.*", "reloadable_card.*", "gift_card.*"];
/** What changes how a listed card stands without an event of the card. */
export const CARD_PAYMENT_EVENTS = ["payment.reversed", "refund.credited"];

/** A listed card after an event of its payment. */
export function afterPayment(card: AnyCard, { type, data: { object } }: StreamEvent): AnyCard {
  if (!("payment_id" in card) || card.payment_id !== object.payment_id) return card;
  return type === "payment.reversed" ? { ...card, payment_reversed: true } : { ...card, refunded_usd_amount: object.amount as ExactDecimal };
}

/** The card of an event. The event of a change that was asked for still has the request, which ends with it. */
export function cardOf(event: StreamEvent): AnyCard {
  const card = event.data.object as unknown as AnyCard;
  return /\.(paused|resumed|closed)$/.test(event.type) ? ({ ...card, pending_action: null } as AnyCard) : card;
}

const ENDED = new Set(["closed", "expired", "failed", "cancelled", "rejected"]);

export const isEnded = (card: AnyCard) => ENDED.has(card.status);
export const isUsable = (card: AnyCard) => ["ready", "open", "completed"].includes(card.status);
export const isWaiting = (card: AnyCard) => ["pending", "creating", "queued", "claimed", "processing"].includes(card.status);
/** Whether the issuer can be asked for its number or code. */
export const hasSecret = (card: AnyCard) => ["ready", "open", "paused", "completed"].includes(card.status);

export type GiftFields = GiftCard & { redemption_code?: string | null; redemption_url?: string | null; pin_code?: string | null };

/** What a card is called in a list and in a title. */
export function cardName(card: AnyCard): string {
  if (card.card_type === "Gift Card") return `${productWords((card as GiftCard).product_id)} gift card`;
  const { last4 } = card as Card;
  if (last4) return `•••• ${last4}`;
  return kindOf(card) === "intl" ? "International card" : kindOf(card) === "reloadable" ? "Reloadable card" : "US card";
}

export const cardLabel = (card: AnyCard): string | null => ("label" in card ? card.label : null);

/** What the card was made for, and its currency. */
export function cardWorth(card: AnyCard): { amount: ExactDecimal; currency: string } {
  if (card.card_type === "Gift Card") {
    const gift = card as GiftCard;
    return { amount: gift.amount, currency: gift.currency };
  }
  return { amount: (card as Card).usd_amount, currency: "USD" };
}

/** What is left on the card; `null` if nothing can be on it. */
export function cardLeft(card: AnyCard): ExactDecimal | null {
  if (isEnded(card)) return null;
  if (card.card_type === "Gift Card") return null;
  if (isWaiting(card)) return null;
  return (card as Card).available_usd_amount;
}

/** What came back of a card that has ended: all of one that was not made, otherwise what was left on it and what operators refunded. */
export function cameBack(card: AnyCard): ExactDecimal {
  if (!isEnded(card)) return 0;
  const credited = card.card_type === "Gift Card" ? (card as GiftCard).charged_usd_amount : "credited_usd_amount" in card ? card.credited_usd_amount : 0;
  return sum(credited, card.refunded_usd_amount ?? 0);
}

/** The same in words: what was credited by itself, and what operators refunded. */
export function cameBackWords(credited: ExactDecimal, refunded: ExactDecimal): string {
  if (isZero(refunded)) return isZero(credited) ? "" : `${money(credited)} was credited to your balance.`;
  if (isZero(credited)) return `Purser refunded ${money(refunded)} to your balance.`;
  return `${money(credited)} that was left and ${money(refunded)} that Purser refunded are on your balance.`;
}

type CardPage = { cards: AnyCard[]; has_more: boolean };

const source =
  (kind: CardKind): Source<AnyCard> =>
  async (after, limit) => {
    const page = await api.get<CardPage>(withQuery("/get-card-data", { card_type: TYPES[kind], include_failed: true, order: "desc", limit, starting_after: after }));
    return { rows: page.cards, more: page.has_more };
  };

/** The newest cards of these kinds after a place. */
export function cardsSlice(kinds: CardKind[], place: Place | undefined, limit: number): Promise<Slice<AnyCard, Place>> {
  return mergedSlice(kinds.map(source), place, limit, (card) => ({ id: card.card_id, at: card.created_at }));
}

/** A card without its number. */
export function readCard(id: string): Promise<AnyCard> {
  return api.get<AnyCard>(withQuery("/get-card-data", { card_id: id, details: false }));
}

/** A card with its number or code. The service records that it was read. */
export type RevealedCard = AnyCard & {
  card_details?: CardDetails | null;
  redemption_code?: string | null;
  redemption_url?: string | null;
  pin_code?: string | null;
  held?: string | null;
  hint?: string | null;
};

/** Reads the number or code of a card, after the person confirmed it. `null` if they did not. */
export async function revealCard(id: string, title: string): Promise<RevealedCard | null> {
  const path = withQuery("/get-card-data", { card_id: id });
  try {
    return await api.get<RevealedCard>(path);
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.code !== "confirmation_required") throw error;
    const yes = await confirmIt(title, "It is shown for 60 seconds on this device. That it was read is recorded in the card’s timeline.");
    return yes ? await api.get<RevealedCard>(path) : null;
  }
}

export type CardHistory = { charges: CardCharge[]; changes: CardHistoryEntry[] };

export async function readHistory(id: string): Promise<CardHistory> {
  const read = await api.get<CardTransactionsResponse>(withQuery("/list-card-transactions", { card_id: id, limit: 100 }));
  return { charges: read.transactions, changes: read.card_events };
}

/** What a payment is for, in words. */
export const PRODUCT_WORDS: Record<string, string> = {
  usa_prepaid_card: "US card", intl_prepaid_card: "International card", gift_card: "Gift card", push_to_card: "Payout to a debit card", bank_payment: "Payout to a bank account", app_payment: "Payout to a payment app", card_balance: "Top-up of the card balance",
};

/** The payment that bought something, with its transaction and what came back of it. */
export type Paid = Payment & {
  /** What became of what it bought, by the API's word. */
  productStatus: string | null;
  /** Of the charge, what was credited by itself, and what operators refunded. */
  credited: ExactDecimal;
  refunded: ExactDecimal;
  /** The agent whose API key came with the payment. */
  agent: string | null;
};

/** `null` if the session may not read it. */
export async function readPayment(id: string): Promise<Paid | null> {
  const read = await api.get<{ payment?: Payment; product_status?: string | null; credited_usd_amount?: ExactDecimal; refunded_usd_amount?: ExactDecimal; api_key?: { name: string } | null }>(withQuery("/get-payment", { payment_id: id }));
  return read.payment ? { ...read.payment, productStatus: read.product_status ?? null, credited: read.credited_usd_amount ?? 0, refunded: read.refunded_usd_amount ?? 0, agent: read.api_key?.name ?? null } : null;
}

/** What the service answers about the card of another account, or one that does not exist. */
export const NO_CARD = ["card_not_found", "card_access_denied"];

/** A gift card's entry in the catalog: its real name, how to redeem it, its terms. `null` if it is no longer sold. */
export async function readOffer(productId: string): Promise<GiftCardOffer | null> {
  const found = await api.get<GiftCardSearchResponse>(withQuery("/search-gift-cards", { q: productWords(productId), limit: 50 }));
  return found.gift_cards.find((offer) => offer.product_id === productId) ?? null;
}
