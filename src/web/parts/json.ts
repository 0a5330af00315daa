// JSON with exact amounts. The API writes amounts as numbers; here they are the texts of those numbers, because a float
// does not hold every amount.

/** Parses JSON. Numbers with a fraction become texts. */
export function parseExact(text: string): unknown {
  const exact = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && !Number.isSafeInteger(value) ? (context?.source ?? String(value)) : value;
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown);
}

/** An amount in a body: sent as the number that is typed, to the last figure. */
export class Exact {
  readonly text: string;

  constructor(text: string) {
    if (!/^-?\d+(\.\d+)?$/.test(text)) throw new Error(`${text} is no amount.`);
    this.text = text.replace(/^(-?)0+(?=\d)/, "$1");
  }

  toJSON(): string {
    return `\u0000${this.text}`;
  }
}

/** Writes JSON. [`Exact`] amounts become numbers. */
export function writeExact(value: unknown): string {
  return JSON.stringify(value).replaceAll(/"\\u0000(-?\d+(?:\.\d+)?)"/g, "$1");
}
