// Who works here, and what the role may do. The service decides; the page says so before.

import { signal } from "@preact/signals";
import { type AmountValue, api, frame, followClock } from "../parts";

export type Role = "administrator" | "operator" | "support" | "read-only";
/** What an act needs: as in the operators' API. */
export type Needs = "read" | "freeze" | "note" | "operate" | "tokens";

export interface Operator {
  name: string;
  role: Role;
  /** The session was opened with a token and may do nothing but add the first passkey. */
  mustAddPasskey: boolean;
  /** Whether browsers offer passkeys at this address. */
  passkeysAvailable: boolean;
  /** Null for a token that is sent with each request. */
  sessionId: string | null;
  expiresAt: string | null;
}

const ALLOWED: Record<Needs, readonly Role[]> = {
  read: ["administrator", "operator", "support", "read-only"],
  freeze: ["administrator", "operator", "support"],
  note: ["administrator", "operator", "support"],
  operate: ["administrator", "operator"],
  tokens: ["administrator"],
};
const NAMES: Record<Role, string> = { administrator: "Administrator", operator: "Operator", support: "Support", "read-only": "Read only" };
const WHO: Record<Needs, string> = {
  read: "",
  freeze: "Support, operators and administrators may do this.",
  note: "Support, operators and administrators may do this.",
  operate: "Operators and administrators may do this.",
  tokens: "Administrators may do this.",
};

export const operator = signal<Operator | null>(null);

export const may = (needs: Needs): boolean => operator.value !== null && ALLOWED[needs].includes(operator.value.role);

/** Why an act is not offered. */
export const whyNot = (needs: Needs): string => `${WHO[needs]} Your role is ${operator.value ? NAMES[operator.value.role].toLowerCase() : "not known"}.`;

export const isMe = (name: string | null | undefined): boolean => name !== null && name !== undefined && name === operator.value?.name;

/** What the operator may give alone, and gave today. Null is no limit, or not known. */
export const alone = signal<{ max: AmountValue; dayMax: AmountValue; today: AmountValue }>({ max: null, dayMax: null, today: null });

interface Session {
  operator: string;
  role: Role;
  session_id?: string | null;
  expires_at?: string | null;
  must_add_passkey?: boolean;
  passkeys_available?: boolean;
  alone_max_usd?: AmountValue;
  alone_day_max_usd?: AmountValue;
  given_alone_today_usd?: AmountValue;
  now?: string;
}

function follow(session: Session): void {
  followClock(session.now);
  alone.value = { max: session.alone_max_usd, dayMax: session.alone_day_max_usd, today: session.given_alone_today_usd };
}

/** Follows the service's clock, which the sandbox can move while a page is open, and what the operator gave today. */
export async function readClock(): Promise<void> {
  try {
    follow(await api.get<Session>("/admin/session"));
  } catch {
    // Nobody is signed in, which the page says, or it is asked again soon.
  }
}

/** Reads who is signed in. Throws if nobody is. */
export async function readSession(): Promise<void> {
  const session = await api.get<Session>("/admin/session");
  follow(session);
  const name = session.operator;
  operator.value = {
    name,
    role: session.role,
    mustAddPasskey: session.must_add_passkey === true,
    passkeysAvailable: session.passkeys_available !== false,
    sessionId: session.session_id ?? null,
    expiresAt: session.expires_at ?? null,
  };
  frame.person.value = { name, detail: NAMES[session.role] ?? session.role };
}
