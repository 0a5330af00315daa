// What a purchase in another currency than US dollars costs beside its amount: the fee, and the exchange rate.

import { type AmountValue, api, decimal, units } from "../../parts";
import type { ProductPrice } from "../../api/public";

export interface Terms {
  /** In the currency of the amount. */
  fee: string;
  /** US dollars of the price for one unit of the amount and its fee, to four places. The price is rounded up to the cent. */
  rate: string;
}

const CENT = 10_000n;

/** How an amount and its fee became a price, by the fee schedule. `null` if it is no such price. */
export function termsOf(amount: AmountValue, price: AmountValue, { fee_rate, min_fee }: Pick<ProductPrice, "fee_rate" | "min_fee">): Terms | null {
  const [base, paid, rate, least] = [units(amount), units(price), units(fee_rate), units(min_fee)];
  if (base === null || paid === null || rate === null || least === null || base <= 0n) return null;
  const part = (base * rate) / 1_000_000n;
  const fee = part > least ? part : least;
  const per = (paid * 10_000n + (base + fee) / 2n) / (base + fee);
  return { fee: decimal(((fee + CENT / 2n) / CENT) * CENT), rate: `${per / 10_000n}.${String(per % 10_000n).padStart(4, "0")}` };
}

/** The same of a purchase at a route, by the fees of now. `null` if the route is not in the fee schedule. */
export async function readTerms(route: string, amount: AmountValue, price: AmountValue): Promise<Terms | null> {
  const { products } = await api.get<{ products: ProductPrice[] }>("/get-pricing");
  const found = products.find((one) => one.route === route);
  return found ? termsOf(amount, price, found) : null;
}
