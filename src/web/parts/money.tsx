// Amounts. They are decimal texts, as in the API; arithmetic is on whole units of the sixth decimal place, in BigInt.

import { classes } from "./classes";

/** An amount of the API: a decimal text, or a whole number. */
export type AmountValue = string | number | null | undefined;

const SIGNS: Record<string, string> = { USD: "$", EUR: "€", GBP: "£" };
const PLACES = 6;
const UNIT = 10n ** BigInt(PLACES);

/** The amount in millionths. Texts that are no amount are null. */
export function units(text: AmountValue): bigint | null {
  const match = /^(-?)(\d+)(?:\.(\d{1,6})\d*)?$/.exec(String(text ?? ""));
  if (!match) return null;
  const [, minus, whole = "0", part = ""] = match;
  const value = BigInt(whole) * UNIT + BigInt(part.padEnd(PLACES, "0"));
  return minus ? -value : value;
}

/** Millionths as a decimal text with at least two places. */
export function decimal(value: bigint): string {
  const size = value < 0n ? -value : value;
  const part = (size % UNIT).toString().padStart(PLACES, "0").replace(/0{1,4}$/, "");
  return `${value < 0n ? "-" : ""}${size / UNIT}.${part}`;
}

/** The sum of amounts; those that are no amount count as zero. */
export function sum(...texts: AmountValue[]): string {
  return decimal(texts.reduce((total, text) => total + (units(text) ?? 0n), 0n));
}

/** The first amount less the second. */
export function less(text: AmountValue, other: AmountValue): string {
  return decimal((units(text) ?? 0n) - (units(other) ?? 0n));
}

/** Negative, zero or positive, as the first amount is less than, equal to or more than the second. */
export function compare(text: AmountValue, other: AmountValue): number {
  const difference = (units(text) ?? 0n) - (units(other) ?? 0n);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

export function isZero(text: AmountValue): boolean {
  return (units(text) ?? 0n) === 0n;
}

/** The part of the second amount that the first is, from 0 to 1. For bars only: it is not exact. */
export function share(text: AmountValue, of: AmountValue): number {
  const whole = units(of) ?? 0n;
  if (whole <= 0n) return 0;
  const part = ((units(text) ?? 0n) * 10_000n) / whole;
  return Math.min(1, Math.max(0, Number(part) / 10_000));
}

export interface MoneyOptions {
  /** Also a plus before what comes in. */
  sign?: boolean | undefined;
  /** Decimal places at least; what is finer is always shown. */
  places?: number | undefined;
}

/** An amount as text: `$1,284.06`, `€25.00`, `250.000000 USDC`. Nothing is rounded. */
export function money(text: AmountValue, currency = "USD", { sign, places = 2 }: MoneyOptions = {}): string {
  const value = units(text);
  if (value === null) return text === null || text === undefined || text === "" ? "–" : String(text);
  const size = value < 0n ? -value : value;
  const whole = (size / UNIT).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  const part = (size % UNIT).toString().padStart(PLACES, "0");
  let end = PLACES;
  while (end > places && part[end - 1] === "0") end -= 1;
  const figures = end === 0 ? whole : `${whole}.${part.slice(0, end)}`;
  const lead = value < 0n ? "−" : sign && value > 0n ? "+" : "";
  const symbol = SIGNS[currency];
  return symbol ? `${lead}${symbol}${figures}` : `${lead}${figures} ${currency}`;
}

export interface AmountProps extends MoneyOptions {
  value: AmountValue;
  currency?: string | undefined;
  /** It did not happen after all. */
  struck?: boolean | undefined;
  /** Greyed while the page is not live. */
  live?: boolean | undefined;
  soft?: boolean | undefined;
}

/** An exact amount in figures of equal width. */
export function Amount({ value, currency = "USD", sign, places, struck, live, soft }: AmountProps) {
  const text = money(value, currency, { sign, places });
  const cut = SIGNS[currency] ? -1 : text.lastIndexOf(" ");
  const comesIn = sign && (units(value) ?? 0n) > 0n;
  return (
    <span class={classes("amount", comesIn && "comes-in", struck && "struck", live && "live-amount", soft && "soft")}>
      {cut < 0 ? text : text.slice(0, cut)}
      {cut >= 0 && <span class="currency">{text.slice(cut)}</span>}
    </span>
  );
}

/** An amount as the largest thing of a page. */
export function BigAmount({ value, currency = "USD" }: { value: AmountValue; currency?: string }) {
  const text = money(value, currency);
  const point = text.indexOf(".");
  return (
    <p class="big-amount live-amount">
      {point < 0 ? text : text.slice(0, point)}
      {point >= 0 && <span class="cents">{text.slice(point)}</span>}
    </p>
  );
}
