// What of a purchase in another currency than US dollars is its fee.

import { type AmountValue, api, decimal, units } from "../../parts";
import type { ProductPrice } from "../../api/public";

const CENT = 10_000n;

/**
 * The fee in a price in dollars for an amount in another currency, by the fee schedule, to the cent. `null` if it is no such price.
 */
export function feeIn(price: AmountValue, amount: AmountValue, { fee_rate, min_fee }: Pick<ProductPrice, "fee_rate" | "min_fee">): string | null {
  const [base, paid, rate, least] = [units(amount), units(price), units(fee_rate), units(min_fee)];
  if (base === null || paid === null || rate === null || least === null || base <= 0n) return null;
  const part = (base * rate) / 1_000_000n;
  const both = base + (part > least ? part : least);
  const cost = ((2n * paid * base + both * CENT) / (2n * both * CENT)) * CENT;
  return decimal(paid - cost);
}

/** The same of a purchase at a route, by the fees of now. `null` if the route is not in the fee schedule. */
export async function readFee(route: string, price: AmountValue, amount: AmountValue): Promise<string | null> {
  const { products } = await api.get<{ products: ProductPrice[] }>("/get-pricing");
  const found = products.find((one) => one.route === route);
  return found ? feeIn(price, amount, found) : null;
}
