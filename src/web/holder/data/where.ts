// Of a transfer: where its money is now, and what happens next. In words, for each state that it can have.

import { isZero, money } from "../../parts";
import { chainName } from "../chain";
import { type Transfer, amountWords, needsOperator, railName } from "./transfers";

export interface Where {
  /** Where the money is. */
  now: string;
  /** What happens next; nothing once it is over. */
  next: string | null;
  /** It came back to the balance of the account, or never left it. */
  back: boolean;
}

const over = (now: string): Where => ({ now, next: null, back: false });
const moves = (now: string, next: string): Where => ({ now, next, back: false });
const came = (now: string): Where => ({ now, next: null, back: true });

/** How often a first transfer was signed again, if it was. */
export function retryWords(transfer: Transfer): string | null {
  const again = transfer.progress?.signed_again ?? 0;
  if (again === 0) return null;
  const most = transfer.progress?.signed_at_most ?? 3;
  return `The chain did not take the first transfer in time, and it can never settle any more. It was signed again ${again === 1 ? "once" : `${again} times`}; after ${most} times the price is credited to your balance.`;
}

export function whereOf(transfer: Transfer): Where {
  const where = byKind(transfer);
  return needsOperator(transfer) ? { ...where, next: "A person at Purser finds out what happened, and completes or ends it." } : where;
}

function byKind(transfer: Transfer): Where {
  switch (transfer.kind) {
    case "top_up":
      return topUp(transfer);
    case "payout":
      return payout(transfer);
    case "withdrawal": {
      const chain = chainName(transfer.withdrawal?.network ?? "base");
      switch (transfer.status) {
        case "pending":
          return moves(`${amountWords(transfer)} is held on your balance. Nothing has left yet.`, `It is signed and sent on ${chain}.`);
        case "sent":
          return moves(`${amountWords(transfer)} has left Purser and is on ${chain}, not confirmed yet.`, `${chain} confirms it. If it can never settle, the amount is available again.`);
        case "complete":
          return over(`${amountWords(transfer)} is in the wallet that it was sent to.`);
        default:
          return came(`${amountWords(transfer)} is on your balance, available again. Nothing arrived on ${chain}.`);
      }
    }
    case "card_withdrawal":
      switch (transfer.status) {
        case "pending":
          return moves(`${amountWords(transfer)} is on your card balance.`, "The issuer holds the amount.");
        case "queued":
          return moves(`The issuer holds ${amountWords(transfer)} of your card balance.`, "An operator pays it out, usually within a day.");
        case "claimed":
          return moves(`The issuer holds ${amountWords(transfer)} of your card balance.`, "The operator who works on it sends the USDC.");
        case "complete":
          return over(`${amountWords(transfer)} is in the wallet that it was sent to.`);
        default:
          return over(`${amountWords(transfer)} is on your card balance again. Nothing was sent.`);
      }
    case "bank_transfer":
      switch (transfer.status) {
        case "pending":
          return transfer.incoming
            ? moves(`${amountWords(transfer)} is with the bank.`, "Once the bank has it, it is credited to your balance.")
            : moves(`${amountWords(transfer)} was taken from your balance and is with the bank.`, "The bank carries it out. What it refuses is back on your balance.");
        case "complete":
          return transfer.incoming ? came(`${amountWords(transfer)} is on your balance.`) : over(`${amountWords(transfer)} is on the bank account.`);
        default:
          return transfer.incoming ? over("The sender’s bank has it. Nothing was credited to your balance.") : came(`${returned(transfer)} is on your balance again.`);
      }
  }
}

const returned = (transfer: Transfer): string => {
  const amount = transfer.bank?.returnedAmount;
  return amount !== undefined && amount !== null && !isZero(amount) ? money(amount, transfer.currency) : amountWords(transfer);
};

function topUp(transfer: Transfer): Where {
  const crosses = transfer.topUp?.payment_network === "solana";
  switch (transfer.status) {
    case "paid":
      return moves(`${amountWords(transfer)} was paid to Purser on ${crosses ? "Solana" : "Base"} and has not gone on yet.`, crosses ? "It is burned on Solana, to be minted on Base. What cannot leave is credited to your balance." : "It is sent to your deposit address. What cannot be sent is credited to your balance.");
    case "bridging":
      return moves(
        `${amountWords(transfer)} was burned on Solana and is not on Base yet: the bridge owes it to your deposit address, and to nobody else.`,
        transfer.progress?.attested ? "The bridge has attested the burn. It is minted on Base." : "The bridge attests the burn, then it is minted on Base. It is credited to your balance only if the mint is proven impossible.",
      );
    case "delivered":
      return moves(
        `${amountWords(transfer)} is at your own deposit address at the card issuer.`,
        "The issuer counts it in your card balance. If that takes an hour, a person has to look at it.",
      );
    case "credited":
      return over(`${amountWords(transfer)} is on your card balance.`);
    default:
      return came(`${amountWords(transfer)} is on your balance: it can be spent or withdrawn, or topped up again.`);
  }
}

function payout(transfer: Transfer): Where {
  const one = transfer.payout;
  const price = money(one?.charged_usd_amount);
  const taken = one?.payment_id ? "was paid to Purser" : "was taken from your balance";
  const rail = railName(transfer);
  const back = one?.credited_amount;
  const credited = back !== undefined && back !== null ? money(back) : price;
  switch (transfer.status) {
    case "awaiting-details":
      return moves(`${price} ${taken} and waits for the recipient.`, "They enter a debit card. After 30 days without one, the full price is back on your balance.");
    case "queued":
      return moves(`${price} ${taken} and has not been sent yet.`, `It goes to ${rail}. What ${rail} refuses is back on your balance, its fee included.`);
    case "in-process":
      return moves(`${amountWords(transfer)} is with ${rail}, on its way to the recipient.`, `${capital(rail)} pays the recipient. If it refuses, the full price is back on your balance.`);
    case "complete":
      return over(`The recipient has ${amountWords(transfer)}.`);
    case "returned":
      return came(`It came back, and ${credited} of ${price} is on your balance. The fee stays paid.`);
    default:
      return came(`${credited} is on your balance, the fee included. The recipient got nothing.`);
  }
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
