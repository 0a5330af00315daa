// Spends over the owner's limits that wait for a yes.

import { type Bought, api, boughtWords, failure, money, short } from "../parts";
import type { ApiKey } from "./account";

/** As in `GET /account/approvals`. */
export interface Approval {
  approval_id: string;
  status: string;
  kind?: string;
  amount: string | number;
  network?: string | null;
  pay_to?: string | null;
  host?: string | null;
  bank_payee_id?: string | null;
  payee_name?: string | null;
  used_by?: string | null;
  note?: string | null;
  purchase?: Bought | null;
  limits?: { limit: string; cap_usd: string | number; left_usd: string | number }[];
  api_key_id?: string | null;
  api_key_name?: string | null;
  agent?: { name?: string } | null;
  created_at?: string;
  expires_at?: string;
  decided_at?: string | null;
}

export const LIMITS: Record<string, string> = {
  per_call_usd: "a payment",
  per_day_usd: "a day",
  api_key_per_call_usd: "a payment with this key",
  api_key_per_day_usd: "a day with this key",
  merchant_per_day_usd: "a day at this merchant",
  balance_per_call_usd: "at once from your balance",
  balance_per_day_usd: "a day from your balance",
};

/** Whether an answer is of use: an agent whose key has ended cannot do what it asked for. */
export const waits = (one: Approval, keys: readonly ApiKey[] = []): boolean =>
  one.status === "pending" && (!one.api_key_id || keys.some((key) => key.api_key_id === one.api_key_id && key.status !== "revoked"));

export async function loadApprovals(): Promise<Approval[]> {
  try {
    const answer = await api.get<{ approvals: Approval[] }>("/account/approvals?limit=50");
    return answer.approvals.filter((one) => one.status === "pending");
  } catch (error) {
    // A session that only looks has nothing to approve.
    if (failure(error).code === "sign_in_required") return [];
    throw error;
  }
}

export const approvalAgent = (one: Approval): string => one.agent?.name || one.api_key_name || "Your agent";

/** The same inside a sentence. */
export const approvalAgentInside = (one: Approval): string => approvalAgent(one).replace(/^Your agent$/, "your agent");

/** What the API calls this service where it names a merchant. */
export const OWN = "route";

/** A merchant by the name of its host. */
export const merchantName = (host: string): string => (host === OWN ? "Purser (this service)" : host.replace(/:443$/, ""));

export function payee(one: Approval): string {
  if (one.host) return merchantName(one.host);
  if (one.pay_to) return short(one.pay_to);
  if (one.payee_name) return one.payee_name;
  return one.kind === "bank_transfer" ? "your bank account" : one.bank_payee_id ? "a bank account" : "an address";
}

const ACTS: Record<string, (amount: string, to: string) => string> = {
  withdrawal: (amount, to) => `withdraw ${amount} to ${to}`,
  card_balance_withdrawal: (amount, to) => `withdraw ${amount} of your card balance to ${to}`,
  bank_transfer: (amount, to) => `move ${amount} to ${to}`,
  bank_payout: (amount, to) => `pay ${amount} to ${to}`,
  transfer: (amount, to) => `send ${amount} to ${to}`,
};

/** “send $12.00 to 0x12…34”, “buy a $480.00 US card” */
export const actWords = (one: Approval): string => one.purchase ? boughtWords(one.purchase, one.amount) : (ACTS[one.kind ?? ""] ?? ((amount, to) => `pay ${amount} to ${to}`))(money(one.amount), payee(one));

/** Where the money comes from. */
export const sourceWords = (one: Approval): string =>
  ({ withdrawal: "your balance", card_balance_withdrawal: "your card balance", bank_transfer: "your balance", bank_payout: "your balance" })[one.kind ?? ""] ?? "the agents’ wallet";

/** “Over your limit of $200.00 a payment.” */
export function approvalReason(one: Approval): string {
  const over = (one.limits ?? []).map((limit) => `${money(limit.cap_usd)} ${LIMITS[limit.limit] ?? ""}`.trim());
  return over.length > 0 ? `Over your limit of ${over.join(" and ")}.` : "Over one of your limits.";
}

export const approvalWords = (one: Approval): string => `wants to ${actWords(one)}${one.note ? ` for “${one.note}”` : ""}`;

/** The same with its subject: for the name of a button beside others that would be called the same. */
export const approvalSays = (one: Approval): string => `${approvalAgent(one)} ${approvalWords(one)}`;

export async function answer(one: Approval, yes: boolean): Promise<void> {
  await api.post(
    `/account/approvals/${yes ? "approve" : "decline"}`,
    { approval_id: one.approval_id },
    { confirm: { title: `Approve ${money(one.amount)}`, text: `To ${payee(one)}, once. Only a person can let an agent go over a limit.` } },
  );
}
