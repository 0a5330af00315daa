// Names of what the operators' API calls by its own words.

import type { Tone } from "../parts";
import { spaced, upper } from "./names";

/** What went wrong, by the type of the job. */
const JOBS: Record<string, { title: string; doing: string; other: string }> = {
  settle_payment: { title: "A payment is not settled", doing: "Settle a payment", other: "The chain" },
  watch_payment: { title: "A payment is not known", doing: "Watch a payment", other: "The chain" },
  issue_card: { title: "A US card is not made", doing: "Make a US card", other: "The issuer" },
  refresh_card: { title: "A card is not refreshed", doing: "Refresh a card", other: "The issuer" },
  change_prepaid_card_state: { title: "A card action is not done", doing: "Change a US card", other: "The issuer" },
  credit_account: { title: "A credit is not booked", doing: "Credit an account", other: "Our ledger" },
  order_gift_card: { title: "A gift card is not delivered", doing: "Order a gift card", other: "The seller" },
  check_identity: { title: "An identity check has no result", doing: "Check an identity", other: "The identity check" },
  open_issuer_account: { title: "An issuer account is not open", doing: "Open an issuer account", other: "The issuer" },
  send_withdrawal: { title: "A withdrawal is not sent", doing: "Send a withdrawal", other: "The chain" },
  send_payout: { title: "A payout is not sent", doing: "Send a payout", other: "The rail" },
  recall_payout: { title: "A payout is not recalled", doing: "Recall a payout", other: "The rail" },
  send_top_up: { title: "A top-up is not sent", doing: "Send a top-up", other: "The chain" },
  bridge_top_up: { title: "A top-up is stuck on the bridge", doing: "Bridge a top-up", other: "The bridge" },
  await_issuer_credit: { title: "The issuer has not credited a top-up", doing: "Wait for the issuer's credit", other: "The issuer" },
  send_wallet_payment: { title: "A wallet payment is not sent", doing: "Send a wallet payment", other: "The chain" },
  submit_bank_application: { title: "A bank application is not decided", doing: "Submit a bank application", other: "The bank" },
  open_bank_account: { title: "A bank account is not open", doing: "Open a bank account", other: "The bank" },
  execute_bank_transfer: { title: "A bank transfer is not done", doing: "Execute a bank transfer", other: "The bank" },
  open_reloadable_card: { title: "A reloadable card is not open", doing: "Open a reloadable card", other: "The issuer" },
  change_card_state: { title: "A card action is not done", doing: "Change a reloadable card", other: "The issuer" },
  hold_card_balance: { title: "A card withdrawal is not held", doing: "Hold a card balance", other: "The issuer" },
  settle_card_hold: { title: "A hold at the issuer is not settled", doing: "Settle a hold", other: "The issuer" },
  send_back: { title: "A transfer is not returned", doing: "Return a transfer", other: "The chain" },
  release_credit: { title: "A credit is withheld", doing: "Release a credit", other: "The chain" },
  deliver_webhook: { title: "A webhook is not delivered", doing: "Deliver a webhook", other: "The endpoint" },
  expire_card: { title: "A card does not expire", doing: "Expire a card", other: "Our ledger" },
  expire_intl_card: { title: "A card does not expire", doing: "Expire an international card", other: "Our ledger" },
  expire_order_lease: { title: "A claim does not end", doing: "End the claim of an order", other: "Our ledger" },
  expire_withdrawal_lease: { title: "A claim does not end", doing: "End the claim of a withdrawal", other: "Our ledger" },
  mark_order_overdue: { title: "An order is not marked late", doing: "Mark an order late", other: "Our ledger" },
  expire_payout: { title: "A payout link does not end", doing: "End a payout link", other: "Our ledger" },
  expire_refund: { title: "A refund request does not end", doing: "End a refund request", other: "Our ledger" },
  shred_cvv: { title: "A CVV is not destroyed", doing: "Destroy a CVV", other: "Our keys" },
  shred_account_number: { title: "An account number is not destroyed", doing: "Destroy an account number", other: "Our keys" },
};
export const isJob = (type: string): boolean => type in JOBS;
export const jobTitle = (type: string): string => JOBS[type]?.title ?? `Not done: ${spaced(type)}`;
export const jobDoing = (type: string): string => JOBS[type]?.doing ?? upper(spaced(type));
export const otherOf = (type: string): string => JOBS[type]?.other ?? "The other end";

const APPROVALS: Record<string, string> = {
  credit_back: "Credit stuck work back",
  resolve: "Decide stuck work",
  reject_intl: "Refuse an international order",
  pay_card_withdrawal: "Pay a card withdrawal",
  credit_transfer: "Credit an incoming transfer",
  return_transfer: "Return an incoming transfer",
  book_loss: "Book a transfer as a loss",
  book_order: "Attribute an order",
  book_outlay: "Attribute a transfer to the business",
};
export const isApproval = (act: string): boolean => act in APPROVALS;
export const approvalSays = (act: string): string => APPROVALS[act] ?? upper(spaced(act));

const DISCREPANCIES: Record<string, string> = {
  unexpected_at_provider: "They have it, we do not",
  missing_at_provider: "We have it, they do not",
  amount_mismatch: "Amounts differ",
  status_mismatch: "States differ",
  unmatched_deposit: "A transfer in that nothing explains",
  missing_deposit: "A transfer in that the chain lacks",
  unmatched_transfer: "A transfer out that nothing explains",
  missing_transfer: "A transfer out that the chain lacks",
};
export const discrepancySays = (kind: string): string => DISCREPANCIES[kind] ?? upper(spaced(kind));

const KINDS: Record<string, string> = {
  account: "Account", payment: "Payment", card: "US card", session: "Session", gift_card: "Gift card", intl_order: "International card", identity: "Identity",
  issuer_link: "Issuer link", top_up: "Top-up", withdrawal: "Withdrawal", payout: "Payout", payment_recipient: "Payment recipient",
  bank_destination: "Bank recipient", banking_profile: "Banking profile", reloadable_card: "Reloadable card", card_withdrawal: "Card withdrawal",
  late_return: "Late return", agent_wallet: "Agent wallet", wallet_payment: "Wallet payment", banking_application: "Banking application",
  bank_account: "Bank account", bank_transfer: "Bank transfer", discrepancy: "Discrepancy", api_key: "API key", webhook: "Webhook",
  webhook_delivery: "Webhook delivery", refund: "Refund", incoming_transfer: "Incoming transfer", line: "Product line", job: "Work", approval: "Approval",
  transfer: "Transfer on chain", recovery: "Recovery", passkey: "Passkey",
};
export const kindName = (kind: string): string => KINDS[kind] ?? upper(spaced(kind));
const PLURALS: Record<string, string> = { identity: "Identity", agent_wallet: "Agent wallet", banking_profile: "Banking profile", webhook_delivery: "Webhook deliveries", recovery: "Recoveries", discrepancy: "Discrepancies" };
export const kindNames = (kind: string): string => PLURALS[kind] ?? `${kindName(kind)}s`;

const PRODUCTS: Record<string, string> = {
  usa_prepaid_card: "US cards", intl_prepaid_card: "International cards", gift_card: "Gift cards", push_to_card: "Payouts to cards", bank_payment: "Payouts to banks",
  app_payment: "Payouts to payment apps", card_balance: "Top-ups of card balances",
};
export const productName = (line: string): string => PRODUCTS[line] ?? upper(spaced(line));

const SOURCES: Record<string, string> = {
  base: "Base", solana: "Solana", cards: "US cards", gift_cards: "Gift cards", payouts: "Payouts", bank_transfers: "Bank transfers", bank_deposits: "Bank deposits",
  reloadable_cards: "Reloadable cards", card_balances: "Card balances", bridge: "Bridge", prepaid_remainders: "Remainders of US cards",
};
export const sourceName = (source: string): string => SOURCES[source] ?? upper(spaced(source));

/** What a provider or chain says of a job now. */
export const PROVIDER_SAYS: Record<string, readonly [Tone, string, string]> = {
  not_submitted: ["off", "Never sent", "It knows nothing of this."],
  pending: ["move", "Pending", "It has it and has not finished."],
  held: ["wait", "Held", "It holds the money."],
  completed: ["done", "Done", "It did it."],
  declined: ["bad", "Declined", "It refused."],
  returned: ["wait", "Returned", "It did it, and the money came back."],
};

/** A sentence for the holder, for an operator: it is not their balance. */
export const forOperators = (text: string): string =>
  text
    .replaceAll(/\bYour agents’/g, "The agents’")
    .replaceAll(/\byour agents\b/g, "the holder’s agents")
    .replaceAll(/\bYour agent\b/g, "The agent")
    .replaceAll(/\bYour\b/g, "The holder’s")
    .replaceAll(/\byour\b/g, "the holder’s")
    .replaceAll(/\bYou\b/g, "The holder")
    .replaceAll(/\byou cancel\b/g, "the holder cancels");
