// Spends over the owner's limits that wait for a yes.

import { api, failure, money, short, toast } from "../parts";

/** As in `GET /account/approvals`. */
export interface Approval {
  approval_id: string;
  status: string;
  kind?: string;
  amount: string | number;
  network?: string;
  pay_to?: string;
  host?: string | null;
  note?: string | null;
  limits?: { limit: string; cap_usd: string | number; left_usd: string | number }[];
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
};

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
export const payee = (one: Approval): string => one.host || (one.pay_to ? short(one.pay_to) : "an address");

/** “Over your limit of $200.00 a payment.” */
export function approvalReason(one: Approval): string {
  const over = (one.limits ?? []).map((limit) => `${money(limit.cap_usd)} ${LIMITS[limit.limit] ?? ""}`.trim());
  return over.length > 0 ? `Over your limit of ${over.join(" and ")}.` : "Over one of your limits.";
}

export const approvalWords = (one: Approval): string => `wants to pay ${money(one.amount)} to ${payee(one)}${one.note ? ` for “${one.note}”` : ""}`;

export async function answer(one: Approval, yes: boolean): Promise<void> {
  await api.post(
    `/account/approvals/${yes ? "approve" : "decline"}`,
    { approval_id: one.approval_id },
    { confirm: { title: `Approve ${money(one.amount)}`, text: `To ${payee(one)}, once. Only a person can let an agent go over a limit.` } },
  );
}

export async function decline(one: Approval): Promise<void> {
  await answer(one, false);
  toast(`Declined. ${approvalAgent(one)} is told.`);
}
