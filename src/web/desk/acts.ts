// Names of ledger accounts, and of what operators did.

import type { IconName, Tone } from "../parts";
import { spaced } from "./names";

const LEDGER: Record<string, string> = {
  treasury_base: "Treasury on Base",
  treasury_solana: "Treasury on Solana",
  customers: "Balances of holders",
  customers_held: "Held for holders",
  suspense: "In suspense",
  provider_card_issuer: "Card issuer",
  provider_intl_fulfilment: "International cards",
  provider_gift_cards: "Gift cards",
  provider_push_to_card: "Payouts to cards",
  provider_bank: "Payouts to banks",
  provider_payment_apps: "Payment apps",
  provider_card_balances: "Card balances",
  provider_banking: "Bank accounts of holders",
  fee_revenue: "Fees earned",
  operating_costs: "Operating costs",
  network_fees: "Network fees",
  bridge_surplus: "Bridge surplus",
  losses: "Losses",
  operator_funds: "Own funds",
};
export const ledgerName = (account: string): string => LEDGER[account] ?? spaced(account);

/** What an operator did: a verb with its object, an icon and a tone. */
const ACTS: Record<string, readonly [says: string, icon: IconName, tone: Tone]> = {
  "account.freeze": ["froze an account", "freeze", "bad"],
  "account.unfreeze": ["unfroze an account", "check", "done"],
  "approval.approve": ["approved what a colleague asked", "check", "done"],
  "approval.reject": ["refused what a colleague asked", "close", "off"],
  "approval.request": ["asked for an approval", "hand", "wait"],
  "card_withdrawal.claim": ["claimed a card withdrawal", "wallet", "move"],
  "card_withdrawal.closed_at_issuer": ["found a card withdrawal closed at the issuer", "wallet", "off"],
  "card_withdrawal.fulfil": ["paid a card withdrawal", "wallet", "done"],
  "card_withdrawal.reject": ["refused a card withdrawal", "close", "off"],
  "card_withdrawal.release": ["put a card withdrawal back", "undo", "off"],
  "card_withdrawal.renew": ["extended a claim of a withdrawal", "clock", "move"],
  "chain.accept": ["accepted a chain that replaced blocks", "link", "wait"],
  "customer.note": ["wrote a note", "edit", "off"],
  "incoming.credit": ["credited a transfer", "plus", "done"],
  "incoming.operator_funds": ["kept a transfer as own funds", "bank", "off"],
  "incoming.return": ["returned a transfer", "undo", "move"],
  "intl_order.claim": ["claimed an order", "globe", "move"],
  "intl_order.fulfil": ["made a card", "card", "done"],
  "intl_order.reject": ["refused an order", "close", "off"],
  "intl_order.release": ["put an order back", "undo", "off"],
  "intl_order.renew": ["extended a claim of an order", "clock", "move"],
  "intl_order.report": ["reported the state of a card", "card", "move"],
  "job.credit": ["credited stuck work", "undo", "done"],
  "job.keep": ["ended a withheld credit", "bank", "off"],
  "job.resolve": ["decided stuck work", "check", "done"],
  "job.retry": ["tried stuck work again", "again", "move"],
  "line.close": ["closed a product line", "lock", "bad"],
  "line.open": ["opened a product line", "play", "done"],
  "order.book": ["attributed an order of a lost time", "books", "done"],
  "passkey.add": ["added a passkey", "passkey", "wait"],
  "passkey.remove": ["removed a passkey", "passkey", "off"],
  "refund.approve": ["approved a refund", "check", "done"],
  "refund.reject": ["refused a refund", "close", "off"],
  "refund.request": ["asked for a refund", "undo", "wait"],
  "session.confirm": ["confirmed with a passkey", "passkey", "off"],
  "session.end": ["ended a session of the desk", "leave", "off"],
  "session.open": ["signed in to the desk", "key", "off"],
  "suspended.confirm": ["confirmed access from before a restore", "key", "wait"],
  "token.create": ["made an operator’s token", "key", "wait"],
  "token.revoke": ["ended an operator’s token", "key", "off"],
  "transfer.attribute": ["attributed a transfer", "books", "done"],
  "webhook.redeliver": ["sent a webhook again", "webhook", "move"],
};
export const actSays = (action: string): string => ACTS[action]?.[0] ?? spaced(action);
export const actIcon = (action: string): IconName => ACTS[action]?.[1] ?? "audit";
export const actTone = (action: string): Tone => ACTS[action]?.[2] ?? "off";

/** The part of the audit log to which an action belongs. */
export function actArea(action: string): "money" | "access" | "other" {
  if (/^(account|token|suspended|passkey|session)\./.test(action)) return "access";
  return /^(approval|refund|incoming|transfer|order)\.|\.(credit|keep|resolve|fulfil|reject|report)$/.test(action) ? "money" : "other";
}
