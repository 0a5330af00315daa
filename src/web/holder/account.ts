// The account of the session, loaded once for all pages and again when an event says that it changed.

import { computed, effect, signal } from "@preact/signals";
import { type AmountValue, type ApiFailure, type StreamEvent, api, failure, followClock, frame, frozen, onEnd, onEvent, onGap, signedOut, stream, unauthorized } from "../parts";

/** `GET /account`. Fields that an older service lacks are optional. */
export interface Account {
  user_id: string;
  balance: AmountValue;
  available: AmountValue;
  held: AmountValue;
  total_deposits: AmountValue;
  status: "active" | "frozen";
  created_at: string;
  owner_caps: Record<string, unknown> | null;
  seq: number;
  cards: AccountCard[];
  now?: string;
  rights?: "act" | "look";
  mode?: string;
  passkeys?: number;
  confirmed_until?: string | null;
  /** While the wallet's recovery of the account is in progress. */
  recovery?: { status: string; ready_at: string; expires_at: string } | null;
  /** Where programs call the service. */
  service_url?: string;
  agents_stopped_at?: string | null;
  caps?: unknown;
  identity?: { status: string; rejection_reason?: string | null; check_url?: string | null } | null;
  issuer_link?: { status: string; link_pending?: boolean } | null;
  agent_wallet?: AgentWallet | null;
  agents_on_balance?: unknown;
  api_keys?: ApiKey[];
  connected_agents?: unknown[];
}

export interface AccountCard {
  card_id: string;
  card_type: string;
  status: string;
  usd_amount?: string | number;
  available_usd_amount?: string | number | null;
  charged_usd_amount?: string | number;
  amount?: string | number;
  currency?: string;
  label?: string | null;
  last4?: string | null;
  created_at: string;
  last_updated_at: string;
}

export interface AgentWallet {
  addresses?: { base?: string; solana?: string };
  limits?: { per_call_usd?: AmountValue; per_day_usd?: AmountValue };
  used_today_usd?: AmountValue;
}

export interface ApiKey {
  api_key_id: string;
  name: string;
  status: string;
  last_used_at?: string | null;
  spent_today_usd?: AmountValue;
  limits?: { per_call_usd?: AmountValue | null; per_day_usd?: AmountValue | null };
}

export const account = signal<Account | null>(null);
/** Why the account could not be loaded, if it was not for a missing session or a freeze. */
export const accountError = signal<ApiFailure | null>(null);
/** What a session may do that came with a payment's token: look, not act. */
export const mayAct = computed(() => account.value?.rights !== "look");
/** How long a top-up takes at most, unless something is wrong. */
export const TOP_UP_MOST_MS = 300_000;
/** Where programs call the service: not at `localhost`, where the pages of a service on this computer are. */
export const serviceUrl = computed(() => account.value?.service_url ?? location.origin);
export const agentsStopped = computed(() => account.value?.agents_stopped_at ?? null);

let loading: Promise<void> | null = null;
let again = false;

async function loadOnce(): Promise<void> {
  try {
    account.value = await api.get<Account>("/account");
    followClock(account.value.now);
    accountError.value = null;
    frozen.value = null;
    signedOut.value = false;
  } catch (error) {
    const failed = failure(error);
    if (failed.status === 401) {
      signedOut.value = true;
      account.value = null;
    } else accountError.value = failed.code === "account_frozen" ? null : failed;
  }
}

/** Loads the account again: one request at a time, and one more if it was asked for meanwhile. */
export function loadAccount(): Promise<void> {
  again = true;
  loading ??= (async () => {
    while (again) {
      again = false;
      await loadOnce();
    }
    loading = null;
  })();
  return loading;
}

/** What events of these types change is in the event, so that the account is not loaded again for each purchase. */
const BALANCE = /^balance\./;
const CARD = /^(card|gift_card|intl_order|reloadable_card)\./;
/** Events that change nothing of what `GET /account` shows. */
const ELSEWHERE = /^(payment|payout|top_up|withdrawal|card_withdrawal|refund|late_return|webhook|bank_|banking_|payment_recipient)/;
/** A burst of other events loads the account once. */
const PAUSE_MS = 300;
let timer: ReturnType<typeof setTimeout> | undefined;

function happened(event: StreamEvent): void {
  const shown = account.value;
  if (!shown || event.seq <= shown.seq) return;
  const object = event.data.object;
  if (BALANCE.test(event.type)) {
    const { balance, available, held, total_deposits } = object as unknown as Account;
    account.value = { ...shown, balance, available, held, total_deposits, seq: event.seq };
  } else if (CARD.test(event.type)) {
    const card = object as unknown as AccountCard;
    const known = shown.cards.findIndex((one) => one.card_id === card.card_id);
    const cards = known < 0 ? [card, ...shown.cards].slice(0, CARDS) : shown.cards.with(known, card);
    account.value = { ...shown, cards, seq: event.seq };
  } else if (!ELSEWHERE.test(event.type)) {
    timer ??= setTimeout(() => {
      timer = undefined;
      void loadAccount();
    }, PAUSE_MS);
  }
}

/** As many as `GET /account` shows. */
const CARDS = 50;

/** Loads the account and opens the stream after it. */
export async function startAccount(): Promise<void> {
  unauthorized.run = () => {
    // The account itself was asked for, or it says whether the session is over.
    if (!loading) void loadAccount();
  };
  onEvent("*", happened);
  onGap(() => void loadAccount());
  onEnd((why) => {
    if (why === "signed-out") signedOut.value = true;
    else frozen.value ??= "";
    void loadAccount();
  });
  effect(() => {
    const shown = account.value;
    if (!shown) return;
    frame.person.value = { name: shown.user_id, address: true, detail: shown.rights === "look" ? "You can look" : "Your account" };
    frame.sandbox.value = shown.mode === "sandbox";
  });
  frame.signOut.run = async () => {
    try {
      await api.post("/account/sign-out");
    } finally {
      stream.stop();
      signedOut.value = true;
      account.value = null;
    }
  };
  await loadAccount();
  if (account.value) stream.start(account.value.seq);
  else stream.connection.value = "ended";
}

/** After signing in on this page, and after a freeze. */
export async function restartAccount(): Promise<void> {
  await loadAccount();
  if (account.value && frozen.value === null && !signedOut.value) stream.start(account.value.seq);
}
