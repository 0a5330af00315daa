// Reasons and causes of the API in plain words.

const REASONS: Record<string, string> = {
  card_program_declined: "The issuer declined to make the card.",
  issuer_declined: "The issuer declined to make the card.",
  insufficient_card_balance: "The card balance was too low.",
  insufficient_funds: "More than the card holds",
  card_paused: "The card was paused",
  card_closed: "The card was closed",
  returned_by_recipient: "The recipient’s bank sent it back.",
  declined_by_rail: "The bank declined it.",
  catalog_declined: "The shop’s catalog declined it.",
  settlement_failed: "The transfer did not settle.",
  burn_declined: "The chain declined the burn.",
  mint_impossible: "The transfer could not be completed on Base.",
  expired: "The time for it ended.",
};

/** A reason in words. One that is not listed is shown as it is, readably. */
export function reasonWords(code: string | null | undefined): string | null {
  if (!code) return null;
  const known = REASONS[code];
  if (known) return known;
  const words = code.replaceAll(/[_-]/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The same as a sentence, beside others. */
export function reasonSentence(code: string | null | undefined): string | null {
  return reasonWords(code)?.replace(/[^.!?]$/, "$&.") ?? null;
}

/** Why something that was paid has not left yet. */
export const HELD_WORDS: Record<string, string> = {
  held_frozen: "It waits because the account is frozen, and goes on when the account is open again.",
  held_restored: "It waits until the service has checked its records after a restore.",
  held_unfinal: "It waits until the payment behind it is final on its chain.",
  needs_operator: "It was not completed in time, so a person at Purser has to look at it. The money is where it is said above.",
};

/** `1` is “one”, above nine it is a figure. */
const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
export const count = (n: number, one: string, many = `${one}s`): string => `${NUMBERS[n] ?? n.toLocaleString("en")} ${n === 1 ? one : many}`;
