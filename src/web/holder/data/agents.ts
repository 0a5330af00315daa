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

/** The newest spends over a limit, decided ones too. */
export const readApprovals = async (): Promise<Approval[]> => (await api.get<{ approvals: Approval[] }>(withQuery("/account/approvals", { limit: 50 }))).approvals;
