// The statements of the balance and of the agents’ wallet: every change by period, with sums and as a file.

import { api, decimal, money, short, units, withQuery, present } from "../../parts";
import type { ExactDecimal, StatementEntry } from "../../api/public";
import { merchantName } from "../approvals";
import { chainName } from "../chain";
import { Bought, type Thing, patiently } from "./bought";
import type { Slice } from "./load";

/** A line of either statement. Only one of the agents’ wallet says what was paid, and by which key. */
export type Line = StatementEntry;

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

async function read(period: Period, order: "asc" | "desc", limit: number, after?: string): Promise<Page> {
  return api.get<Page>(withQuery("/get-account-statement", { order, ...period, limit, starting_after: after }));
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

/** All rows of a list for paper, the newest first, and whether there are more. */
export async function readForPaper<Row, At>(slice: (after: At | undefined) => Promise<Slice<Row, At>>): Promise<Slice<Row, At>> {
  const rows: Row[] = [];
  let after: At | undefined;
  do {
    const page = await slice(after);
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
  /** Of the agents’ wallet only for a period that reaches to now. */
  held?: ExactDecimal;
  available?: ExactDecimal;
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

const prefixOf = (line: Line): string => line.cause.split("_")[0] ?? "";

/** The page of what a line is about: of what a payment bought, or of what caused the line. */
export const linePage = (line: Line, thing: Thing | undefined): string | undefined => (line.wallet_payment ? thing?.page : CAUSES[prefixOf(line)]?.page?.(line.cause));

/** The statement of the day of a moment, with the lines of one thing marked. */
export function dayLink(at: string, cause: string): string {
  const date = new Date(at);
  const key = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `/dashboard/statement?from=${key}&to=${key}&of=${encodeURIComponent(cause)}`;
}

/** Who was paid, in words. */
export function payeeOf({ wallet_payment: paid }: Line): string {
  if (!paid) return "";
  return paid.host ? merchantName(paid.host) : short(paid.pay_to);
}

/** A line of the agents’ wallet in words. The cause of all others than payments is the address. */
function walletWords(line: Line, thing: Thing | undefined): string {
  if (thing) return thing.words;
  if (line.type === "debited") return line.wallet_payment?.kind === "transfer" ? `Transfer to ${payeeOf(line)}` : `Paid to ${payeeOf(line) || "a merchant"}`;
  const chain = chainName(line.cause.startsWith("0x") ? "base" : "solana");
  return line.type === "credited" ? `Received on ${chain}` : `Correction: less is on ${chain}`;
}

/** Why money is back, by what became of a card or of a payout. */
const CARD_ENDS: Record<string, string> = { failed: "not made", rejected: "not made", cancelled: "not made" };
const PAYOUT_ENDS: Record<string, string> = { failed: "refused", expired: "expired", cancelled: "stopped", returned: "came back" };

/** A line in words, with the thing that it is about if that is known. */
export function lineWords(line: Line, thing?: Thing): string {
  if (line.cause.startsWith("wpay_") || !line.cause.includes("_")) return walletWords(line, thing);
  const prefix = prefixOf(line);
  const of = (words: string, unknown: string, end?: string): string => (thing ? `${words}: ${thing.words}${end ? `, ${end}` : ""}` : unknown);
  switch (`${line.type} ${prefix}`) {
    case "credited card":
      return of("Money back", "Money back from a card", CARD_ENDS[thing?.status ?? ""]);
    case "credited po":
      return of("Money back", "Money back from a payout", PAYOUT_ENDS[thing?.status ?? ""]);
    case "credited top":
      return of("Money back", "Top-up that could not be delivered", "not delivered");
    case "credited pay":
      return of("Money back, it bought nothing", "Payment that bought nothing");
    case "credited rf":
      return of("Refund by Purser", "Refund by Purser");
    case "credited dep":
      return "Deposit";
    case "credited btr":
      return "Deposit from your bank";
    case "credited lr":
      return of("Money back late", "Payout that came back late");
    case "held wd":
      return "On hold for a withdrawal";
    case "withdrawn wd":
      return "Withdrawal, sent";
    case "released wd":
      return "No longer on hold: a withdrawal was not sent";
    case "debited po":
      return thing?.words ?? "Bank payment";
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

const HEAD = ["time_utc", "what", "type", "change_usd", "amount_usd", "balance_usd"];
/** A hold of the agents’ wallet has no line, so its file says nothing of what is held. */
const HELD_HEAD = ["held_usd", "available_usd"];
const BALANCE_HEAD = ["by"];
const ABOUT_HEAD = ["product", "product_id", "cause", "entry_id"];
const WALLET_HEAD = ["paid_to", "address", "network", "transaction", "agent", "api_key_id", "note"];

function walletCells(line: Line): string[] {
  const paid = line.wallet_payment;
  return [payeeOf(line), paid?.pay_to, paid?.network, paid?.tx_hash, line.api_key?.name, line.api_key?.api_key_id, paid?.note].map((text) => text ?? "");
}

/** An amount of a file: exact, with at least two places. */
export const exact = (amount: ExactDecimal): string => decimal(units(amount) ?? 0n);

function lineCells(line: Line, bought: Bought, ofWallet: boolean): string[] {
  const thing = bought.of(line);
  return [
    ...[line.created_at, lineWords(line, thing), line.type, effectText(line), exact(line.amount), exact(line.balance)],
    ...(ofWallet ? [] : [exact(line.held), exact(line.available)]),
    ...[thing?.words ?? "", thing?.id ?? "", line.cause, line.entry_id],
    ...(ofWallet ? walletCells(line) : [bought.by(line) ?? ""]),
  ];
}

/** A row of a file, with its end. */
export const csvRow = (cells: string[]): string => `${cells.map(cell).join(",")}\r\n`;

/** A file of these rows. A mark at the beginning, so that spreadsheets read it as UTF-8. */
export const csvFile = (rows: string[]): Blob => new Blob(["\uFEFF", ...rows], { type: "text/csv;charset=utf-8" });

export interface Export {
  blob: Blob;
  lines: number;
}

/** All lines of a period as a file, oldest first. Reads every page, so it tells how far it is and can be stopped. */
export async function exportCsv(period: Period, progress: (lines: number) => void, stopped: () => boolean): Promise<Export | null> {
  const ofWallet = period.of !== undefined;
  const bought = new Bought({ isFile: true });
  const rows = [csvRow([...HEAD, ...(ofWallet ? [] : HELD_HEAD), ...ABOUT_HEAD, ...(ofWallet ? WALLET_HEAD : BALANCE_HEAD)])];
  let lines = 0;
  let after: string | undefined;
  for (;;) {
    if (stopped()) return null;
    const page = await patiently(() => read(period, "asc", 100, after));
    await bought.find(page.entries);
    rows.push(...page.entries.map((line) => csvRow(lineCells(line, bought, ofWallet))));
    lines += page.entries.length;
    progress(lines);
    after = page.entries.at(-1)?.entry_id;
    if (!page.has_more || after === undefined) return { blob: csvFile(rows), lines };
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
