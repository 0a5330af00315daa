// Agents: their keys with limits, the managed wallet they spend from, and what waits for the owner.

import { api, withQuery } from "../../parts";
import type { GetAgentWalletResult } from "../../api/public";
import type { Account } from "../account";
import type { Approval } from "../approvals";

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

export interface MerchantLimits {
  hosts: { host: string; per_day_usd: Decimal }[];
  others_per_day_usd: Decimal | null;
}

export interface MerchantToday {
  host: string;
  per_day_usd: Decimal | null;
  used_today_usd: Decimal;
}

/** What agents may take out of the balances of the account. */
export interface BalanceLimits {
  per_call_usd: Decimal | null;
  per_day_usd: Decimal | null;
  approvals: boolean;
  taken_today_usd: Decimal;
}

export interface ManagedWallet {
  addresses: { base: string; solana: string };
  limits: { per_call_usd: Decimal; per_day_usd: Decimal | null; approvals?: boolean; merchants?: MerchantLimits | null };
  used_today_usd: Decimal;
  merchants_today?: MerchantToday[];
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
export const balanceLimitsOf = (account: Account | null): BalanceLimits | undefined => (account?.agents_on_balance ?? undefined) as BalanceLimits | undefined;
export const capsOf = (account: Account | null): Cap[] => (Array.isArray(account?.caps) ? (account.caps as Cap[]) : []);

export const readWallet = () => api.call<GetAgentWalletResult>("getAgentWallet", {});

export const setSpending = (limits: { per_call_usd: string; per_day_usd: string; approvals?: boolean }) =>
  api.post("/account/spending", limits, { confirm: { title: "Save these limits?", text: "They count from the next payment on. Only a person can raise a limit; agents never can." } });

export const setMerchants = (hosts: { host: string; per_day_usd: string }[], others: string | null) =>
  api.post("/account/merchant-limits", { hosts, others_per_day_usd: others }, { confirm: { title: "Save these limits?", text: "They count from the next payment on. Only a person can raise a limit; agents never can." } });

export const setBalanceLimits = (limits: { per_call_usd: string | null; per_day_usd: string | null; approvals: boolean }) =>
  api.post("/account/balance-limits", limits, { confirm: { title: "Save these limits?", text: "They count from the next withdrawal or payout of an agent on. Only a person can raise a limit; agents never can." } });

export const setCaps = (fields: Record<string, string>) => api.post("/account/caps", fields, { confirm: { title: "Save these limits?", text: "They count from the next purchase on." } });

export const setKeyLimits = (id: string, perCall: string, perDay: string) =>
  api.post("/account/api-keys/limits", { api_key_id: id, per_call_usd: perCall || null, per_day_usd: perDay || null }, { confirm: { title: "Save the limits of this key?", text: "They count from its next payment on." } });

export const revokeKey = (id: string) => api.post("/account/api-keys/revoke", { api_key_id: id });

/** A page of decided spends, newest first. */
export async function readDecided(after: string | undefined): Promise<{ rows: Approval[]; next: string | undefined }> {
  const answer = await api.get<{ approvals: Approval[]; has_more: boolean }>(withQuery("/account/approvals", { limit: 20, ...(after ? { starting_after: after } : {}) }));
  return { rows: answer.approvals.filter((one) => one.status !== "pending"), next: answer.has_more ? answer.approvals.at(-1)?.approval_id : undefined };
}

/** The newest spends over a limit, decided ones too. */
export const readApprovals = async (): Promise<Approval[]> => (await api.get<{ approvals: Approval[] }>(withQuery("/account/approvals", { limit: 50 }))).approvals;
