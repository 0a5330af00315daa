// What an event says, in plain English: who did what, for how much. All pages take their sentences from here. The table
// has a row for every type of event, and does not compile without one.

import type { EventType } from "../api/events";
import { short } from "./id";
import { decimal, isZero, money, units } from "./money";
import { type StatusKind, type Tone, statusOf } from "./status";
import type { StreamEvent } from "./stream";
import { span } from "./time";

export interface Said {
  /** Who did it, to be set off: the name of an agent. Null if nobody in particular. */
  who: string | null;
  /** The rest of the sentence. Begins with a capital letter if there is no `who`. */
  text: string;
  /** How it stands, as a status after the sentence. */
  then: { tone: Tone; word: string } | null;
  /** Money that moved. */
  amount: { value: string; currency: string; moves: "in" | "out" | "own" } | null;
  /** The page of the thing. */
  href: string | null;
  /** The thing, for pages that show only its last event. */
  thing: string;
  /** Tells nothing that another event of the same purchase does not tell better. Left out of the feed. */
  quiet: boolean;
}

type Values = Record<string, unknown>;
const upper = (value: string): string => value.replace(/^./u, (letter) => letter.toUpperCase());
type Moves = "in" | "out" | "own";

interface Row {
  /** With a subject in front: “bought a $40.00 US card”. */
  does?: (object: Values, event: StreamEvent) => string;
  /** A whole sentence. Beside `does`: for events that nobody of the account caused. */
  says?: (object: Values, event: StreamEvent) => string;
  /** `does` is what one of the account began, also if the event is a later step that somebody else caused. */
  buyer?: true;
  then?: (object: Values, event: StreamEvent) => { tone: Tone; word: string } | null;
  amount?: (object: Values, event: StreamEvent) => { value: string; currency?: string; moves: Moves } | null;
  quiet?: boolean | ((object: Values) => boolean);
  /** Events of one thing with the same step are shown as one line, the last of them. */
  step?: string;
}

const text = (value: unknown): string => (typeof value === "string" ? value : typeof value === "number" ? String(value) : "");
const named = (value: unknown): string => (text(value) ? ` “${text(value)}”` : "");
const usd = (value: unknown): string => money(text(value));
const quoted = (value: unknown): string => (text(value) ? ` for “${text(value)}”` : "");
const ending = (object: Values): string => (text(object.last4) ? ` •••• ${text(object.last4)}` : "");
const because = (value: unknown): string => (text(value) ? ` Reason: ${text(value).replaceAll("_", " ").replace(/\.$/, "")}.` : "");

/** The seconds between the beginning of a thing and this event. */
function took(object: Values, event: StreamEvent): string {
  const seconds = (Date.parse(event.created_at) - Date.parse(text(object.created_at))) / 1_000;
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  return seconds < 10 ? `${seconds.toFixed(1)} s` : span(seconds);
}

const status =
  (kind: StatusKind) =>
  (object: Values, event: StreamEvent): { tone: Tone; word: string } => {
    const value = text(object.status) || event.type.slice(event.type.indexOf(".") + 1);
    return statusOf(kind, value);
  };
const after = (word: string) => (object: Values, event: StreamEvent) => {
  const time = took(object, event);
  return { tone: "done" as const, word: time ? `${word} in ${time}` : word };
};
const out = (field: string, currency?: string) => (object: Values) =>
  isZero(text(object[field])) ? null : { value: text(object[field]), moves: "out" as const, ...(currency ? { currency } : {}) };
const comesIn = (field: string) => (object: Values) => (isZero(text(object[field])) ? null : { value: text(object[field]), moves: "in" as const });
const own = (field: string) => (object: Values) => ({ value: text(object[field]), moves: "own" as const });

/** By how much a field changed with this event. */
function change(object: Values, event: StreamEvent, field: string): string | null {
  const [now, before] = [units(text(object[field])), units(text(event.previous?.[field]))];
  return now === null || before === null ? null : decimal(now > before ? now - before : before - now);
}
const changeOf =
  (field: string, moves: Moves) =>
  (object: Values, event: StreamEvent): { value: string; moves: Moves } | null => {
    const value = change(object, event, field);
    return value === null ? null : { value, moves };
  };

const usCard = (object: Values): string => `a ${usd(object.usd_amount)} US card`;
const intlCard = (object: Values): string => `a ${usd(object.usd_amount)} international card${quoted(object.label)}`;
/** A gift card's product in words: `gift_marche_lumiere_fr` is `Marche Lumiere`. */
export function productWords(productId: string): string {
  const parts = productId.replace(/^gift_/, "").split("_");
  if (parts.length > 1 && /^[a-z]{2}$/.test(parts.at(-1) ?? "")) parts.pop();
  return parts.map(upper).join(" ");
}
const giftCard = (object: Values): string => `a ${[money(text(object.amount), text(object.currency)), productWords(text(object.product_id)), "gift card"].filter(Boolean).join(" ")}`;
// Who is paid, where the page knows the name.
const payoutTo = (object: Values): string =>
  text(object.platform)
    ? `${text(object.payee_name) ? `to ${text(object.payee_name)} ` : ""}by ${upper(text(object.platform))}`
    : text(object.destination_id) || object.destination
      ? text(object.payee_name) ? `to the bank account of ${text(object.payee_name)}` : "to a bank account"
      : `to a debit card${text(object.card_last4) ? ` •••• ${text(object.card_last4)}` : ""}`;
const payout = (object: Values): string => `${money(text(object.amount), text(object.currency) || "USD")} ${payoutTo(object)}`;
/** A call of Purser itself: what it bought says so. */
/** Why a recovery ended that the owner did not cancel. */
const CANCELLED_BY: Record<string, string> = {
  restore: "The recovery of this account ended, because the service was restored from a backup.",
  freeze: "The recovery of this account ended, because an operator froze the account.",
};

const ofPurser = (object: Values): boolean => text(object.host) === "route";
/** How it was paid, where the page knows that from another event: “ with wallet 0x30ef…a6c9”. */
const paidWith = (object: Values): string => (text(object.paid_with) ? ` with ${text(object.paid_with)}` : "");
const paidTo = (object: Values): string => {
  if (text(object.host) === "route") return "this service";
  if (text(object.host)) return text(object.host).replace(/:443$/, "");
  return text(object.pay_to) ? short(text(object.pay_to)) : "a bank account";
};
/** What a call buys at a route of the service, as in an approval. */
export interface Bought {
  route: string;
  amount: string | null;
  currency: string | null;
  product_id?: string | null;
  country?: string | null;
  destination_id?: string | null;
  recipient_id?: string | null;
}

const ROUTES: Record<string, (amount: string, price: string, bought: Bought) => string> = {
  "/get-card": (amount) => `buy a ${amount} US card`,
  "/order-intl-card": (amount) => `buy a ${amount} international card`,
  // Its amount is in the currency of the product.
  "/order-gift-card": (_, price, { product_id }) => `buy a ${product_id ? `${productWords(product_id)} ` : ""}gift card for ${price}`,
  "/get-push-to-card": (amount) => `pay out ${amount} to a debit card`,
  "/send-bank-payment": (amount) => `pay ${amount} to a bank account`,
  "/send-payment": (amount) => `pay ${amount} through a payment app`,
  "/fund-card-balance": (amount) => `top up the card balance with ${amount}`,
};

/** “buy a $480.00 US card”, “pay out €25.00 to a debit card” */
export function boughtWords(bought: Bought, price: string | number): string {
  const says = ROUTES[bought.route];
  if (!says) return `pay ${money(price)} to this service for ${bought.route}`;
  return says(bought.amount && units(bought.amount) !== null ? money(bought.amount, bought.currency ?? "USD") : money(price), money(price), bought);
}

const boughtBy = (object: Values): string | null => {
  const bought = object.purchase as Bought | null | undefined;
  return bought ? boughtWords(bought, text(object.amount)) : null;
};
// What an approval is for: a payment of the managed wallet, or something from a balance of the account.
const spends = (object: Values): string =>
  ({ withdrawal: "withdraw", card_balance_withdrawal: "withdraw from the card balance", bank_transfer: "move" })[text(object.kind)] ?? "pay";
const spend = (object: Values): string =>
  ({ withdrawal: "withdrawal", card_balance_withdrawal: "withdrawal from the card balance", bank_transfer: "bank transfer" })[text(object.kind)] ?? "payment";
const spent = (object: Values): string =>
  ({ withdrawal: "withdrew", card_balance_withdrawal: "withdrew from the card balance", bank_transfer: "moved" })[text(object.kind)] ?? "paid";
/** The agent that asked for an approval. */
const asker = (object: Values): string => text(object.begun_by).replace(/^Your agent$/, "your agent") || "an agent";
const agentName = (object: Values): string => text((object.agent as Values | null)?.name) || "An agent";
const host = (value: unknown): string => {
  try {
    return new URL(text(value)).host;
  } catch {
    return text(value);
  }
};
const network = (value: unknown): string => text(value).replace(/^./, (letter) => letter.toUpperCase());

const LIMITS: Record<string, string> = { per_call_usd: "a payment", per_day_usd: "a day", api_key_per_call_usd: "a payment with its key", api_key_per_day_usd: "a day with its key", merchant_per_day_usd: "a day at this merchant", balance_per_call_usd: "at once", balance_per_day_usd: "a day" };
function refusedSpend(object: Values): string {
  const refused = object.last_refused_spend as Values | null | undefined;
  if (!refused) return "a payment would have been over your limits";
  const limits = (Array.isArray(refused.limits) ? (refused.limits as Values[]) : []).map((one) => `${usd(one.cap_usd)} ${LIMITS[text(one.limit)] ?? ""}`.trim());
  return `${usd(refused.amount)} to ${paidTo(refused)} is over your limit of ${limits.join(" and ") || "a payment"}`;
}

const PRODUCTS: Record<string, string> = {
  usa_prepaid_card: "a US card", intl_prepaid_card: "an international card", gift_card: "a gift card", push_to_card: "a payout to a debit card",
  bank_payment: "a payout to a bank account", app_payment: "a payout to a payment app", card_balance: "a top-up",
};
const product = (object: Values): string => PRODUCTS[text(object.product)] ?? "a purchase";
/** What a payment bought, by the kind of its event. */
const BOUGHT: Record<string, (object: Values) => string> = { payment: product, card: usCard, intl_order: intlCard, gift_card: giftCard, payout: (o) => `a payout of ${payout(o)}`, top_up: () => "a top-up" };
/** “ for your $480.00 US card”, where the page knows what the payment bought. */
const refundOf = (object: Values): string => (text(object.bought) ? ` for ${text(object.bought).replace(/^an? /, "your ")}` : "");
const LEG: Record<string, string> = { solana: "Solana", base: "Base" };

// Of a charge, what the card's transactions say and its event does not.
const shop = (object: Values): string => text(object.merchant) || "A shop";
const charge = (object: Values): string => (text(object.charge_usd) ? ` ${usd(object.charge_usd)}` : "");
// Not the change of what is on the card: one answer of the issuer can bring several charges, and a closed card has nothing.
const chargedAmount = (object: Values): { value: string; moves: Moves } | null => (text(object.charge_usd) ? { value: text(object.charge_usd), moves: "own" } : null);

// What happens to every kind of card after it is open.
function cardRows(name: (object: Values) => string): Record<
  "paused" | "resumed" | "closed" | "pause_requested" | "resume_requested" | "close_requested" | "details_viewed" | "charged" | "charge_settled" | "charge_refunded" | "charge_declined",
  Row
> {
  return {
    charged: { says: (o) => `${shop(o)} charged${charge(o)} ${text(o.merchant) ? "to " : ""}${name(o)}.`, amount: chargedAmount },
    charge_settled: { says: (o) => `${shop(o)}'s charge to ${name(o)} was settled.`, quiet: true },
    charge_refunded: { says: (o) => `${shop(o)} gave${charge(o) || " money"} back to ${name(o)}.`, amount: chargedAmount },
    charge_declined: { says: (o) => (text(o.merchant) ? `${shop(o)} was declined: it wanted${charge(o)} of ${name(o)}. Nothing was taken.` : `A charge to ${name(o)} was declined, so nothing was taken.`) },
    pause_requested: { does: (o) => `asked to pause ${name(o)}.`, step: "pause" },
    paused: { does: (o) => `paused ${name(o)}.`, says: (o, e) => `${by(e)} paused ${name(o)}: shops are refused until it is resumed.`, step: "pause" },
    resume_requested: { does: (o) => `asked to resume ${name(o)}.`, step: "resume" },
    resumed: { does: (o) => `resumed ${name(o)}: it works again.`, says: (o, e) => `${by(e)} resumed ${name(o)}: it works again.`, step: "resume" },
    close_requested: { does: (o) => `asked to close ${name(o)}.`, step: "close" },
    closed: { does: (o) => `closed ${name(o)}.`, says: (o, e) => `${by(e)} closed ${name(o)}.`, step: "close" },
    details_viewed: { does: (o) => `looked at the number of ${name(o)}.` },
  };
}
const us = cardRows((o) => `US card${ending(o)}`);
const reloadable = cardRows((o) => `card${ending(o)}`);
const intl = cardRows((o) => `international card${ending(o)}`);

/** An international order that waits for an operator, or that one took. Late, both are the same to its owner. */
const openOrder: Row = {
  buyer: true,
  does: (o) => `ordered ${intlCard(o)}${paidWith(o)}.${o.overdue === true ? " It takes longer than 24 hours." : ""}`,
  then: (o, event) => (o.overdue === true ? { tone: "wait", word: "Late" } : status("intl_order")(o, event)),
  amount: out("charged_usd_amount"),
  step: "order",
};

const ROWS = {
  "account.created": { says: () => "This account was opened." },
  "account.caps_updated": { does: () => "changed the limits of this account." },
  "account.frozen": { says: (_, e) => `${by(e)} froze this account.`, then: () => ({ tone: "bad", word: "Frozen" }) },
  "account.unfrozen": { says: (_, e) => `${by(e)} ended the freeze: this account works again.`, then: () => ({ tone: "done", word: "Active" }) },

  "agent_wallet.created": { does: () => "made a wallet for your agents.", says: () => "A wallet for your agents was made." },
  "agent_wallet.caps_updated": { does: () => "changed the limits of the agents’ wallet." },
  "agent_wallet.address_saved": { does: () => "saved an address that the agents’ wallet may pay." },
  "agent_wallet.address_deleted": { does: () => "removed an address from the agents’ wallet." },

  "api_key.issued": { does: (o) => `let ${text(o.name) || "an agent"} in with an API key.`, says: (o) => `${text(o.name) || "An agent"} got an API key.` },
  "api_key.active": { says: (o) => `${text(o.name) || "An agent"} used its API key for the first time.` },
  "api_key.rejected": { does: (o) => `refused an API key for ${text(o.name) || "an agent"}.`, says: (o) => `An API key for ${text(o.name) || "an agent"} was refused.`, then: status("api_key") },
  "api_key.revoked": { does: (o) => `ended the API key of ${text(o.name) || "an agent"}.`, says: (o) => `The API key of ${text(o.name) || "an agent"} was ended.`, then: status("api_key") },

  "balance.credited": { says: () => "Money was credited to your balance.", amount: changeOf("balance", "in"), quiet: true },
  "balance.debited": { says: () => "Money was taken from your balance.", amount: changeOf("balance", "out"), quiet: true },
  "balance.held": { says: () => "Part of your balance is held for a payment.", amount: changeOf("held", "own"), quiet: true },
  "balance.released": { says: () => "A held part of your balance is available again.", amount: changeOf("held", "own"), quiet: true },
  "balance.reversed": { says: () => "The chain took back a credit of your balance.", amount: changeOf("balance", "out"), then: () => ({ tone: "bad", word: "Taken back" }) },
  "balance.withdrawn": { says: () => "A withdrawal left your balance.", amount: changeOf("balance", "out"), quiet: true },

  "bank_account.pending": { does: () => "asked for a bank account.", then: status("bank_account"), step: "open" },
  "bank_account.open": { says: (o) => `The ${text(o.currency)} bank account${text(o.label) ? ` “${text(o.label)}”` : ""} is open.`, step: "open" },
  "bank_account.rejected": { says: (o) => `The bank did not open the account.${because(o.failure_reason)}`, step: "open" },
  "bank_destination.registered": { does: (o) => `saved the bank account of ${text(o.account_holder_name) || "a recipient"}.` },
  "bank_destination.renamed": { does: (o) => `renamed a recipient to “${text(o.nickname)}”.` },
  "bank_destination.removed": { does: (o) => `removed the recipient “${text(o.nickname)}”.` },
  "bank_transfer.pending": { does: (o) => `started a bank transfer of ${money(text(o.amount), text(o.currency))}.`, says: (o) => `A bank transfer of ${money(text(o.amount), text(o.currency))} is on its way to you.`, then: status("bank_transfer"), step: "transfer" },
  "bank_transfer.complete": { says: (o) => `A bank transfer of ${money(text(o.amount), text(o.currency))} arrived.`, then: status("bank_transfer"), step: "transfer" },
  "bank_transfer.failed": { says: (o) => `The bank refused a transfer of ${money(text(o.amount), text(o.currency))}.${because(o.failure_reason)}`, then: status("bank_transfer"), step: "transfer" },
  "bank_transfer.returned": { says: (o) => `A bank transfer of ${money(text(o.amount), text(o.currency))} came back.${because(o.failure_reason)}`, then: status("bank_transfer") },
  "banking_application.submitted": { does: () => "sent the application for banking.", then: status("banking_application"), step: "application" },
  "banking_application.incomplete": { says: () => "The bank asks for more on your application.", then: status("banking_application"), step: "application" },
  "banking_application.approved": { says: () => "The bank approved your application.", then: status("banking_application"), step: "application" },
  "banking_application.rejected": { says: (o) => `The bank refused your application.${because(o.rejection_reason)}`, then: status("banking_application"), step: "application" },
  "banking_profile.created": { does: () => "filled in the profile for banking." },

  ...prefixed("card", us),
  "card.pending": { buyer: true, does: (o) => `bought ${usCard(o)}${paidWith(o)}.`, then: status("card"), amount: out("charged_usd_amount"), step: "order" },
  "card.ready": { buyer: true, does: (o) => `bought ${usCard(o)}${paidWith(o)}.`, then: after("Ready"), amount: out("charged_usd_amount"), step: "order" },
  "card.failed": { buyer: true, does: (o) => `tried to buy ${usCard(o)}. The issuer refused, so the money is back on your balance.`, amount: comesIn("credited_usd_amount"), step: "order" },
  "card.expired": { says: (o) => `US card${ending(o)} expired.` },
  "card.refresh_requested": { does: (o) => `asked for the newest figures of US card${ending(o)}.`, quiet: true },
  "card.refreshed": { says: (o) => `US card${ending(o)} has ${usd(o.available_usd_amount)} left.`, quiet: true },
  "card.remainder_released": { says: (o) => `What was left on US card${ending(o)} is back on your balance.`, amount: changeOf("credited_usd_amount", "in") },

  "card_withdrawal.pending": { buyer: true, does: () => "asked to withdraw from the card balance.", says: () => "A withdrawal from the card balance has begun.", then: status("card_withdrawal"), amount: own("amount"), step: "withdrawal" },
  "card_withdrawal.queued": { buyer: true, does: () => "asked to withdraw from the card balance.", says: () => "A withdrawal from the card balance waits for an operator.", then: status("card_withdrawal"), amount: own("amount"), step: "withdrawal" },
  "card_withdrawal.claimed": { says: () => "An operator works on the withdrawal from your card balance.", then: status("card_withdrawal"), amount: own("amount"), step: "withdrawal" },
  "card_withdrawal.complete": { says: (o) => `${usd(o.amount)} of your card balance arrived at ${short(text(o.address))}.`, then: status("card_withdrawal"), amount: own("amount"), step: "withdrawal" },
  "card_withdrawal.rejected": { says: (o) => `An operator refused the withdrawal from your card balance.${because(o.failure_reason)}`, then: status("card_withdrawal"), step: "withdrawal" },
  "card_withdrawal.failed": { says: (o) => `The withdrawal from your card balance failed.${because(o.failure_reason)}`, then: status("card_withdrawal"), step: "withdrawal" },
  "card_withdrawal.hold_released": { says: () => "The hold on a withdrawal from your card balance was lifted.", quiet: true },

  "gift_card.processing": { buyer: true, does: (o) => `bought ${giftCard(o)}${paidWith(o)}.`, then: status("gift_card"), amount: out("charged_usd_amount"), step: "order" },
  "gift_card.completed": { buyer: true, does: (o) => `bought ${giftCard(o)}${paidWith(o)}.`, then: after("Delivered"), amount: out("charged_usd_amount"), step: "order" },
  "gift_card.failed": { buyer: true, does: (o) => `tried to buy ${giftCard(o)}. The seller refused, so the money is back on your balance.`, amount: comesIn("charged_usd_amount"), step: "order" },
  "gift_card.details_viewed": { does: (o) => `looked at the code of ${giftCard(o)}.` },

  "identity.in-review": { says: () => "Your identity is being checked.", then: status("identity"), step: "identity" },
  "identity.verified": { says: () => "Your identity is verified.", then: status("identity"), step: "identity" },
  "identity.rejected": { says: (o) => `Your identity could not be verified.${because(o.rejection_reason)}`, then: status("identity"), step: "identity" },

  ...prefixed("intl_order", intl),
  "intl_order.queued": openOrder,
  "intl_order.claimed": openOrder,
  "intl_order.overdue": openOrder,
  "intl_order.ready": { buyer: true, does: (o) => `ordered ${intlCard(o)}${paidWith(o)}.`, then: after("Ready"), amount: out("charged_usd_amount"), step: "order" },
  "intl_order.cancelled": { does: (o) => `cancelled the order of ${intlCard(o)}, so the money is back on your balance.`, says: (o) => `The order of ${intlCard(o)} was cancelled, so the money is back on your balance.`, amount: comesIn("credited_usd_amount"), step: "order" },
  "intl_order.rejected": { says: (o) => `An operator refused the order of ${intlCard(o)}, so the money is back on your balance.${because(o.rejection_reason)}`, amount: comesIn("credited_usd_amount"), step: "order" },
  "intl_order.expired": { says: (o) => `International card${ending(o)} expired.` },
  "intl_order.remainder_released": { says: (o) => `What was left on international card${ending(o)} is back on your balance.`, amount: changeOf("credited_usd_amount", "in") },
  "intl_order.request_ended": { says: (o) => `A request about international card${ending(o)} was refused by an operator.` },

  "issuer_link.requested": { does: () => "asked to link the card issuer.", says: () => "A link to the card issuer was asked for.", step: "link" },
  "issuer_link.linked": { says: () => "Your account at the card issuer is linked.", then: status("issuer_link"), step: "link" },
  "issuer_link.declined": { says: (o) => `The card issuer declined the link.${because(o.decline_reason)}`, then: () => ({ tone: "off", word: "Declined" }), step: "link" },
  "issuer_link.unlinked": { does: () => "ended the link to the card issuer.", says: () => "Your account at the card issuer is no longer linked.", step: "link" },

  "late_return.received": { says: (o) => `A payout of ${usd(o.amount)} came back late. A person decides what happens with it.`, then: status("late_return"), step: "return" },
  "late_return.credited": { says: (o) => `A payout of ${usd(o.amount)} that came back late was credited.`, then: status("late_return"), amount: comesIn("credited_amount"), step: "return" },
  "late_return.kept": { says: (o) => `A payout of ${usd(o.amount)} that came back late was not credited.`, then: status("late_return"), step: "return" },

  "payment.settled": { buyer: true, does: (o) => `paid for ${product(o)}.`, amount: out("amount"), then: status("payment"), quiet: true, step: "payment" },
  "payment.fulfilled": { says: (o) => `Purser took this payment for ${product(o)}.`, amount: out("amount"), then: status("payment"), quiet: true, step: "payment" },
  "payment.declined": { buyer: true, does: (o) => `tried to pay for ${product(o)}. The chain declined it, so nothing was taken.`, then: status("payment"), step: "payment" },
  "payment.refused": { buyer: true, does: (o) => `tried to pay for ${product(o)}. It was refused, so nothing was taken.`, then: status("payment"), step: "payment" },
  "payment.released": { buyer: true, does: (o) => `did not go on with ${product(o)}, so nothing was taken.`, then: status("payment"), step: "payment" },
  "payment.unknown": { buyer: true, does: (o) => `paid for ${product(o)}. We had no answer: it is neither paid nor refused until the chain says so.`, amount: out("amount"), then: status("payment"), step: "payment" },
  "payment.credited": { says: (o) => `A payment for ${product(o)} bought nothing, so it was credited to your balance.`, amount: comesIn("amount"), then: status("payment"), step: "payment" },
  "payment.resolved": { says: (o) => `An operator decided what happens with a payment for ${product(o)}.`, then: status("payment"), step: "payment" },
  "payment.reversed": { says: (o) => `The chain took back a payment for ${product(o)}.`, then: status("payment"), step: "payment" },

  "payment_recipient.created": { does: (o) => `saved the recipient “${text(o.display_name)}”.` },
  "payment_recipient.renamed": { does: (o) => `renamed a recipient to “${text(o.display_name)}”.` },
  "payment_recipient.archived": { does: (o) => `archived the recipient “${text(o.display_name)}”.` },
  "payment_recipient.unarchived": { does: (o) => `took the recipient “${text(o.display_name)}” out of the archive.` },
  "payment_recipient.deleted": { does: (o) => `deleted the recipient “${text(o.display_name)}”.` },
  "payment_recipient.paid": { says: (o) => `“${text(o.display_name)}” was paid.`, quiet: true },
  "payment_recipient.payment_returned": { says: (o) => `A payment to “${text(o.display_name)}” came back.`, quiet: true },

  "payout.awaiting-details": { buyer: true, does: (o) => `set up a payout of ${payout(o)}${paidWith(o)}.`, then: status("payout"), amount: out("charged_usd_amount"), step: "payout" },
  "payout.queued": { buyer: true, does: (o) => `paid out ${payout(o)}${paidWith(o)}.`, then: status("payout"), amount: out("charged_usd_amount"), step: "payout" },
  "payout.in-process": { buyer: true, does: (o) => `paid out ${payout(o)}${paidWith(o)}.`, then: status("payout"), amount: out("charged_usd_amount"), step: "payout" },
  "payout.complete": { buyer: true, does: (o) => `paid out ${payout(o)}${paidWith(o)}.`, then: after("Paid out"), amount: out("charged_usd_amount"), step: "payout" },
  "payout.failed": { buyer: true, does: (o) => `tried to pay out ${payout(o)}. It was refused, so the money is back on your balance.`, amount: comesIn("credited_amount"), step: "payout" },
  "payout.returned": { says: (o) => `A payout of ${payout(o)} came back, so the money is on your balance.`, then: status("payout"), amount: comesIn("credited_amount"), step: "payout" },
  "payout.expired": { says: (o) => `Nobody claimed the payout of ${payout(o)}, so the money is back on your balance.`, then: status("payout"), amount: comesIn("credited_amount"), step: "payout" },
  "payout.cancelled": { says: (o) => `The payout of ${payout(o)} was stopped, so the money is back on your balance.`, then: status("payout"), amount: comesIn("credited_amount"), step: "payout" },

  "refund.approved": { says: (o) => `A person at Purser approved a refund of ${usd(o.amount)}${refundOf(o)}.`, then: status("refund"), step: "refund" },
  "refund.credited": { says: (o) => `A refund${refundOf(o)} was credited to your balance.`, then: status("refund"), amount: comesIn("amount"), step: "refund" },

  ...prefixed("reloadable_card", reloadable),
  "reloadable_card.creating": { buyer: true, does: (o) => `asked for a reloadable card with ${usd(o.usd_amount)}.`, says: (o) => `A reloadable card with ${usd(o.usd_amount)} is being made.`, then: status("reloadable_card"), step: "order" },
  "reloadable_card.open": { buyer: true, does: (o) => `opened reloadable card${ending(o)} with ${usd(o.usd_amount)}.`, says: (o) => `Reloadable card${ending(o)} with ${usd(o.usd_amount)} is open.`, then: status("reloadable_card"), step: "order" },
  "reloadable_card.failed": { buyer: true, does: (o) => `asked for a reloadable card. The issuer refused.${because(o.failure_reason)}`, says: (o) => `The issuer refused a reloadable card, so nothing was taken.${because(o.failure_reason)}`, then: status("reloadable_card"), step: "order" },

  "session.agent_announced": { says: (o) => `${agentName(o)} signed in.`, quiet: true },
  "session.confirmed": { does: () => "confirmed with a passkey that it is you.", says: () => "It was confirmed with a passkey that it is you.", quiet: true },
  "session.revoked": {
    does: (o) => `ended a session of ${text(o.agent && (o.agent as Values).name) || "a program or browser"}.`,
    says: (o) => (text(o.reason) === "refresh_token_reused" ? `A session of ${agentName(o)} was ended, because its token was used twice.` : `A session of ${agentName(o)} ended.`),
    then: (o) => (text(o.reason) === "refresh_token_reused" ? { tone: "bad", word: "Look at it" } : null),
  },

  "top_up.paid": { buyer: true, does: (o) => `topped up your card balance from ${LEG[text(o.payment_network)] ?? "a chain"}${paidWith(o)}.`, then: status("top_up"), amount: own("funded_usd"), step: "top-up" },
  "top_up.bridging": { buyer: true, does: (o) => `topped up your card balance from ${LEG[text(o.payment_network)] ?? "a chain"}${paidWith(o)}.`, then: status("top_up"), amount: own("funded_usd"), step: "top-up" },
  "top_up.delivered": { buyer: true, does: (o) => `topped up your card balance from ${LEG[text(o.payment_network)] ?? "a chain"}${paidWith(o)}.`, then: status("top_up"), amount: own("funded_usd"), step: "top-up" },
  "top_up.credited": { buyer: true, does: (o) => `topped up your card balance from ${LEG[text(o.payment_network)] ?? "a chain"}${paidWith(o)}.`, then: after("Credited"), amount: own("funded_usd"), step: "top-up" },
  "top_up.failed": { buyer: true, does: () => "tried to top up your card balance. It could not be delivered, so the money is on your balance.", then: status("top_up"), amount: comesIn("funded_usd"), step: "top-up" },

  "wallet_payment.signed": { buyer: true, does: (o) => `signed a payment to ${paidTo(o)}.`, then: status("wallet_payment"), amount: out("amount"), quiet: ofPurser, step: "payment" },
  "wallet_payment.pending": { buyer: true, does: (o) => `sends ${usd(o.amount)} to ${paidTo(o)}.`, then: status("wallet_payment"), amount: out("amount"), quiet: ofPurser, step: "payment" },
  "wallet_payment.sent": { buyer: true, does: (o) => `sent ${usd(o.amount)} to ${paidTo(o)} on ${network(o.network)}.`, then: status("wallet_payment"), amount: out("amount"), quiet: ofPurser, step: "payment" },
  "wallet_payment.settled": {
    buyer: true,
    does: (o) => (text(o.kind) === "x402" ? `made a paid call to ${paidTo(o)}${quoted(o.note)}.` : `sent ${usd(o.amount)} to ${paidTo(o)} on ${network(o.network)}${quoted(o.note)}.`),
    amount: out("amount"),
    quiet: ofPurser,
    step: "payment",
  },
  "wallet_payment.unsettled": { buyer: true, does: (o) => `called ${paidTo(o)}, which did not take the payment.`, then: status("wallet_payment"), step: "payment" },
  "wallet_payment.failed": { buyer: true, does: (o) => `tried to pay ${paidTo(o)}. It failed, so nothing was taken.${because(o.failure_reason)}`, then: status("wallet_payment"), step: "payment" },

  "webhook.registered": { does: (o) => `registered a webhook at ${host(o.url)}.` },
  "webhook.secret_rotated": { does: (o) => `made a new secret for the webhook at ${host(o.url)}.` },
  "webhook.enabled": { does: (o) => `turned the webhook at ${host(o.url)} on again.`, says: (o) => `The webhook at ${host(o.url)} is on again.` },
  "webhook.disabled": { says: (o) => `The webhook at ${host(o.url)} was turned off, because it did not answer.`, then: () => ({ tone: "bad", word: "Off" }) },
  "webhook.failing": { says: (o) => `The webhook at ${host(o.url)} has not accepted an event for a day.`, then: () => ({ tone: "wait", word: "Failing" }) },
  "webhook.recovered": { says: (o) => `The webhook at ${host(o.url)} answers again.` },
  "webhook.deleted": { does: (o) => `removed the webhook at ${host(o.url)}.` },
  "webhook.redelivery_requested": { does: (o) => `asked to send an event to ${host(o.url)} again.`, quiet: true },
  "webhook.test": { does: (o) => `sent a test to ${host(o.url)}.`, quiet: true },

  "withdrawal.pending": { buyer: true, does: (o) => `started a withdrawal to ${short(text(o.address))}.`, says: (o) => `A withdrawal to ${short(text(o.address))} has begun.`, then: status("withdrawal"), amount: out("amount"), step: "withdrawal" },
  "withdrawal.sent": { buyer: true, does: (o) => `withdrew to ${short(text(o.address))} on ${network(o.network)}.`, says: (o) => `A withdrawal to ${short(text(o.address))} left on ${network(o.network)}.`, then: status("withdrawal"), amount: out("amount"), step: "withdrawal" },
  "withdrawal.complete": { buyer: true, does: (o) => `withdrew to ${short(text(o.address))} on ${network(o.network)}.`, says: (o) => `A withdrawal to ${short(text(o.address))} on ${network(o.network)} arrived.`, then: status("withdrawal"), amount: out("amount"), step: "withdrawal" },
  "withdrawal.failed": { says: (o) => `A withdrawal of ${usd(o.amount)} failed, so the money is available again.${because(o.failure_reason)}`, then: status("withdrawal"), step: "withdrawal" },

  "approval.requested": { does: (o) => `asks you to let it ${boughtBy(o) ?? `${spends(o)} ${usd(o.amount)} to ${paidTo(o)}`}${quoted(o.note)}.`, then: status("approval"), step: "approval" },
  "approval.approved": {
    does: (o) => (boughtBy(o) ? `let ${asker(o)} ${boughtBy(o)}.` : `approved a ${spend(o)} of ${usd(o.amount)} to ${paidTo(o)}.`),
    says: (o) => (boughtBy(o) ? `${upper(asker(o))} may ${boughtBy(o)}.` : `A ${spend(o)} of ${usd(o.amount)} to ${paidTo(o)} was approved.`),
    then: status("approval"),
    step: "approval",
  },
  "approval.declined": {
    does: (o) => (boughtBy(o) ? `did not let ${asker(o)} ${boughtBy(o)}.` : `declined a ${spend(o)} of ${usd(o.amount)} to ${paidTo(o)}.`),
    says: (o) => (boughtBy(o) ? `${upper(asker(o))} may not ${boughtBy(o)}.` : `A ${spend(o)} of ${usd(o.amount)} to ${paidTo(o)} was declined.`),
    then: status("approval"),
    step: "approval",
  },
  "approval.expired": {
    says: (o, event) =>
      text(event.previous?.status) === "approved"
        ? `You let ${asker(o)} ${boughtBy(o) ?? `${spends(o)} ${usd(o.amount)} to ${paidTo(o)}`}, and it did not do so in time.`
        : `You did not answer whether ${asker(o)} may ${boughtBy(o) ?? `${spends(o)} ${usd(o.amount)} to ${paidTo(o)}`}, so it did not.`,
    then: status("approval"),
    step: "approval",
  },
  "agent_wallet.spend_refused": { does: (o) => `was stopped: ${refusedSpend(o)}.`, then: () => ({ tone: "wait", word: "Over a limit" }) },
  "api_key.limits_updated": { does: (o) => `changed the limits of the key${named(o.name)}.` },
  "approval.used": { buyer: true, does: (o) => (boughtBy(o) ? `did what you approved: ${boughtBy(o)}.` : `${spent(o)} ${usd(o.amount)} to ${paidTo(o)}, as you approved.`), then: status("approval"), step: "approval" },
  "account.agents_stopped": { does: () => "stopped your agents.", says: () => "Your agents were stopped.", then: () => ({ tone: "bad", word: "Stopped" }) },
  "account.agents_resumed": { does: () => "let your agents act again.", says: () => "Your agents may act again.", then: () => ({ tone: "done", word: "Resumed" }) },
  "passkey.added": { does: (o) => `added the passkey${named(o.name)}.` },
  "passkey.renamed": { does: (o) => `renamed a passkey${named(o.name)}.` },
  "passkey.removed": { does: (o) => `removed the passkey${named(o.name)}.` },
  "recovery.requested": { says: () => "Your wallet asked to recover this account. After 24 hours it can remove all passkeys, unless you cancel it." },
  "recovery.ready": { says: () => "The recovery of this account has waited for 24 hours. The wallet can now remove all passkeys." },
  "recovery.completed": { says: () => "Your wallet recovered this account. All passkeys from before are removed." },
  "recovery.cancelled": { says: (o) => CANCELLED_BY[text(o.cancelled_by)] ?? "You cancelled the recovery of this account." },
  "recovery.expired": { says: () => "The recovery of this account was not completed in time. Nothing changed." },
} satisfies Record<string, Row>;

// Every type of docs/asyncapi.json has its row: if one is missing, its name is in the error of this line.
const complete: [Exclude<EventType, keyof typeof ROWS>] extends [never] ? true : Exclude<EventType, keyof typeof ROWS> = true;
void complete;

function prefixed<Resource extends string, Change extends string>(resource: Resource, rows: Record<Change, Row>): Record<`${Resource}.${Change}`, Row> {
  return Object.fromEntries(Object.entries(rows).map(([name, row]) => [`${resource}.${name}`, row])) as Record<`${Resource}.${Change}`, Row>;
}

const PAGES: [field: string, path: string][] = [
  ["top_up_id", "/dashboard/transfers/"],
  ["payout_id", "/dashboard/transfers/"],
  ["card_id", "/dashboard/cards/"],
];

/** The page of the thing that an object is, or null. */
export function pageOf(type: string, object: Values): string | null {
  for (const [field, path] of PAGES) if (text(object[field])) return path + encodeURIComponent(text(object[field]));
  if (/^(withdrawal|card_withdrawal)\./.test(type) && text(object.id)) return `/dashboard/transfers/${encodeURIComponent(text(object.id))}`;
  if (/^(payment|refund)\./.test(type) && text(object.payment_id)) return `/dashboard/payments/${encodeURIComponent(text(object.payment_id))}`;
  if (/^(webhook|passkey|recovery)\./.test(type)) return "/dashboard/settings";
  if (/^(api_key|agent_wallet|session|approval)\./.test(type)) return "/dashboard/agents";
  return null;
}

const IDS = [
  "top_up_id", "late_return_id", "refund_id", "payout_id", "wallet_payment_id", "card_id", "payment_id", "transaction_id", "application_id", "account_id", "destination_id", "recipient_id",
  "approval_id", "api_key_id", "passkey_id", "session_id", "webhook_id", "id",
];

/** The id of the thing that an event is about, or null. */
export function thingOf(object: Values): string | null {
  for (const field of IDS) if (text(object[field])) return text(object[field]);
  return null;
}

/** Of each kind of thing, the provider that can change it. */
const PROVIDERS: Record<string, string> = {
  card: "The card issuer", intl_order: "The card issuer", reloadable_card: "The card issuer", issuer_link: "The card issuer", top_up: "The card issuer", card_withdrawal: "The card issuer",
  gift_card: "The seller of the gift card", identity: "The identity check", bank_account: "The bank", bank_transfer: "The bank", banking_application: "The bank",
};

/** Whether somebody of the account caused an event: a person at a page, an agent, a payment. */
const isCaller = (actor: StreamEvent["actor"]): boolean => !actor || ["wallet", "payment", "api_key", "passkey"].includes(actor.type);

/** Who caused an event, as the subject of a sentence: “You” at a page, the name of the agent's key, “The card issuer”. */
export function actorOf(event: StreamEvent): string | null {
  const { actor } = event;
  if (!actor) return null;
  if (actor.in_browser) return "You";
  switch (actor.type) {
    case "operator":
      return "A person at Purser";
    case "provider":
      return PROVIDERS[event.type.split(".")[0] ?? ""] ?? (event.data.object.product === "app_payment" ? "The payment app" : "The bank");
    case "merchant":
      return "A shop";
    case "recipient":
      return "The recipient";
    case "chain":
      return "The chain";
    case "service":
      return "Purser";
    default:
      return actor.api_key_name || "Your agent";
  }
}

/** “by the card issuer”, “by you”, “by Courier”: below a line that says only what happened. */
export const byWords = (who: string): string => `by ${who.replace(/^(You|Your|The|A)\b/, (word) => word.toLowerCase())}`;

/** The same, for a sentence that names nobody of the account. */
function by(event: StreamEvent): string {
  return (isCaller(event.actor) ? null : actorOf(event)) ?? "Purser";
}

const rows: Record<string, Row> = ROWS;

/** A shortened address stays in one line. */
const unbroken = (address: string): string => address.replace("…", "\u2060…\u2060");

/** Who began each thing, and with which wallet each was paid: what the events of one list say of each other. */
export interface Begun {
  /** By the thing's id. */
  who: Map<string, string>;
  /** By the payment's id. */
  paidWith: Map<string, string>;
  /** What each payment bought, by the payment's id. */
  bought: Map<string, string>;
  /** Who asked for what a card's issuer then did, by the number of the event that says that it was done. */
  asked: Map<number, string>;
  /** Charges of cards, as their transactions say. */
  /** The charge of each event of one, by the event's number. */
  charged: ReadonlyMap<number, Charge>;
  /** Names of those who were paid, by recipient and destination. */
  names: ReadonlyMap<string, string>;
}

export interface Charge {
  transaction_id: string;
  card_id: string;
  merchant: string;
  usd_amount: string | number;
  status: string;
  at: string;
}

const ASKED: Record<string, string> = { paused: "pause", resumed: "resume", closed: "close" };

/** Who asked for each pause, resumption and closing. Read from the oldest on, so that each has its own request. */
function askedBy(events: readonly StreamEvent[]): Map<number, string> {
  const open = new Map<string, string>();
  const asked = new Map<number, string>();
  for (const event of events.toReversed()) {
    const thing = thingOf(event.data.object) ?? "";
    const change = event.type.slice(event.type.indexOf(".") + 1);
    const request = /^(pause|resume|close)_requested$/.exec(change)?.[1];
    if (request && isCaller(event.actor)) open.set(`${thing} ${request}`, actorOf(event) ?? "Your agent");
    // An operator did not do it.
    if (change === "request_ended") for (const what of Object.values(ASKED)) open.delete(`${thing} ${what}`);
    const key = `${thing} ${ASKED[change] ?? ""}`;
    const who = open.get(key);
    if (who) asked.set(event.seq, who);
    if (who) open.delete(key);
  }
  return asked;
}

/** Reads the events of a list, newest first. `ours` are the addresses of the agents' wallet. */
export function begunBy(events: readonly StreamEvent[], ours: readonly string[] = [], charges: readonly Charge[] = [], names: ReadonlyMap<string, string> = new Map()): Begun {
  const who = new Map<string, string>();
  const paidWith = new Map<string, string>();
  const bought = new Map<string, string>();
  const outside = new Set<string>();
  const byTransaction = new Map<string, string>();
  const payments: { id: string; transaction: string }[] = [];
  for (const event of events) {
    const object = event.data.object;
    const thing = thingOf(object);
    const row = rows[event.type];
    if (thing && (row?.buyer || event.type === "approval.requested") && event.actor && isCaller(event.actor) && event.actor.type !== "payment") who.set(thing, actorOf(event) ?? "Your agent");
    const kind = event.type.split(".")[0] ?? "";
    const paidFor = text(object.payment_id);
    // The payment itself knows only the product.
    if (paidFor && BOUGHT[kind] && (kind !== "payment" || !bought.has(paidFor))) bought.set(paidFor, BOUGHT[kind](object));
    if (event.type.startsWith("payment.") && text(object.payer)) {
      const payer = text(object.payer);
      if (!ours.includes(payer)) outside.add(payer);
      paidWith.set(text(object.payment_id), ours.includes(payer) ? "the agents’ wallet" : `wallet ${unbroken(short(payer))}`);
      if (text(object.transaction)) payments.push({ id: text(object.payment_id), transaction: text(object.transaction) });
    }
    if (event.type.startsWith("wallet_payment.") && thing && text(object.tx_hash)) byTransaction.set(text(object.tx_hash), thing);
  }
  // A purchase from the agents' wallet was begun by whoever made its payment.
  for (const { id, transaction } of payments) {
    const name = who.get(byTransaction.get(transaction) ?? "");
    if (name) who.set(id, name);
  }
  // The only wallet of an account needs no name.
  if (outside.size === 1) for (const [id, wallet] of paidWith) if (wallet.startsWith("wallet ")) paidWith.delete(id);
  return { who, paidWith, bought, asked: askedBy(events), charged: chargesOf(events, charges), names };
}

/** What a transaction is by now, if such an event is about it. */
const CHARGE_STATES: Record<string, readonly string[]> = {
  charged: ["pending", "settled", "refunded"],
  charge_settled: ["settled", "refunded"],
  charge_refunded: ["refunded"],
  charge_declined: ["declined"],
};

/**
 * The transactions that the events of charges are about, which name none. Read from the newest on, so that each event has
 * its own: the one of the amount that left the card with it, or else the last one before it.
 */
function chargesOf(events: readonly StreamEvent[], charges: readonly Charge[]): Map<number, Charge> {
  const found = new Map<number, Charge>();
  const taken = new Set<string>();
  const newest = charges.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
  for (const event of events) {
    const kind = /\.(charged|charge_(?:settled|declined|refunded))$/.exec(event.type)?.[1] ?? "";
    const states = CHARGE_STATES[kind];
    if (!states) continue;
    const at = Date.parse(event.created_at);
    const moved = kind === "charge_declined" || kind === "charge_settled" ? null : change(event.data.object, event, "available_usd_amount");
    const key = (one: Charge): string => `${kind} ${one.transaction_id}`;
    const open = newest.filter((one) => one.card_id === event.data.object.card_id && Date.parse(one.at) <= at && states.includes(one.status) && !taken.has(key(one)));
    const charged = open.find((one) => moved !== null && units(moved) === units(one.usd_amount)) ?? open[0];
    if (!charged) continue;
    taken.add(key(charged));
    found.set(event.seq, charged);
  }
  return found;
}

/** The same event, with what other events say of its beginning, and what is known of its charge. */
export function withBeginning(event: StreamEvent, begun: Begun): StreamEvent {
  const charged = begun.charged.get(event.seq);
  if (charged) return { ...event, data: { object: { ...event.data.object, merchant: charged.merchant, charge_usd: String(charged.usd_amount) } } };
  const object = event.data.object;
  const payment = text(object.payment_id);
  const who = begun.who.get(thingOf(object) ?? "") ?? begun.who.get(payment);
  const paid = begun.paidWith.get(payment);
  const asked = begun.asked.get(event.seq);
  const payee = event.type.startsWith("payout.") ? (begun.names.get(text(object.destination_id)) ?? begun.names.get(text(object.recipient_id))) : undefined;
  const bought = event.type.startsWith("refund.") ? begun.bought.get(payment) : undefined;
  if (!who && !paid && !asked && !payee && !bought) return event;
  return { ...event, data: { object: { ...object, ...(bought && { bought }), ...(who && { begun_by: who }), ...(paid && { paid_with: paid }), ...(asked && { asked_by: asked }), ...(payee && { payee_name: payee }) } } };
}

/** What an event says. A type that this page does not know yet is shown by its name. */
export function sentence(event: StreamEvent): Said {
  const object = event.data.object;
  const row: Row = (Object.hasOwn(rows, event.type) && rows[event.type]) || { says: () => `${upper(event.type.replaceAll(/[._-]/g, " "))}.` };
  const amount = row.amount?.(object, event) ?? null;
  const then = row.then?.(object, event) ?? null;
  const thing = thingOf(object);
  const said = {
    then,
    amount: amount && { currency: "USD", ...amount },
    href: pageOf(event.type, object),
    // An account has one identity and one link to the issuer: they have no id.
    thing: row.step ? `${thing ?? event.type.split(".")[0]} ${row.step}` : `${event.seq}`,
    quiet: typeof row.quiet === "function" ? row.quiet(object) : row.quiet === true,
  };
  const caller = isCaller(event.actor);
  const known = text(object.asked_by) || (row.buyer ? text(object.begun_by) : "");
  if (row.does && (caller || known || !row.says)) {
    const who = known || (row.buyer && !caller ? null : actorOf(event));
    return { who: who || "Your agent", text: row.does(object, event), ...said };
  }
  return { who: null, text: row.says?.(object, event) ?? event.type, ...said };
}

/** A sentence as one text, for places without markup. */
export function sentenceText(event: StreamEvent): string {
  const said = sentence(event);
  return said.who ? `${said.who} ${said.text}` : said.text;
}
