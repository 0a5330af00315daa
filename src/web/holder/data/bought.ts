// What the lines of a statement are about: the product behind an id or a transaction, in words and with its page.

import { ApiFailure, api, money, productWords, withQuery } from "../../parts";
import type { ListedPayment } from "../../api/public";
import { type AnyCard, PRODUCT_WORDS, cardLabel, cardWorth, kindOf, readCard, readPayment } from "./cards";
import type { Line } from "./statement";
import { Takers } from "./takers";
import { type Transfer, named, ofPayout, ofTopUp, readTransfer } from "./transfers";

export interface Thing {
  /** “$45.00 US card”. */
  words: string;
  id: string | undefined;
  page: string | undefined;
  /** What became of it, by the API's word. */
  status: string | undefined;
}

function cardThing(card: AnyCard): Thing {
  const { amount, currency } = cardWorth(card);
  const label = cardLabel(card);
  const kind = { us: "US card", intl: "international card", reloadable: "reloadable card", gift: "gift card" }[kindOf(card)];
  const name = card.card_type === "Gift Card" ? `${productWords(card.product_id)} ${kind}` : kind;
  const worth = kindOf(card) === "reloadable" ? "" : `${money(amount, currency)} `;
  const mark = label ? ` “${label}”` : "last4" in card && card.last4 ? ` •••• ${card.last4}` : "";
  return { words: `${worth}${name}${mark}`, id: card.card_id, page: `/dashboard/cards/${card.card_id}`, status: card.status };
}

function transferThing(transfer: Transfer): Thing {
  const name = named(transfer, undefined);
  return { words: `${money(transfer.amount, transfer.currency)} ${name.charAt(0).toLowerCase()}${name.slice(1)}`, id: transfer.id, page: `/dashboard/transfers/${transfer.id}`, status: transfer.status };
}

/** What a payment bought. Without a product, what it was to buy, with the page of the payment. */
export function thingOf(payment: ListedPayment): Thing {
  const card = payment.card ?? payment.intl_card_order ?? payment.gift_card;
  if (card) return cardThing(card);
  if (payment.payout) return transferThing(ofPayout(payment.payout));
  if (payment.top_up) return transferThing(ofTopUp(payment.top_up));
  return { words: PRODUCT_WORDS[payment.product] ?? payment.product, id: undefined, page: `/dashboard/payments/${payment.payment_id}`, status: undefined };
}

/** What a line is found by: a transaction, or the id of a product or a payment. Deposits and withdrawals say it themselves. */
function keyOf({ cause, wallet_payment: paid }: Line): string | undefined {
  if (paid) return paid.host === "route" ? paid.tx_hash?.toLowerCase() : undefined;
  // A refund has the number of its payment, and a late return that of its payout.
  const id = cause.replace(/^rf_/, "pay_").replace(/^lr_/, "po_");
  return /^(card|po|top|pay)_/.test(id) ? id : undefined;
}

async function readThing(key: string): Promise<Thing | undefined> {
  if (key.startsWith("card_")) return cardThing(await readCard(key));
  if (/^(po|top)_/.test(key)) return transferThing(await readTransfer(key));
  if (!key.startsWith("pay_")) return undefined;
  const payment = await readPayment(key);
  return payment ? { words: PRODUCT_WORDS[payment.product] ?? payment.product, id: payment.product_id ?? undefined, page: `/dashboard/payments/${key}`, status: undefined } : undefined;
}

/** Asks again after a pause, if the service asks for one after many requests. */
export async function patiently<T>(read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== 429) throw error;
      await new Promise((go) => setTimeout(go, 5_000));
    }
  }
}

export interface PaymentPage {
  payments: ListedPayment[];
  has_more: boolean;
}

export const readPayments = (after: string | undefined): Promise<PaymentPage> => api.get<PaymentPage>(withQuery("/list-payments", { limit: 100, starting_after: after }));

/** Requests for the lines of one page. Older things than these reach are read one by one, or stay without a name. */
const MAX_READS = 20;
const MAX_BY_ID = 25;
/** A payment is claimed before its line is written. */
const BEFORE_LINE_MS = 3_600_000;

/** The things of lines, from the list of payments. It remembers how far it has read. */
export class Bought {
  readonly #things = new Map<string, Thing>();
  readonly #takers = new Takers();
  readonly #isFile: boolean;
  #after: string | undefined;
  /** Creation time of the oldest payment that was read; null before the first. */
  #reached: string | null = null;
  #ended = false;

  /** Of a file all lines are named, however long it takes. */
  constructor({ isFile = false } = {}) {
    this.#isFile = isFile;
  }

  of(line: Line): Thing | undefined {
    const key = keyOf(line);
    return key === undefined ? undefined : this.#things.get(key);
  }

  /** Who took a line's amount from the balance. */
  by(line: Line): string | undefined {
    return this.#takers.of(line);
  }

  #patiently<T>(read: () => Promise<T>): Promise<T> {
    return this.#isFile ? patiently(read) : read();
  }

  async #read(after: string | undefined): Promise<PaymentPage> {
    const page = await this.#patiently(() => readPayments(after));
    for (const payment of page.payments) {
      const thing = thingOf(payment);
      for (const key of [payment.transaction?.toLowerCase(), payment.payment_id, payment.product_id]) if (key) this.#things.set(key, thing);
    }
    const last = page.payments.at(-1);
    if (after === this.#after) {
      this.#after = last?.payment_id ?? after;
      this.#reached = last?.created_at ?? this.#reached;
      this.#ended = !page.has_more || last === undefined;
    }
    return page;
  }

  /** Reads the things of these lines. Those that can't be read have none. */
  async find(lines: Line[]): Promise<void> {
    await this.#takers.find(lines, (read) => this.#patiently(read)).catch(() => undefined);
    const unknown = () => lines.filter((line) => keyOf(line) !== undefined && this.of(line) === undefined);
    const oldest = Math.min(...unknown().map((line) => Date.parse(line.created_at)));
    if (oldest === Infinity) return;
    try {
      // The newest are read again: there may be more since.
      await this.#read(undefined);
      const since = oldest - BEFORE_LINE_MS;
      for (let reads = 1; (this.#isFile || reads < MAX_READS) && !this.#ended && unknown().length > 0 && Date.parse(this.#reached ?? "") >= since; reads += 1) await this.#read(this.#after);
      const keys = [...new Set(unknown().map(keyOf))].filter((key) => key !== undefined && /^(card|po|top|pay)_/.test(key)) as string[];
      const one = async (key: string) => {
        const thing = await this.#patiently(() => readThing(key));
        if (thing) this.#things.set(key, thing);
      };
      // In a file one after the other, so that it takes long rather than all of the session's requests.
      if (this.#isFile) for (const key of keys) await one(key).catch(() => undefined);
      else await Promise.allSettled(keys.slice(0, MAX_BY_ID).map(one));
    } catch {
      // The lines say what they know without them.
    }
  }
}
