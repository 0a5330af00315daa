// Money on its way: top-ups, payouts, withdrawals and bank transfers, as one list and one by one.

import { ApiFailure, type StatusKind, api, compare, isZero, money, statusOf, withQuery } from "../../parts";
import type { BankTransaction, BankTransferResource, CardTransactionsResponse, ExactDecimal, Payout, PayoutList, TopUp, Withdrawal, WithdrawalList } from "../../api/public";
import { TOP_UP_MOST_MS } from "../account";
import { chainName } from "../chain";
import { type Place, type Slice, type Source, mergedSlice } from "./load";

export type TransferKind = "top_up" | "payout" | "withdrawal" | "card_withdrawal" | "bank_transfer";

export interface TopUpProgress {
  signed_again: number;
  signed_at_most: number;
  attested: boolean;
}

/** One transfer in the words that all kinds share, with what the API says of it. */
export interface Transfer {
  kind: TransferKind;
  id: string;
  /** The state by the API's word. */
  status: string;
  amount: number | string;
  currency: string;
  /** “Top-up of your card balance”. */
  what: string;
  createdAt: string;
  updatedAt: string;
  /** Comes to the balance rather than leaving it. */
  incoming: boolean;
  paymentId: string | null;
  /** Why it has not left yet. */
  held: string | null;
  topUp?: TopUp;
  /** Steps of a top-up that leave no transfer. */
  progress?: TopUpProgress;
  payout?: Payout;
  withdrawal?: Withdrawal;
  bank?: BankTransaction;
}

export const KIND_WORDS: Record<TransferKind, string> = {
  top_up: "Top-up",
  payout: "Payout",
  withdrawal: "Withdrawal",
  card_withdrawal: "Withdrawal from the card balance",
  bank_transfer: "Bank transfer",
};

export const statusKind = (transfer: Transfer): StatusKind => transfer.kind;

const OPEN: Record<TransferKind, string[]> = {
  top_up: ["paid", "bridging", "delivered"],
  payout: ["awaiting-details", "queued", "in-process"],
  withdrawal: ["pending", "sent"],
  card_withdrawal: ["pending", "queued", "claimed"],
  bank_transfer: ["pending"],
};

export const isOpen = (transfer: Transfer): boolean => OPEN[transfer.kind].includes(transfer.status);

/** The time that a transfer should take at most, where it is known. An operator pays a card withdrawal. */
const MOST_MS: Partial<Record<TransferKind, number>> = { top_up: TOP_UP_MOST_MS, card_withdrawal: 86_400_000 };

/** Whether a transfer that is under way takes longer than it should. */
export const isLate = (transfer: Transfer, now: number): boolean => isOpen(transfer) && now - Date.parse(transfer.createdAt) > (MOST_MS[transfer.kind] ?? Infinity);

/** Whether all attempts have failed, so that it waits for an operator. */
export const needsOperator = (transfer: Transfer): boolean => isOpen(transfer) && (transfer.topUp ?? transfer.payout ?? transfer.withdrawal)?.needs_operator === true;

/** What its state does not say: that it waits for a person, or takes longer than it should. */
export const troubleWord = (transfer: Transfer, now: number): string | null => (needsOperator(transfer) ? "Waits for a person" : isLate(transfer, now) && transfer.held === null ? "Late" : null);

const heldOf = (one: TopUp | Payout | Withdrawal): string | null => one.held ?? (one.needs_operator ? "needs_operator" : null);

export const statusWord = (transfer: Transfer): string => statusOf(statusKind(transfer), transfer.status).word;

export const ofTopUp = (topUp: TopUp): Transfer => ({
  kind: "top_up",
  id: topUp.top_up_id,
  status: topUp.status,
  amount: topUp.funded_usd,
  currency: "USD",
  what: "Top-up of your card balance",
  createdAt: topUp.created_at,
  updatedAt: topUp.last_updated_at,
  incoming: true,
  paymentId: topUp.payment_id,
  held: heldOf(topUp),
  topUp,
});

const APPS: Record<string, string> = { venmo: "Venmo", paypal: "PayPal" };
export const appName = (platform: string): string => APPS[platform] ?? platform;

/** Who carries a payout out, inside a sentence: “Venmo”, “the bank”. */
export const railName = ({ payout }: Transfer): string => (payout?.product === "app_payment" ? appName(payout.platform ?? "the payment app") : "the bank");

function payoutWords(payout: Payout): string {
  if (payout.product === "push_to_card") return payout.card_last4 ? `Payout to the debit card •••• ${payout.card_last4}` : "Payout to a debit card";
  if (payout.product === "app_payment") return `Payment by ${appName(payout.platform ?? "an app")}`;
  return payout.destination ? `Bank payment to ${payout.destination.name}` : "Bank payment";
}

export const ofPayout = (payout: Payout): Transfer => ({
  kind: "payout",
  id: payout.payout_id,
  status: payout.status,
  amount: payout.amount,
  currency: payout.currency,
  what: payoutWords(payout),
  createdAt: payout.created_at,
  updatedAt: payout.last_updated_at,
  incoming: false,
  paymentId: payout.payment_id ?? null,
  held: heldOf(payout),
  payout,
});

export function ofWithdrawal(withdrawal: Withdrawal): Transfer {
  const card = withdrawal.source === "card_balance";
  return {
    kind: card ? "card_withdrawal" : "withdrawal",
    id: withdrawal.id,
    status: card ? (withdrawal.status ?? withdrawal.state) : withdrawal.state,
    amount: withdrawal.amount,
    currency: "USD",
    what: card ? `Withdrawal from your card balance on ${chainName(withdrawal.network)}` : `Withdrawal on ${chainName(withdrawal.network)}`,
    createdAt: withdrawal.created_at,
    updatedAt: withdrawal.last_updated_at,
    incoming: false,
    paymentId: null,
    held: heldOf(withdrawal),
    withdrawal,
  };
}

export const ofBank = (bank: BankTransaction): Transfer => ({
  kind: "bank_transfer",
  id: bank.transactionId,
  status: bank.status,
  amount: bank.amount,
  currency: bank.currency,
  what: bank.direction === "incoming" ? "Deposit from your bank" : bank.type === "payout" ? "Bank payment" : "Transfer to your bank",
  createdAt: bank.createdAt,
  updatedAt: bank.lastUpdatedAt,
  incoming: bank.direction === "incoming",
  paymentId: null,
  held: bank.held ?? null,
  bank,
});

/** Events write names in snake case, callable functions in camel case. */
const ofBankEvent = (event: BankTransferResource): Transfer =>
  ofBank({
    transactionId: event.transaction_id,
    accountId: event.account_id,
    amount: event.amount,
    currency: event.currency,
    direction: event.direction,
    status: event.status,
    type: event.type,
    note: event.note,
    reference: event.reference,
    failureReason: event.failure_reason,
    returnedAmount: event.returned_amount ?? undefined,
    createdAt: event.created_at,
    lastUpdatedAt: event.last_updated_at,
  } as BankTransaction);

export const TRANSFER_EVENTS = ["top_up.*", "payout.*", "withdrawal.*", "card_withdrawal.*", "bank_transfer.*"];

/** The transfer that an event is about. */
export function ofEvent(type: string, object: Record<string, unknown>): Transfer | null {
  switch (type.split(".")[0]) {
    case "top_up":
      return ofTopUp(object as unknown as TopUp);
    case "payout":
      return ofPayout(object as unknown as Payout);
    case "withdrawal":
      return ofWithdrawal(object as unknown as Withdrawal);
    case "card_withdrawal":
      return ofWithdrawal({ source: "card_balance", ...object } as unknown as Withdrawal);
    case "bank_transfer":
      return ofBankEvent(object as unknown as BankTransferResource);
    default:
      return null;
  }
}

/** What it is, with the recipient's name where the list has only an id. */
export function named(transfer: Transfer, names: Map<string, string> | undefined): string {
  const { payout } = transfer;
  const name = payout && (names?.get(payout.destination_id ?? "") ?? names?.get(payout.recipient_id ?? ""));
  if (!name || !payout) return transfer.what;
  return payout.product === "app_payment" ? `Payment to ${name} by ${appName(payout.platform ?? "an app")}` : `Bank payment to ${name}`;
}

/**
 * What an event says of a transfer, over what was known: events leave out what only the transfer's own route says. What waited
 * for an operator goes on with its next event.
 */
export function updated(old: Transfer, event: Transfer): Transfer {
  const goesOn = { needs_operator: false };
  return {
    ...old,
    ...event,
    what: event.what.length > old.what.length ? event.what : old.what,
    ...(old.topUp && event.topUp ? { topUp: { ...old.topUp, ...goesOn, ...event.topUp } } : {}),
    ...(old.payout && event.payout ? { payout: { ...old.payout, ...goesOn, ...event.payout } } : {}),
    ...(old.withdrawal && event.withdrawal ? { withdrawal: { ...old.withdrawal, ...goesOn, ...event.withdrawal } } : {}),
    ...(old.bank && event.bank ? { bank: { ...old.bank, ...event.bank } } : {}),
  };
}

const topUps: Source<Transfer> = async (after, limit) => {
  const page = await api.get<CardTransactionsResponse>(withQuery("/list-card-transactions", { limit, starting_after: after }));
  return { rows: page.top_ups.map(ofTopUp), more: page.has_more };
};

const payouts: Source<Transfer> = async (after, limit) => {
  const page = await api.get<PayoutList>(withQuery("/get-payment-status", { order: "desc", limit, starting_after: after }));
  return { rows: page.payouts.map(ofPayout), more: page.has_more };
};

const withdrawals: Source<Transfer> = async (after, limit) => {
  const page = await api.get<WithdrawalList>(withQuery("/get-withdrawal-status", { order: "desc", limit, starting_after: after }));
  return { rows: page.withdrawals.map(ofWithdrawal), more: page.has_more };
};

/** Transfers only: the bank's payouts are in the list of payouts. */
const bankTransfers: Source<Transfer> = async (after, limit) => {
  const page = await api.call<{ transactions: BankTransaction[]; hasMore: boolean }>("listBankingTransactions", { type: "transfer", order: "desc", limit, ...(after ? { startingAfter: after } : {}) });
  return { rows: page.transactions.map(ofBank), more: page.hasMore };
};

export type Shown = "all" | "top_ups" | "payouts" | "withdrawals" | "bank";

const SOURCES: Record<Exclude<Shown, "all">, Source<Transfer>> = { top_ups: topUps, payouts, withdrawals, bank: bankTransfers };

export function transfersSlice(shown: Shown, place: Place | undefined, limit: number): Promise<Slice<Transfer, Place>> {
  const sources = shown === "all" ? Object.values(SOURCES) : [SOURCES[shown]];
  return mergedSlice(sources, place, limit, (row) => ({ id: row.id, at: row.createdAt }));
}

/** How many of the newest of each kind are searched for those still on their way. */
const RECENT = 100;

/** What is still on its way, the newest first. A payout can wait for its recipient for 30 days. */
export async function readOpen(): Promise<Transfer[]> {
  const pages = await Promise.all(Object.values(SOURCES).map((source) => source(undefined, RECENT)));
  return pages
    .flatMap((page) => page.rows)
    .filter(isOpen)
    .sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
}

async function readTopUp(id: string): Promise<Transfer> {
  const read = await api.get<{ top_up: TopUp; progress: TopUpProgress }>(withQuery("/get-top-up-status", { top_up_id: id }));
  return { ...ofTopUp(read.top_up), progress: read.progress };
}

/** What the service answers about the transfer of another account, or one that does not exist. */
export const NOT_THERE = [
  "transfer_not_found", "top_up_not_found", "top_up_access_denied", "payout_not_found", "payout_access_denied", "withdrawal_not_found", "withdrawal_access_denied", "transaction_not_found", "bank_account_access_denied",
];

/** One transfer by its id, whose prefix says what it is. */
export async function readTransfer(id: string): Promise<Transfer> {
  switch (id.split("_")[0]) {
    case "top":
      return readTopUp(id);
    case "po":
      return ofPayout(await api.get<Payout>(withQuery("/get-payment-status", { payout_id: id })));
    case "wd":
      return ofWithdrawal((await api.get<{ withdrawal: Withdrawal }>(withQuery("/get-withdrawal-status", { withdrawal_id: id }))).withdrawal);
    case "btr":
      return ofBank((await api.call<{ transaction: BankTransaction }>("getBankingTransaction", { transactionId: id })).transaction);
    default:
      throw new ApiFailure("transfer_not_found", "There is no such transfer.", undefined, undefined, 404);
  }
}

/** The amount in words, with its sign. */
/** What of a transfer came back to the balance, and what it cost if that is more than what was moved. */
export function moneyOf({ payout, topUp, status, amount, currency }: Transfer): { back: ExactDecimal | null; cost: ExactDecimal | null } {
  const credited = payout?.credited_amount ?? payout?.late_return?.credited_amount ?? (topUp && status === "failed" ? topUp.funded_usd : null);
  const back = credited === null || isZero(credited) ? null : credited;
  const cost = payout && (currency !== "USD" || compare(payout.charged_usd_amount, amount) !== 0) ? payout.charged_usd_amount : null;
  return { back, cost };
}

export const amountWords = (transfer: Transfer): string => money(transfer.amount, transfer.currency);
