// The stops of a transfer: what is done, what happens now, what comes next, and since when.

import type { PastEvent } from "./events";
import { chainName } from "../chain";
import { type Transfer, isOpen, railName } from "./transfers";

export interface RouteStop {
  is: "done" | "now" | "next" | "hold" | "fail";
  name: string;
  /** When it was done, or since when it happens. */
  at?: string;
  /** What it waits for, or how much. */
  note?: string;
  /** Of a top-up: the leg that this step is. */
  leg?: "burn" | "mint" | "transfer";
}

/** When each state began, as far as events and the transfer itself say. */
export type Times = Map<string, string>;

export function timesOf(transfer: Transfer, events: PastEvent[]): Times {
  const times: Times = new Map();
  for (const event of [...events].reverse()) {
    const state = event.type.slice(event.type.indexOf(".") + 1);
    if (!times.has(state)) times.set(state, event.created_at);
  }
  times.set("created", transfer.createdAt);
  if (!times.has(transfer.status)) times.set(transfer.status, transfer.updatedAt);
  return times;
}

const HELD_NOTE: Record<string, string> = { held_frozen: "the account is frozen", held_restored: "records are being checked", held_unfinal: "until the payment is final", needs_operator: "for a person at Purser" };

/** Marks stops by how many are done. The first that is not happens now, or waits. */
function marked(stops: Omit<RouteStop, "is">[], done: number, waits: boolean): RouteStop[] {
  return stops.map((stop, index) => ({ ...stop, is: index < done ? "done" : index === done ? (waits ? "hold" : "now") : "next" }));
}

const tense = (done: string, now: string, next: string, at: number, reached: number): string => (at < reached ? done : at === reached ? now : next);

export function stopsOf(transfer: Transfer, times: Times): RouteStop[] {
  const waits = transfer.held !== null;
  const note = transfer.held ? HELD_NOTE[transfer.held] : undefined;
  const stops = byKind(transfer, times, waits);
  if (!note) return stops;
  return stops.map((stop) => (stop.is === "hold" && !stop.note ? { ...stop, note } : stop));
}

function byKind(transfer: Transfer, times: Times, waits: boolean): RouteStop[] {
  const at = (state: string) => times.get(state);
  switch (transfer.kind) {
    case "top_up":
      return topUpStops(transfer, at, waits);
    case "payout":
      return payoutStops(transfer, at, waits);
    case "withdrawal": {
      const chain = chainName(transfer.withdrawal?.network ?? "base");
      if (transfer.status === "failed") return [{ is: "done", name: "Held on your balance", ...when(at("created")) }, { is: "fail", name: `Not sent on ${chain}`, ...when(at("failed")) }, { is: "done", name: "Back on your balance", ...when(at("failed")) }];
      const reached = transfer.status === "pending" ? 1 : transfer.status === "sent" ? 2 : 3;
      return marked(
        [
          { name: "Held on your balance", ...when(at("created")) },
          { name: tense(`Sent on ${chain}`, `Being sent on ${chain}`, `Send on ${chain}`, 1, reached), ...when(at("sent") ?? at("created")) },
          { name: tense(`Arrived on ${chain}`, `Arriving on ${chain}`, "Arrives", 2, reached), ...when(at("complete") ?? at("sent")) },
        ],
        reached,
        waits,
      );
    }
    case "card_withdrawal": {
      if (transfer.status === "failed" || transfer.status === "rejected")
        return [{ is: "done", name: "Asked", ...when(at("created")) }, { is: "fail", name: transfer.status === "rejected" ? "An operator rejected it" : "The issuer declined it", ...when(at(transfer.status)) }, { is: "done", name: "Released to your card balance", ...when(at("hold_released") ?? at(transfer.status)) }];
      const reached = { pending: 1, queued: 2, claimed: 2, complete: 4 }[transfer.status] ?? 1;
      return marked(
        [
          { name: "Asked", ...when(at("created")) },
          { name: tense("Held by the issuer", "The issuer holds the amount", "Hold at the issuer", 1, reached), ...when(at("queued") ?? at("created")) },
          { name: tense("Paid by an operator", transfer.status === "claimed" ? "An operator took it" : "Waits for an operator", "Paid by an operator", 2, reached), ...when(at("claimed") ?? at("queued")) },
          { name: tense("Arrived", "Arriving", "Arrives", 3, reached), ...when(at("complete")) },
        ],
        reached,
        waits,
      );
    }
    case "bank_transfer": {
      const failed = transfer.status === "failed" || transfer.status === "returned";
      const first = { is: "done" as const, name: transfer.incoming ? "Sent by the bank" : "Taken from your balance", ...when(at("created")) };
      if (failed) return [first, { is: "fail", name: transfer.status === "returned" ? "The bank sent it back" : "The bank rejected it", ...when(at(transfer.status)) }, { is: "done", name: transfer.incoming ? "Nothing was credited" : "Back on your balance", ...when(at(transfer.status)) }];
      const reached = transfer.status === "complete" ? 3 : 1;
      return marked(
        [first, { name: tense("Carried out by the bank", "With the bank", "With the bank", 1, reached), ...when(at("complete") ?? at("created")) }, { name: transfer.incoming ? tense("On your balance", "Credit to your balance", "Credit to your balance", 2, reached) : tense("On the bank account", "On the bank account", "On the bank account", 2, reached), ...when(at("complete")) }],
        reached,
        waits,
      );
    }
  }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const when = (at: string | undefined): { at?: string } => (at === undefined ? {} : { at });

type At = (state: string) => string | undefined;

function topUpStops(transfer: Transfer, at: At, waits: boolean): RouteStop[] {
  const topUp = transfer.topUp;
  const from = chainName(topUp?.payment_network ?? "base");
  const leg = (name: string) => topUp?.legs.find((one) => one.leg === name)?.at;
  const crosses = topUp?.payment_network === "solana";
  const paid = { name: `Paid on ${from}`, ...when(at("created")) };
  if (transfer.status === "failed") {
    const failedAt = when(at("failed"));
    const burned = leg("burn");
    const stops: RouteStop[] = [{ is: "done", ...paid }];
    if (burned) stops.push({ is: "done", name: "Burned on Solana", leg: "burn", at: burned });
    stops.push(crosses ? (burned ? { is: "fail", name: "Not minted on Base", leg: "mint", ...failedAt } : { is: "fail", name: "Not burned on Solana", leg: "burn", ...failedAt }) : { is: "fail", name: "Not delivered on Base", leg: "transfer", ...failedAt });
    return [...stops, { is: "done", name: "Back on your balance", ...failedAt }];
  }
  if (!crosses) {
    const reached = { paid: 1, delivered: 2, credited: 3 }[transfer.status] ?? 1;
    return marked(
      [
        paid,
        { name: tense("Delivered on Base", "Delivering on Base", "Deliver on Base", 1, reached), leg: "transfer", ...when(leg("transfer") ?? at("created")) },
        { name: tense("Credited to your cards", "Crediting your cards", "Credit to your cards", 2, reached), ...when(at("credited") ?? at("delivered")), ...(reached === 2 && !waits ? { note: "asks the issuer" } : {}) },
      ],
      reached,
      waits,
    );
  }
  const reached = { paid: 1, bridging: 2, delivered: 3, credited: 4 }[transfer.status] ?? 1;
  return marked(
    [
      paid,
      { name: tense("Burned on Solana", "Burning on Solana", "Burn on Solana", 1, reached), leg: "burn", ...when(leg("burn") ?? at("created")) },
      { name: tense("Minted on Base", "Minting on Base", "Mint on Base", 2, reached), leg: "mint", ...when(leg("mint") ?? leg("burn")), ...(reached === 2 && !waits ? { note: "waits for the attestation" } : {}) },
      { name: tense("Credited to your cards", "Crediting your cards", "Credit to your cards", 3, reached), ...when(at("credited") ?? leg("mint")), ...(reached === 3 && !waits ? { note: "asks the issuer" } : {}) },
    ],
    reached,
    waits,
  );
}

const ENDED: Record<string, [string, string]> = {
  failed: ["Declined", "The price is back on your balance"],
  cancelled: ["It was stopped", "The price is back on your balance"],
  expired: ["No card was entered in 30 days", "The price is back on your balance"],
  returned: ["It came back", "Credited to your balance"],
};

function payoutStops(transfer: Transfer, at: At, waits: boolean): RouteStop[] {
  const payout = transfer.payout;
  const toCard = payout?.product === "push_to_card";
  const rail = railName(transfer);
  const where = toCard ? "their card" : payout?.product === "app_payment" ? "their account" : "their bank account";
  const paid = { name: payout?.payment_id ? "Paid" : "Taken from your balance", ...when(at("created")) };
  const ended = ENDED[transfer.status];
  if (ended) {
    const then = when(at(transfer.status));
    const why = transfer.status === "failed" ? `${capital(rail)} declined it` : ended[0];
    return [{ is: "done", ...paid }, { is: "fail", name: why, ...then }, { is: "done", name: ended[1], ...then }];
  }
  const states = toCard ? ["awaiting-details", "queued", "in-process", "complete"] : ["queued", "in-process", "complete"];
  const reached = states.indexOf(transfer.status) + 1;
  const done = transfer.status === "complete";
  const stops: Omit<RouteStop, "is">[] = [paid];
  if (toCard) stops.push({ name: reached > 1 ? "The recipient entered a card" : "Recipient enters a card", ...when(reached > 1 ? at("queued") : at("created")), ...(reached === 1 ? { note: "the link is below" } : {}) });
  const middle = toCard ? 2 : 1;
  const at_ = reached - (toCard ? 1 : 0);
  stops.push({ name: at_ > 1 ? `Accepted by ${rail}` : at_ === 1 ? `Going to ${rail}` : `With ${rail}`, ...when(at("in-process") ?? at("queued")) });
  stops.push({ name: done ? `On ${where}` : at_ === 2 ? `On its way to ${where}` : `On ${where}`, ...when(at("complete") ?? at("in-process")) });
  const reachedStops = done ? stops.length : transfer.status === "awaiting-details" ? 1 : transfer.status === "queued" ? middle : middle + 1;
  return marked(stops, reachedStops, waits || transfer.status === "awaiting-details");
}

/** Which step it is at, for a list. */
export function stepWords(transfer: Transfer, stops: RouteStop[]): string {
  if (!isOpen(transfer)) return "Ended";
  const index = stops.findIndex((stop) => stop.is === "now" || stop.is === "hold");
  const stop = stops[index];
  return stop ? `Step ${index + 1} of ${stops.length}: ${stop.name}` : "All steps done";
}
