// Money that is on its way: top-ups, payouts, withdrawals and orders that are not over, with their stops.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Payout, TopUp, Withdrawal } from "../api/public";
import { type ApiFailure, type Stop, type StopState, type StreamEvent, api, failure, money, onEvent, onGap } from "../parts";
import { type AccountCard, TOP_UP_MOST_MS } from "./account";

export interface OnWay {
  id: string;
  href: string;
  /** “Top-up of your card balance”. */
  text: string;
  amount: string | number;
  currency: string;
  /** In US dollars, for the sum. Zero if a hold of the balance already counts it. */
  usd: string | number;
  stops: Stop[];
  /** How long, or what it waits for. */
  eta: string;
  created_at: string;
}

const DAY_MS = 86_400_000;

/** Stops of which the first `done` are done. */
export function stopsAt(names: readonly string[], done: number, last: StopState = "now"): Stop[] {
  return names.map((name, index) => ({ name, is: index < done ? "done" : index === done ? last : "next" }));
}

/** Why something does not go on: all attempts have failed, or it is on hold. */
const waitOf = (one: { held?: unknown; needs_operator?: boolean }): string | null => (one.needs_operator ? "waits for a person" : one.held ? "waits" : null);

const TOP_UP = { paid: 1, bridging: 2, delivered: 3 } as Record<string, number>;

function topUp(one: TopUp, now: number): OnWay | null {
  const done = TOP_UP[one.status];
  if (done === undefined) return null;
  const crosses = one.payment_network === "solana";
  const late = now - Date.parse(one.created_at) > TOP_UP_MOST_MS;
  const waits = waitOf(one);
  const names = crosses ? ["Paid", "Burned", "Minted", "Credited"] : ["Paid", "Delivered", "Credited"];
  return {
    id: one.top_up_id,
    href: `/dashboard/transfers/${one.top_up_id}`,
    text: "Top-up of your card balance",
    amount: one.funded_usd,
    currency: "USD",
    usd: one.funded_usd,
    stops: stopsAt(names, crosses ? done : Math.min(done, 2), waits || late ? "hold" : "now"),
    eta: waits ?? (late ? "takes longer than usual" : "usually under a minute"),
    created_at: one.created_at,
  };
}

const PAYOUT = { "awaiting-details": 1, queued: 2, "in-process": 3 } as Record<string, number>;
const PAYOUT_TO: Record<string, string> = { push_to_card: "Payout to a debit card", bank_payment: "Payout to a bank account", app_payment: "Payout to a payment app" };
/** How long a recipient has to enter a card. */
const CLAIM_DAYS = 30;

/** “28 days left” for the recipient to enter a card. */
export function claimLeft(one: Payout, now: number): string {
  const left = Math.max(0, Math.ceil(CLAIM_DAYS - (now - Date.parse(one.created_at)) / DAY_MS));
  return left === 1 ? "1 day left" : `${left} days left`;
}

function payout(one: Payout, now: number): OnWay | null {
  const done = PAYOUT[one.status];
  if (done === undefined) return null;
  const names = one.product === "push_to_card" ? ["Paid", "Card entered", "Sent", "Arrived"] : ["Paid", "Queued", "Sent", "Arrived"];
  const isUnclaimed = one.status === "awaiting-details";
  const waits = waitOf(one);
  return {
    id: one.payout_id,
    href: `/dashboard/transfers/${one.payout_id}`,
    text: PAYOUT_TO[one.product] ?? "Payout",
    amount: one.amount,
    currency: one.currency,
    usd: one.charged_usd_amount,
    stops: stopsAt(names, done, isUnclaimed || waits ? "hold" : "now"),
    eta: isUnclaimed ? claimLeft(one, now) : (waits ?? (one.status === "queued" ? "queued" : "being paid out")),
    created_at: one.created_at,
  };
}

function withdrawal(one: Withdrawal, now: number): OnWay | null {
  if (one.state !== "pending" && one.state !== "sent") return null;
  const fromCards = one.source === "card_balance";
  const late = fromCards && now - Date.parse(one.created_at) > 86_400_000;
  const waits = waitOf(one) ?? (late ? "late: over 24 h" : null);
  return {
    id: one.id,
    href: `/dashboard/transfers/${one.id}`,
    text: fromCards ? "Withdrawal from your card balance" : "Withdrawal to your wallet",
    amount: one.amount,
    currency: "USD",
    usd: fromCards || one.state === "sent" ? one.amount : 0,
    stops: stopsAt(["Asked", "Sent", "Arrived"], one.state === "sent" ? 2 : 1, waits ? "hold" : "now"),
    eta: waits ?? (fromCards ? "within a day" : "seconds"),
    created_at: one.created_at,
  };
}

/** A transfer between the balance and a bank account, as far as it is shown here. */
export interface BankMove {
  id: string;
  status: string;
  direction: string;
  amount: string | number;
  currency: string;
  created_at: string;
}

const BANK: Record<string, string> = { incoming: "Deposit from your bank", to_account: "Transfer to your bank", to_balance: "Deposit from your bank" };

function bankMove(one: BankMove): OnWay | null {
  const text = BANK[one.direction];
  if (one.status !== "pending" || text === undefined) return null;
  const out = one.direction === "to_account";
  return {
    id: one.id,
    href: `/dashboard/transfers/${one.id}`,
    text,
    amount: one.amount,
    currency: one.currency,
    usd: out ? one.amount : 0,
    stops: stopsAt(out ? ["Taken", "With the bank", "Arrived"] : ["Sent", "With the bank", "Credited"], 1),
    eta: "with the bank",
    created_at: one.created_at,
  };
}

function order(card: AccountCard, now: number): OnWay | null {
  if (card.card_type !== "Non-Reloadable International" || (card.status !== "queued" && card.status !== "claimed")) return null;
  const isLate = now - Date.parse(card.created_at) > DAY_MS;
  return {
    id: card.card_id,
    href: `/dashboard/cards/${card.card_id}`,
    text: `International card${card.label ? ` “${card.label}”` : ""}`,
    amount: card.charged_usd_amount ?? card.usd_amount ?? "0",
    currency: "USD",
    usd: card.charged_usd_amount ?? card.usd_amount ?? "0",
    stops: stopsAt(["Ordered", "Being made", "Ready"], 1, isLate ? "hold" : "now"),
    eta: isLate ? "late: over 24 h" : card.status === "claimed" ? "an operator took it" : "within 24 h",
    created_at: card.created_at,
  };
}

export interface Transfers {
  topUps: TopUp[];
  payouts: Payout[];
  withdrawals: Withdrawal[];
  bank: BankMove[];
}

type BankRow = { transactionId: string; type: string; status: string; direction: string; amount: string | number; currency: string; createdAt: string };

export async function loadTransfers(): Promise<Transfers> {
  const [topUps, payouts, withdrawals, bank] = await Promise.all([
    api.get<{ top_ups: TopUp[] }>("/list-card-transactions?limit=50"),
    api.get<{ payouts: Payout[] }>("/get-payment-status?order=desc&limit=50"),
    api.get<{ withdrawals: Withdrawal[] }>("/get-withdrawal-status?order=desc&limit=50"),
    api.call<{ transactions: BankRow[] }>("listBankingTransactions", { type: "transfer", order: "desc", limit: 50 }),
  ]);
  return {
    topUps: topUps.top_ups,
    payouts: payouts.payouts,
    withdrawals: withdrawals.withdrawals,
    // Without the bank's payouts, which are among the payouts.
    bank: bank.transactions.map(({ transactionId, createdAt, ...one }) => ({ ...one, id: transactionId, created_at: createdAt })),
  };
}

/** The list with this one, which is newer than the one with its id. */
function updated<T>(list: T[], one: T, id: (of: T) => string): T[] {
  const known = list.findIndex((old) => id(old) === id(one));
  return known < 0 ? [one, ...list] : list.with(known, one);
}

/** The transfers after an event. */
export function after(transfers: Transfers, event: StreamEvent): Transfers {
  const object: unknown = event.data.object;
  if (event.type.startsWith("top_up.")) return { ...transfers, topUps: updated(transfers.topUps, object as TopUp, (one) => one.top_up_id) };
  if (event.type.startsWith("payout.")) return { ...transfers, payouts: updated(transfers.payouts, object as Payout, (one) => one.payout_id) };
  if (/^(card_)?withdrawal\./.test(event.type)) return { ...transfers, withdrawals: updated(transfers.withdrawals, object as Withdrawal, (one) => one.id) };
  if (event.type.startsWith("bank_transfer.")) {
    const { transaction_id, ...one } = object as Omit<BankMove, "id"> & { transaction_id: string };
    return { ...transfers, bank: updated(transfers.bank, { ...one, id: transaction_id }, (known) => known.id) };
  }
  return transfers;
}

export interface LoadedTransfers {
  transfers: Transfers | null;
  /** Why they could not be loaded. */
  error: ApiFailure | null;
  reload: () => void;
}

/** The newest transfers. Events carry what changes, so they are loaded once. */
export function useTransfers(): LoadedTransfers {
  const transfers = useSignal<Transfers | null>(null);
  const error = useSignal<ApiFailure | null>(null);
  const again = useSignal(0);
  useEffect(() => {
    // Events that arrive while it loads are newer than the answer, or the same.
    let waiting: StreamEvent[] | null = [];
    const load = () => {
      waiting ??= [];
      loadTransfers().then(
        (loaded) => {
          transfers.value = (waiting ?? []).reduce(after, loaded);
          waiting = null;
          error.value = null;
        },
        (thrown) => {
          error.value = failure(thrown);
        },
      );
    };
    load();
    const off = onEvent(["top_up.*", "payout.*", "withdrawal.*", "card_withdrawal.*", "bank_transfer.*"], (event) => {
      waiting?.push(event);
      if (transfers.value) transfers.value = after(transfers.value, event);
    });
    const offGap = onGap(load);
    return () => {
      off();
      offGap();
    };
  }, [again.value]);
  return {
    transfers: transfers.value,
    error: error.value,
    reload: () => {
      again.value += 1;
    },
  };
}

/** Everything on its way, newest first. */
export function onWay(transfers: Transfers, cards: AccountCard[], now: number): OnWay[] {
  const all = [...transfers.topUps.map((one) => topUp(one, now)), ...transfers.payouts.map((one) => payout(one, now)), ...transfers.withdrawals.map((one) => withdrawal(one, now)), ...transfers.bank.map(bankMove), ...cards.map((one) => order(one, now))];
  return all.filter((one): one is OnWay => one !== null).sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
}

/** “€25.00 to a debit card” for a link that its recipient has to open. */
export const payoutWords = (one: Payout): string => money(one.amount, one.currency);
