// What only the owner does: passkeys, sessions, identity, the link to the card issuer.

import { api } from "../../parts";
import type { AgentInfo } from "../../api/public";

export interface Passkey {
  passkey_id: string;
  name: string;
  /** Can be on several devices. */
  synced?: boolean;
  created_at: string;
  last_used_at: string | null;
}

export interface Passkeys {
  passkeys: Passkey[];
  /** Whether browsers offer passkeys at this address. */
  available?: boolean;
  confirmed_until?: string | null;
}

export const readPasskeys = () => api.get<Passkeys>("/account/passkeys");
export const renamePasskey = (passkey: Passkey, name: string) => api.post("/account/passkeys/rename", { passkey_id: passkey.passkey_id, name });
export const removePasskey = (passkey: Passkey) =>
  api.post("/account/passkeys/remove", { passkey_id: passkey.passkey_id }, { confirm: { title: `Remove “${passkey.name}”?`, text: "This passkey no longer opens the account or confirms anything." } });

/** One that may read or act: this browser, another one, or an agent. */
export interface Session {
  session_id: string;
  /** Whether it is the one of this page. */
  current?: boolean;
  kind: "browser" | "token";
  /** `wallet`, `payment`, `api_key` or `passkey`. */
  opened_by: string;
  payment_id?: string | null;
  api_key_id?: string | null;
  parent_session_id?: string | null;
  agent?: AgentInfo | null;
  created_at: string;
  last_used_at?: string | null;
  expires_at?: string | null;
}

export const readSessions = async (): Promise<Session[]> => (await api.get<{ sessions: Session[] }>("/account/sessions")).sessions;
export const endSession = (id: string) => api.post("/account/sessions/end", { session_id: id });

export interface Identity {
  status: string;
  rejection_reason?: string | null;
  /** Where the owner goes on, while a check waits for it. */
  check_url?: string | null;
  last_updated_at?: string;
}

export const startIdentity = () => api.post<{ identity: Identity }>("/account/identity");

export interface IssuerLink {
  status: string;
  /** The issuer is being asked. */
  link_pending?: boolean;
  decline_reason?: string | null;
  deposit_address?: string | null;
}

export const linkIssuer = () => api.post<{ issuer_link: IssuerLink | null }>("/account/link");
export const unlinkIssuer = () =>
  api.post<{ issuer_link: IssuerLink | null }>("/account/unlink", undefined, { confirm: { title: "Unlink the card issuer?", text: "Reloadable cards and top-ups need the link. The issuer keeps your account and its balance." } });

/** The balance at the card issuer, and where top-ups go. */
export const readCardBalance = () => api.get<{ address: string; network: string; balance: number | string | null }>("/get-card-deposit-address");
