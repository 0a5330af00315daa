// Money that is on its way: top-ups, payouts, withdrawals and orders that are not over, with their stops.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Payout, TopUp, Withdrawal } from "../api/public";
import { type Stop, type StopState, type StreamEvent, api, money, onEvent, onGap } from "../parts";
import type { AccountCard } from "./account";

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

const TOP_UP = { paid: 1, bridging: 2, delivered: 3 } as Record<string, number>;

function topUp(one: TopUp): OnWay | null {
  const done = TOP_UP[one.status];
  if (done === undefined) return null;
  const crosses = one.payment_network === "solana";
  const names = crosses ? ["Paid", "Burned", "Minted", "Credited"] : ["Paid", "Delivered", "Credited"];
  return {
    id: one.top_up_id,
    href: `/dashboard/transfers/${one.top_up_id}`,
    text: "Top-up of your card balance",
    amount: one.funded_usd,
    currency: "USD",
    usd: one.funded_usd,
    stops: stopsAt(names, crosses ? done : Math.min(done, 2), one.held ? "hold" : "now"),
    eta: one.held ? "waits for a person" : "usually under a minute",
    created_at: one.created_at,
  };
}

const PAYOUT = { "awaiting-details": 1, queued: 2, "in-process": 3 } as Record<string, number>;
const PAYOUT_TO: Record<string, string> = { push_to_card: "Payout to a debit card", bank_payment: "Payout to a bank account", app_payment: "Payout to a payment app" };
/** How long a recipient has to enter a card. */
const CLAIM_DAYS = 30;

function payout(one: Payout, now: number): OnWay | null {
  const done = PAYOUT[one.status];
  if (done === undefined) return null;
  const names = one.product === "push_to_card" ? ["Paid", "Card entered", "Sent", "Arrived"] : ["Paid", "Queued", "Sent", "Arrived"];
  const waits = one.status === "awaiting-details";
  const left = Math.max(0, Math.ceil(CLAIM_DAYS - (now - Date.parse(one.created_at)) / DAY_MS));
  return {
    id: one.payout_id,
    href: `/dashboard/transfers/${one.payout_id}`,
    text: PAYOUT_TO[one.product] ?? "Payout",
    amount: one.amount,
    currency: one.currency,
    usd: one.charged_usd_amount,
    stops: stopsAt(names, done, waits || one.held ? "hold" : "now"),
    eta: waits ? `${left} days left` : one.held ? "waits for a person" : one.status === "queued" ? "queued" : "with the bank",
    created_at: one.created_at,
  };
}

function withdrawal(one: Withdrawal): OnWay | null {
  if (one.state !== "pending" && one.state !== "sent") return null;
  const fromCards = one.source === "card_balance";
  return {
    id: one.id,
    href: `/dashboard/transfers/${one.id}`,
    text: fromCards ? "Withdrawal from your card balance" : "Withdrawal to your wallet",
    amount: one.amount,
    currency: "USD",
    usd: fromCards || one.state === "sent" ? one.amount : 0,
    stops: stopsAt(["Asked", "Sent", "Arrived"], one.state === "sent" ? 2 : 1, one.held ? "hold" : "now"),
    eta: one.held ? "waits for a person" : fromCards ? "within a day" : "seconds",
    created_at: one.created_at,
  };
}

function order(card: AccountCard): OnWay | null {
  if (card.card_type !== "Non-Reloadable International" || (card.status !== "queued" && card.status !== "claimed")) return null;
  return {
    id: card.card_id,
    href: `/dashboard/cards/${card.card_id}`,
    text: `International card${card.label ? ` “${card.label}”` : ""}`,
    amount: card.charged_usd_amount ?? card.usd_amount ?? "0",
    currency: "USD",
    usd: card.charged_usd_amount ?? card.usd_amount ?? "0",
    stops: stopsAt(["Ordered", "Being made", "Ready"], 1),
    eta: card.status === "claimed" ? "an operator is on it" : "within 24 h",
    created_at: card.created_at,
  };
}

export interface Transfers {
  topUps: TopUp[];
  payouts: Payout[];
  withdrawals: Withdrawal[];
}

/** What happened to load: a list that this session may not read, or that fails, is empty. */
async function listed<T>(path: string, field: string): Promise<T[]> {
  try {
    const answer = await api.get<Record<string, T[] | undefined>>(path);
    return answer[field] ?? [];
  } catch {
    return [];
  }
}

export async function loadTransfers(): Promise<Transfers> {
  const [topUps, payouts, withdrawals] = await Promise.all([
    listed<TopUp>("/list-card-transactions?limit=50", "top_ups"),
    listed<Payout>("/get-payment-status?order=desc&limit=50", "payouts"),
    listed<Withdrawal>("/get-withdrawal-status?order=desc&limit=50", "withdrawals"),
  ]);
  return { topUps, payouts, withdrawals };
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
  return transfers;
}

/** The newest transfers. Events carry what changes, so they are loaded once. */
export function useTransfers(): Transfers | null {
  const transfers = useSignal<Transfers | null>(null);
  useEffect(() => {
    // Events that arrive while it loads are newer than the answer, or the same.
    let waiting: StreamEvent[] | null = [];
    const load = () => {
      waiting ??= [];
      void loadTransfers().then((loaded) => {
        transfers.value = (waiting ?? []).reduce(after, loaded);
        waiting = null;
      });
    };
    load();
    const off = onEvent(["top_up.*", "payout.*", "withdrawal.*", "card_withdrawal.*"], (event) => {
      waiting?.push(event);
      if (transfers.value) transfers.value = after(transfers.value, event);
    });
    const offGap = onGap(load);
    return () => {
      off();
      offGap();
    };
  }, []);
  return transfers.value;
}

/** Everything on its way, newest first. */
export function onWay(transfers: Transfers, cards: AccountCard[], now: number): OnWay[] {
  const all = [...transfers.topUps.map(topUp), ...transfers.payouts.map((one) => payout(one, now)), ...transfers.withdrawals.map(withdrawal), ...cards.map(order)];
  return all.filter((one): one is OnWay => one !== null).sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
}

/** “€25.00 to a debit card” for a link that its recipient has to open. */
export const payoutWords = (one: Payout): string => money(one.amount, one.currency);
