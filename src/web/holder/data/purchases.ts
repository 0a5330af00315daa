// Everything that the account bought, whoever paid: purchases here, payouts from the balance, and what the agents’ wallet
// paid elsewhere, with what came back of it. Over a period they add up to the spending of Home.

import { type StatusKind, api, decimal, less, money, short, units, withQuery } from "../../parts";
import type { ExactDecimal, ListedPayment, StatementEntry } from "../../api/public";
import { chainName } from "../chain";
import { Bought, type Thing, patiently, readPayments, thingOf } from "./bought";
import { type Place, type Slice, type Source, mergedSlice } from "./load";
import { type Export, type Period, csvFile, csvRow, effectText, exact, linePage, lineWords } from "./statement";

export interface Purchase {
  id: string;
  /** What a line of the balance is about, as the statement of the balance names it. */
  cause?: string;
  at: string;
  words: string;
  page: string | undefined;
  thing: Thing | undefined;
  amount: ExactDecimal;
  /** What it adds to the spending, negative; positive if it came back; zero if nothing was taken. */
  change: string;
  /** “agents’ wallet”, “own wallet 0x30ef…a6c9”. */
  from: string;
  payer: string;
  agent: string | undefined;
  keyId: string | undefined;
  status: [StatusKind, string] | undefined;
  network: string;
  transaction: string;
}

export interface Reader {
  period: Period;
  /** Addresses of the agents’ wallet, if this session may see what it paid. */
  wallet: string[];
  bought: Bought;
  /** Of a file: asks again when the service asks for a pause. */
  isFile?: boolean;
}

const isWithin = ({ from, until }: Period, at: string): boolean => (!from || at >= from) && (!until || at < until);

const ofWallet = (payer: string, wallet: string[]): boolean => wallet.some((one) => one.toLowerCase() === payer.toLowerCase());

function ofPayment(payment: ListedPayment, wallet: string[]): Purchase {
  const thing = thingOf(payment);
  return {
    id: payment.payment_id,
    at: payment.created_at,
    words: thing.words,
    page: thing.page,
    thing,
    amount: payment.amount,
    // Only what reached the chain has a receipt.
    change: payment.receipt ? decimal(-(units(payment.amount) ?? 0n)) : "0.00",
    from: ofWallet(payment.payer, wallet) ? "agents’ wallet" : `wallet ${short(payment.payer)}`,
    payer: payment.payer,
    agent: payment.api_key?.name,
    keyId: payment.api_key?.api_key_id,
    status: ["payment", payment.status],
    network: chainName(payment.network),
    transaction: payment.transaction ?? "",
  };
}

function ofLine(line: StatementEntry, thing: Thing | undefined): Purchase {
  const paid = line.wallet_payment;
  return {
    id: line.entry_id,
    cause: line.cause,
    at: line.created_at,
    words: lineWords(line, thing),
    page: linePage(line, thing),
    thing,
    amount: line.amount,
    change: effectText(line),
    from: paid ? "agents’ wallet" : line.type === "credited" ? "to your balance" : "balance",
    payer: paid?.from ?? "",
    agent: paid ? (line.api_key?.name ?? "an agent that signed in") : undefined,
    keyId: line.api_key?.api_key_id,
    status: paid ? ["wallet_payment", paid.status] : undefined,
    network: paid ? chainName(paid.network) : "",
    transaction: paid?.tx_hash ?? "",
  };
}

/** Whether a line of the balance counts as spending. The others are deposits, withdrawals and holds. */
export const isSpending = ({ type, cause }: StatementEntry): boolean => (type === "debited" && cause.startsWith("po_")) || (type === "credited" && /^(card|po|top|pay|rf|lr)_/.test(cause)) || type === "reversed";

/** What the agents’ wallet paid elsewhere. A purchase here is a payment of the account. */
export const isElsewhere = (line: StatementEntry): boolean => line.type === "debited" && line.wallet_payment?.host !== "route";

function payments({ period, wallet, isFile }: Reader): Source<Purchase> {
  return async (after, limit) => {
    const rows: Purchase[] = [];
    let from = after;
    for (;;) {
      const page = await (isFile ? patiently(() => readPayments(from)) : readPayments(from));
      const isBefore = page.payments.some((one) => period.from !== undefined && one.created_at < period.from);
      rows.push(...page.payments.filter((one) => isWithin(period, one.created_at)).map((one) => ofPayment(one, wallet)));
      from = page.payments.at(-1)?.payment_id;
      const ended = isBefore || !page.has_more || from === undefined;
      if (ended || rows.length >= limit) return { rows, more: !ended };
    }
  };
}

function changes({ period, bought, isFile }: Reader, of: "agent_wallet" | undefined, counts: (line: StatementEntry) => boolean): Source<Purchase> {
  return async (after, limit) => {
    const rows: Purchase[] = [];
    let from = after;
    for (;;) {
      const read = () => api.get<{ entries: StatementEntry[]; has_more: boolean }>(withQuery("/get-account-statement", { of, order: "desc", ...period, limit: 100, starting_after: from }));
      const page = await (isFile ? patiently(read) : read());
      const lines = page.entries.filter(counts);
      await bought.find(lines);
      rows.push(...lines.map((line) => ofLine(line, bought.of(line))));
      from = page.entries.at(-1)?.entry_id;
      if (!page.has_more || from === undefined) return { rows, more: false };
      if (rows.length >= limit) return { rows, more: true };
    }
  };
}

/** How long after its payment a purchase is in the statement of the wallet, at most. */
const LINE_AFTER_MS = 600_000;

/** Adds which agent paid, for purchases here by the agents’ wallet. Without an answer they have none. */
async function withAgents(rows: Purchase[], { wallet, isFile }: Reader): Promise<void> {
  const open = rows.filter((row) => row.transaction !== "" && row.agent === undefined && ofWallet(row.payer, wallet));
  const times = open.map((row) => Date.parse(row.at));
  if (open.length === 0) return;
  const period = { from: new Date(Math.min(...times)).toISOString(), until: new Date(Math.max(...times) + LINE_AFTER_MS).toISOString() };
  const agents = new Map<string, StatementEntry>();
  let after: string | undefined;
  try {
    do {
      const from = after;
      const read = () => api.get<{ entries: StatementEntry[]; has_more: boolean }>(withQuery("/get-account-statement", { of: "agent_wallet", ...period, limit: 100, starting_after: from }));
      const page = await (isFile ? patiently(read) : read());
      for (const line of page.entries) if (line.wallet_payment?.tx_hash) agents.set(line.wallet_payment.tx_hash.toLowerCase(), line);
      after = page.has_more ? page.entries.at(-1)?.entry_id : undefined;
    } while (after !== undefined);
  } catch {
    return;
  }
  for (const row of open) {
    const line = agents.get(row.transaction.toLowerCase());
    if (!line) continue;
    row.agent = line.api_key?.name ?? "an agent that signed in";
    row.keyId = line.api_key?.api_key_id;
  }
}

/** The next purchases of a period, the newest first. */
export async function purchasesSlice(reader: Reader, place: Place | undefined, limit: number): Promise<Slice<Purchase, Place>> {
  const sources = [payments(reader), changes(reader, undefined, isSpending), ...(reader.wallet.length > 0 ? [changes(reader, "agent_wallet", isElsewhere)] : [])];
  const slice = await mergedSlice(sources, place, limit, (row) => row);
  await withAgents(slice.rows, reader);
  return slice;
}

export interface PurchaseSums {
  spent: ExactDecimal;
  credited: ExactDecimal;
  inAll: string;
}

/** What a period cost, by the same sums as the spending of Home. */
export async function readPurchaseSums({ from, until }: Period): Promise<PurchaseSums> {
  const starts = [from ?? "1970-01-01T00:00:00.000Z", ...(until ? [until] : [])].join(",");
  const { sums } = await api.get<{ sums: { spent: ExactDecimal; credited: ExactDecimal }[] }>(withQuery("/account/spending-sums", { starts }));
  const { spent, credited } = sums[0] ?? { spent: 0, credited: 0 };
  return { spent, credited, inAll: less(spent, credited) };
}

export const purchaseSumWords = (sums: PurchaseSums): string => `${money(sums.spent)} − ${money(sums.credited)} = ${money(sums.inAll)}.`;

const HEAD = ["time_utc", "what", "change_usd", "amount_usd", "status", "paid_from", "payer", "agent", "api_key_id", "product", "product_id", "network", "transaction", "id"];

/** All purchases of a period as a file, the newest first. */
export async function exportPurchases(period: Period, wallet: string[], progress: (lines: number) => void, stopped: () => boolean): Promise<Export | null> {
  const reader: Reader = { period, wallet, bought: new Bought({ isFile: true }), isFile: true };
  const rows = [csvRow(HEAD)];
  let place: Place | undefined;
  do {
    if (stopped()) return null;
    const slice = await purchasesSlice(reader, place, 100);
    rows.push(...slice.rows.map((row) => csvRow([row.at, row.words, row.change, exact(row.amount), row.status?.[1] ?? "", row.from, row.payer, row.agent ?? "", row.keyId ?? "", row.thing?.words ?? "", row.thing?.id ?? "", row.network, row.transaction, row.id])));
    progress(rows.length - 1);
    place = slice.next;
  } while (place !== undefined);
  return { blob: csvFile(rows), lines: rows.length - 1 };
}
