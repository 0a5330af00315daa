// Agents: their keys with limits, the managed wallet they spend from, approvals, and stopping all of them.

import { api, money, withQuery } from "../../parts";
import type { AgentInfo, GetAgentWalletResult } from "../../api/public";
import type { Account } from "../account";

type Decimal = number | string;

export interface AgentKey {
  api_key_id: string;
  name: string;
  status: string;
  created_at: string;
  last_used_at: string | null;
  prefix?: string;
  last4?: string;
  limits?: { per_call_usd: Decimal | null; per_day_usd: Decimal | null };
  spent_today_usd?: Decimal;
}

export interface ManagedWallet {
  addresses: { base: string; solana: string };
  limits: { per_call_usd: Decimal; per_day_usd: Decimal | null; approvals?: boolean };
  used_today_usd: Decimal;
  last_refused_spend?: { amount: Decimal; host: string | null; at: string; pay_to: string } | null;
}

export interface Numbers {
  count: number | null;
  usd: Decimal | null;
}

export interface Cap {
  name: string;
  title: string;
  own: Numbers;
  service: Numbers;
  used: Numbers;
}

/** The parts of `GET /account` that this page shows. A service of another version may lack some. */
export const keysOf = (account: Account | null): AgentKey[] => ((account?.api_keys ?? []) as unknown as AgentKey[]).filter((key) => key.status !== "revoked");
export const walletOf = (account: Account | null): ManagedWallet | null => (account?.agent_wallet ?? null) as unknown as ManagedWallet | null;
export const capsOf = (account: Account | null): Cap[] => (Array.isArray(account?.caps) ? (account.caps as Cap[]) : []);

export const readWallet = () => api.call<GetAgentWalletResult>("getAgentWallet", {});

export const setSpending = (limits: { per_call_usd: string; per_day_usd: string; approvals?: boolean }) =>
  api.post("/account/spending", limits, { confirm: { title: "Save these limits?", text: "They count from the next payment on. Only a person can raise a limit; agents never can." } });

export const setCaps = (fields: Record<string, string>) => api.post("/account/caps", fields, { confirm: { title: "Save these limits?", text: "They count from the next purchase on." } });

export const setKeyLimits = (id: string, perCall: string, perDay: string) =>
  api.post("/account/api-keys/limits", { api_key_id: id, per_call_usd: perCall || null, per_day_usd: perDay || null }, { confirm: { title: "Save the limits of this key?", text: "They count from its next payment on." } });

export const revokeKey = (id: string) => api.post("/account/api-keys/revoke", { api_key_id: id });

export interface StopAnswer {
  agents_stopped_at?: string | null;
  api_keys_revoked?: number;
  sessions_ended?: number;
}

export const stopAgents = () => api.post<StopAnswer>("/account/stop-agents");
export const resumeAgents = () =>
  api.post<StopAnswer>("/account/resume-agents", undefined, { confirm: { title: "Let your agents work again?", text: "Agents with a wallet of their own can sign in again. Others ask you, and you approve them." } });

export interface Approval {
  approval_id: string;
  status: string;
  kind: string;
  amount: Decimal;
  asset: string;
  network: string;
  pay_to: string;
  host: string | null;
  note: string | null;
  limits: { limit: string; cap_usd: Decimal; left_usd: Decimal }[];
  api_key_id: string | null;
  api_key_name?: string | null;
  agent?: AgentInfo | null;
  created_at: string;
  expires_at: string;
  decided_at?: string | null;
}

export async function readApprovals(after?: string): Promise<{ rows: Approval[]; next: string | undefined }> {
  const page = await api.get<{ approvals: Approval[]; has_more?: boolean }>(withQuery("/account/approvals", { limit: 20, starting_after: after }));
  return { rows: page.approvals, next: page.has_more ? page.approvals.at(-1)?.approval_id : undefined };
}

export const approve = (one: Approval) =>
  api.post("/account/approvals/approve", { approval_id: one.approval_id }, { confirm: { title: `Approve ${money(one.amount)}`, text: "Only a person can let an agent go over a limit." } });
export const decline = (one: Approval) => api.post("/account/approvals/decline", { approval_id: one.approval_id });

export const agentName = (one: Approval): string => one.agent?.name ?? one.api_key_name ?? "Your agent";

/** What the money is for, in a few words. */
export function purpose(one: Approval): string {
  if (one.note) return `“${one.note}”`;
  if (one.host === "route") return "a purchase at Purser";
  return one.host ? `a call of ${one.host}` : "a transfer";
}

const LIMITS: Record<string, string> = {
  per_call_usd: "a payment",
  per_day_usd: "a day",
  api_key_per_call_usd: "a payment for this agent",
  api_key_per_day_usd: "a day for this agent",
};

export const limitWords = (limit: { limit: string; cap_usd: Decimal }): string => `${money(limit.cap_usd)} ${LIMITS[limit.limit] ?? limit.limit}`;
