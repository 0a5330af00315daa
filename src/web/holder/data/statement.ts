// The statements of the balance and of the agents’ wallet: every change by period, with sums and as a file.

import { ApiFailure, type StreamEvent, actorOf, api, compare, decimal, failure, less, money, short, sum, thingOf, units, withQuery, present } from "../../parts";
import type { ExactDecimal, GetAgentWalletResult, Payment, StatementEntry } from "../../api/public";
import { OWN, merchantName } from "../approvals";
import { chainName } from "../chain";
import type { Slice } from "./load";

/** A line of either statement. Only one of the agents’ wallet says what was paid, by which key, and what it bought here. */
export type Line = StatementEntry & {
  bought?: Payment;
  /** Of the balance: who took it. */
  by?: string;
};

interface Page {
  entries: Line[];
  has_more: boolean;
}

/** A span of time of a statement: from its beginning to before its end, as the API writes times. */
export interface Period {
  /** The statement of the balance without it. */
  of?: "agent_wallet";
  from?: string;
  until?: string;
}

/** What a line does to the balance. Holds change only what is available. */
export function effectOf(line: Line): bigint {
  const amount = units(line.amount) ?? 0n;
  switch (line.type) {
    case "credited":
      return amount;
    case "debited":
    case "withdrawn":
    case "reversed":
      return -amount;
    default:
      return 0n;
  }
}

export const effectText = (line: Line): string => decimal(effectOf(line));

export type Show = "all" | "in" | "out" | "held";

const SHOWN: Record<Show, (line: Line) => boolean> = {
  all: () => true,
  in: (line) => effectOf(line) > 0n,
  out: (line) => effectOf(line) < 0n,
  held: (line) => ["held", "held_unfinal", "released"].includes(line.type),
};

/** The payments of the account by their transactions, read from the newest on as far as they are wanted. */
class Purchases {
  private readonly found = new Map<string, Payment>();
  private after: string | undefined;
  private oldest = Infinity;
  private isAtEnd = false;

  /** Reads on until all payments since this moment are there. */
  private async readTo(moment: number): Promise<void> {
    while (!this.isAtEnd && this.oldest > moment) {
      const page = await api.get<{ payments: Payment[]; has_more: boolean }>(withQuery("/list-payments", { limit: 100, starting_after: this.after }));
      for (const payment of page.payments) if (payment.transaction) this.found.set(payment.transaction, payment);
      const last = page.payments.at(-1);
      this.after = last?.payment_id;
      this.oldest = last ? Date.parse(last.created_at) : this.oldest;
      this.isAtEnd = !page.has_more || !last;
    }
  }

  /** Adds to lines of purchases here what they bought. */
  async nameIn(lines: Line[]): Promise<void> {
    const own = lines.filter((line) => line.wallet_payment?.host === OWN);
    if (own.length === 0) return;
    await this.readTo(Math.min(...own.map((line) => Date.parse(line.wallet_payment?.created_at ?? ""))));
    for (const line of own) {
      const bought = this.found.get(line.wallet_payment?.tx_hash ?? "");
      if (bought) line.bought = bought;
    }
  }
}

/** What takes from the balance. */
const TAKEN = ["withdrawal.pending", "payout.queued", "bank_transfer.pending"];
/** An event and its line are written at once, but each with its own time. */
const BESIDE_MS = 60_000;

/** Who took from the balance, by the id of the withdrawal, payout or transfer: as far back as the service keeps events. */
class Takers {
  private readonly found = new Map<string, string>();
  private before: number | undefined;
  private oldest = Infinity;
  private isAtEnd = false;

  private async readTo(moment: number): Promise<void> {
    while (!this.isAtEnd && this.oldest > moment) {
      const page = await api.get<{ events: StreamEvent[]; next_before?: number | null }>(withQuery("/events", { order: "desc", limit: 100, types: TAKEN.join(","), before: this.before }));
      for (const event of page.events) {
        const id = thingOf(event.data.object);
        const who = actorOf(event);
        if (id && who) this.found.set(id, who);
      }
      const last = page.events.at(-1);
      this.before = page.next_before ?? undefined;
      this.oldest = last ? Date.parse(last.created_at) : this.oldest;
      this.isAtEnd = this.before === undefined;
    }
  }

  async nameIn(lines: Line[]): Promise<void> {
    const taken = lines.filter((line) => /^(wd|po|btr)_/.test(line.cause) && line.type !== "credited" && line.type !== "released");
    if (taken.length === 0) return;
    await this.readTo(Math.min(...taken.map((line) => Date.parse(line.created_at))) - BESIDE_MS);
    for (const line of taken) {
      const who = this.found.get(line.cause);
      if (who) line.by = who;
    }
  }
}

/** What a line does not say itself. One for all pages of a file, so that nothing is read twice. */
const namesOf = (period: Period): Purchases | Takers => (period.of === undefined ? new Takers() : new Purchases());

async function read(period: Period, order: "asc" | "desc", limit: number, after?: string, names = namesOf(period)): Promise<Page> {
  const page = await api.get<Page>(withQuery("/get-account-statement", { order, ...period, limit, starting_after: after }));
  try {
    await names.nameIn(page.entries);
  } catch (error) {
    // Without it the lines say less. A file waits, and asks again.
    if (failure(error).status === 429) throw error;
  }
  return page;
}

/** What the agents’ wallet has received that its statement does not list yet. Null if nothing, or if a chain does not answer. */
export async function readNotListed(listed: ExactDecimal): Promise<string | null> {
  try {
    const { balances } = await api.call<GetAgentWalletResult>("getAgentWallet", {});
    const more = less(sum(balances.base.balance, balances.solana.balance), listed);
    return compare(more, 0) > 0 ? more : null;
  } catch {
    return null;
  }
}

/** Reads for one page, when a filter leaves few lines. */
const MAX_READS = 10;

/** The next lines of a period, the newest first. */
export async function statementSlice(period: Period, show: Show, after: string | undefined, limit: number): Promise<Slice<Line, string>> {
  const rows: Line[] = [];
  let from = after;
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const page = await read(period, "desc", show === "all" ? limit : 100, from);
    for (const line of page.entries) {
      if (rows.length === limit) return { rows, next: from };
      from = line.entry_id;
      if (SHOWN[show](line)) rows.push(line);
    }
    if (!page.has_more) return { rows, next: undefined };
    if (rows.length === limit) break;
  }
  return { rows, next: from };
}

/** Lines that are printed at most: about sixty pages. */
const MAX_PRINTED = 2_000;

/** All lines of a period for paper, the newest first, and whether there are more. */
export async function readForPaper(period: Period, show: Show): Promise<Slice<Line, string>> {
  const rows: Line[] = [];
  let after: string | undefined;
  do {
    const page = await statementSlice(period, show, after, 100);
    rows.push(...page.rows);
    after = page.next;
  } while (after !== undefined && rows.length < MAX_PRINTED);
  return { rows, next: after };
}

/** Where a period begins and ends, and what came in and went out. The service knows them without reading the lines. */
export interface Sums {
  opening: ExactDecimal;
  credited: ExactDecimal;
  debited: ExactDecimal;
  balance: ExactDecimal;
  held: ExactDecimal;
  available: ExactDecimal;
}

export const readSums = (period: Period): Promise<Sums> => api.get<Sums>(withQuery("/account/statement-sums", { ...period }));

const CAUSES: Record<string, { thing: string; page?: (id: string) => string }> = {
  card: { thing: "Card", page: (id) => `/dashboard/cards/${id}` },
  po: { thing: "Payout", page: (id) => `/dashboard/transfers/${id}` },
  wd: { thing: "Withdrawal", page: (id) => `/dashboard/transfers/${id}` },
  top: { thing: "Top-up", page: (id) => `/dashboard/transfers/${id}` },
  btr: { thing: "Bank transfer", page: (id) => `/dashboard/transfers/${id}` },
  pay: { thing: "Payment", page: (id) => `/dashboard/payments/${id}` },
  dep: { thing: "Deposit" },
  // A refund has the number of its payment, and a late return that of its payout.
  rf: { thing: "Refund", page: (id) => `/dashboard/payments/pay_${id.slice(3)}` },
  lr: { thing: "Late return", page: (id) => `/dashboard/transfers/po_${id.slice(3)}` },
  otx: { thing: "Transfer" },
};

/** What a payment bought, by the API's word. */
export const PRODUCT_WORDS: Record<string, string> = {
  usa_prepaid_card: "US card", intl_prepaid_card: "International card", gift_card: "Gift card", push_to_card: "Payout to a debit card", bank_payment: "Payout to a bank account", app_payment: "Payout to a payment app", card_balance: "Top-up of the card balance",
};

const prefixOf = (line: Line): string => line.cause.split("_")[0] ?? "";

/** The page of what caused a line. */
export const causePage = (line: Line): string | undefined => {
  const { bought } = line;
  if (bought) return CAUSES[bought.product_id?.split("_")[0] ?? ""]?.page?.(bought.product_id ?? "") ?? `/dashboard/payments/${bought.payment_id}`;
  return CAUSES[prefixOf(line)]?.page?.(line.cause);
};

/** The statement of the day of a moment, with the lines of one thing marked. */
export function dayLink(at: string, cause: string): string {
  const date = new Date(at);
  const key = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `/dashboard/statement?from=${key}&to=${key}&of=${encodeURIComponent(cause)}`;
}

type Shorten = (address: string) => string;

/** Who was paid, in words. */
function payeeOf({ wallet_payment: paid }: Line, shorten: Shorten): string {
  if (!paid) return "";
  return paid.host ? merchantName(paid.host) : shorten(paid.pay_to);
}

/** A line of the agents’ wallet in words. The cause of all others than payments is the address. */
function walletWords(line: Line, shorten: Shorten): string {
  if (line.bought) return PRODUCT_WORDS[line.bought.product] ?? "Purchase here";
  if (line.type === "debited") return line.wallet_payment?.kind === "transfer" ? `Transfer to ${payeeOf(line, shorten)}` : `Paid to ${payeeOf(line, shorten) || "a merchant"}`;
  const chain = chainName(line.cause.startsWith("0x") ? "base" : "solana");
  return line.type === "credited" ? `Received on ${chain}` : `Correction: less is on ${chain}`;
}

/** A line in words. */
export function lineWords(line: Line, shorten: Shorten = short): string {
  if (line.cause.startsWith("wpay_") || !line.cause.includes("_")) return walletWords(line, shorten);
  const prefix = prefixOf(line);
  switch (`${line.type} ${prefix}`) {
    case "credited card":
      return "Money back from a card";
    case "credited po":
      return "Money back from a payout";
    case "credited top":
      return "Top-up that could not be delivered";
    case "credited pay":
      return "Payment without a product";
    case "credited rf":
      return "Refund by Purser";
    case "credited dep":
      return "Deposit";
    case "credited btr":
      return "Deposit from your bank";
    case "credited lr":
      return "Payout that came back late";
    case "held wd":
      return "Withdrawal, held";
    case "withdrawn wd":
      return "Withdrawal";
    case "released wd":
      return "Withdrawal that was not sent, released";
    case "debited po":
      return "Bank payment";
    case "debited btr":
      return "Transfer to your bank";
    case "held_unfinal pay":
      return "Credit, held until its payment is final";
    case "released pay":
      return "Credit, its payment is final";
    case "reversed pay":
      return "Credit taken back: the chain dropped its payment";
    default: {
      const words = { credited: "credited", held: "held", withdrawn: "sent", released: "released", debited: "paid", held_unfinal: "held", reversed: "taken back" }[line.type] ?? line.type;
      return `${CAUSES[prefix]?.thing ?? "Change"} ${words}`;
    }
  }
}

/** A cell of a file. One that a spreadsheet would take for a formula begins with an apostrophe. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const HEAD = ["time_utc", "what", "type", "change_usd", "amount_usd", "balance_usd", "held_usd", "available_usd", "cause", "entry_id"];

const BALANCE_HEAD = ["by"];
const WALLET_HEAD = ["paid_to", "address", "network", "transaction", "agent", "api_key_id", "note", "payment_id", "product_id"];

function walletCells(line: Line): string[] {
  const paid = line.wallet_payment;
  return [payeeOf(line, whole), paid?.pay_to, paid?.network, paid?.tx_hash, line.api_key?.name, line.api_key?.api_key_id, paid?.note, line.bought?.payment_id, line.bought?.product_id].map((text) => text ?? "");
}

/** A file has whole addresses, and all amounts in the same form. */
const whole: Shorten = (address) => address;
const figure = (amount: ExactDecimal): string => decimal(units(amount) ?? 0n);

const csvLine = (line: Line, more: string[]): string =>
  [line.created_at, lineWords(line, whole), line.type, effectText(line), ...[line.amount, line.balance, line.held, line.available].map(figure), line.cause, line.entry_id, ...more].map(cell).join(",");

export interface Export {
  blob: Blob;
  lines: number;
}

/** All lines of a period as a file, oldest first. Reads every page, so it tells how far it is and can be stopped. */
export async function exportCsv(period: Period, progress: (lines: number) => void, stopped: () => boolean): Promise<Export | null> {
  const ofWallet = period.of !== undefined;
  // A mark at the beginning, so that spreadsheets read the file as UTF-8.
  const parts: string[] = [`\uFEFF${[...HEAD, ...(ofWallet ? WALLET_HEAD : BALANCE_HEAD)].join(",")}\r\n`];
  const names = namesOf(period);
  let lines = 0;
  let after: string | undefined;
  for (;;) {
    if (stopped()) return null;
    let page: Page;
    try {
      page = await read(period, "asc", 100, after, names);
    } catch (error) {
      // The service asks for a pause after many requests.
      if (!(error instanceof ApiFailure) || error.status !== 429) throw error;
      await new Promise((go) => setTimeout(go, 5_000));
      continue;
    }
    parts.push(page.entries.map((line) => `${csvLine(line, ofWallet ? walletCells(line) : [line.by ?? ""])}\r\n`).join(""));
    lines += page.entries.length;
    progress(lines);
    after = page.entries.at(-1)?.entry_id;
    if (!page.has_more || after === undefined) return { blob: new Blob(parts, { type: "text/csv;charset=utf-8" }), lines };
  }
}

/** Months of the person's own time zone. */
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric" });
const SHORT = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** The day of a line. On a statement it is never “today”. */
export const dateOf = (at: string): string => SHORT.format(new Date(at));

export interface Shown {
  period: Period;
  /** “November 2026”, “2 to 22 November 2026”. */
  name: string;
  /** For the name of a file. */
  file: string;
  /** The months around it, if it is a month: `2026-10`. */
  before?: string;
  after?: string;
}

const two = (n: number): string => String(n).padStart(2, "0");
const monthKey = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}`;

export function thisMonth(): string {
  return monthKey(new Date(present()));
}

export function monthPeriod(key: string): Shown {
  const [year = 1970, month = 1] = key.split("-").map(Number);
  const begin = new Date(year, month - 1, 1);
  const end = new Date(year, month, 1);
  const next = monthKey(end);
  return {
    period: { from: begin.toISOString(), until: end.toISOString() },
    name: MONTH.format(begin),
    file: key,
    before: monthKey(new Date(year, month - 2, 1)),
    ...(next <= thisMonth() ? { after: next } : {}),
  };
}

/** From one day to another, both inside. */
export function daysPeriod(from: string, to: string): Shown {
  const begin = from ? new Date(`${from}T00:00:00`) : undefined;
  const last = to ? new Date(`${to}T00:00:00`) : undefined;
  const end = last && new Date(last.getFullYear(), last.getMonth(), last.getDate() + 1);
  const name = begin && last ? `${DATE.format(begin)} to ${DATE.format(last)}` : begin ? `From ${DATE.format(begin)}` : last ? `Until ${DATE.format(last)}` : "Everything";
  return {
    period: { ...(begin ? { from: begin.toISOString() } : {}), ...(end ? { until: end.toISOString() } : {}) },
    name,
    file: [from, to].filter(Boolean).join("-to-") || "all",
  };
}

export const sumWords = (sums: Sums): string => `${money(sums.opening)} + ${money(sums.credited)} − ${money(sums.debited)} = ${money(sums.balance)}.`;
