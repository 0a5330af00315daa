// Names that the first screen shows. What is loaded later has its words in `acts.ts` and `words.ts`.

import type { Tone } from "../parts";

export const spaced = (word: string): string => word.replaceAll(/[._-]/g, " ");
export const upper = (text: string): string => text.replace(/^./u, (letter) => letter.toUpperCase());

const PROVIDERS: Record<string, string> = {
  base: "Base",
  solana: "Solana",
  card_issuer: "Card issuer",
  gift_cards: "Gift cards",
  payouts: "Payout rails",
  identity: "Identity check",
  issuer_accounts: "Issuer accounts",
  reloadable_cards: "Reloadable cards",
  bank: "Bank",
  bridge: "Bridge",
};
export const providerName = (name: string): string => PROVIDERS[name] ?? upper(spaced(name));

export const HEALTH: Record<string, { tone: Tone; word: string }> = {
  ok: { tone: "done", word: "Good" },
  slow: { tone: "wait", word: "Slow" },
  errors: { tone: "wait", word: "Errors" },
  failing: { tone: "bad", word: "Failing" },
  idle: { tone: "off", word: "No calls" },
};

/** The amount of a resource or of what an event tells, for exports. */
export const amountOf = (object: Record<string, unknown> | undefined): string | null => {
  const amount = object?.amount ?? object?.usd_amount ?? object?.charged_usd_amount;
  return amount === undefined || amount === null ? null : String(amount);
};
