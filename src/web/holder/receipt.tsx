// What a purchase cost: the price with its fee, how it was paid, what came back, and what is left of it.

import { Amount, Id, KeyValue, type LogLine, Panel, Time, isZero, less, money, short, sum, units } from "../parts";
import { account } from "./account";
import type { Paid } from "./data/cards";
import { dayLink } from "./data/statement";
import { Transaction, chainName } from "./chain";

type Value = string | number;

export interface ReceiptProps {
  /** What was bought: “On the card”, “Recipient gets”. */
  bought: { name: string; value: string } | null;
  /** The whole price in US dollars, its fee included. */
  price: Value;
  fee: { amount: Value; currency: string } | null;
  payment: Paid | null;
  /** It is on the payment's own page. */
  isOfPayment?: boolean;
  /** What was credited by itself, if the payment does not say. */
  credited?: Value | null;
  /** When the newest of it came back. */
  creditedAt?: string;
  /** When operators refunded. */
  refundedAt?: string | undefined;
  /** The id that the statement has for what came back. */
  cause: string;
}

/**
 * What the payment is in the timeline of what it bought: that it was made, and that the chain took it back. `paidAt` is when it
 * was paid, where the steps say so: the payment began before it was settled.
 */
export function paidLines(payment: Paid, paidAt = payment.created_at): (LogLine & { at: string })[] {
  const chain = chainName(payment.network);
  const paid: LogLine & { at: string } = {
    key: "payment",
    tone: "done",
    icon: "wallet",
    text: `Paid ${money(payment.amount, payment.asset, { places: 6 })} on ${chain}`,
    at: paidAt,
    sub: (
      <>
        {payment.transaction && <Transaction hash={payment.transaction} network={payment.network} />}
        <Id value={payment.payment_id} />
      </>
    ),
  };
  if (payment.status !== "reversed") return [paid];
  return [{ key: "reversed", tone: "bad", icon: "undo", text: `${chain} took the payment of ${money(payment.amount, payment.asset)} back`, at: payment.last_updated_at }, paid];
}

/**
 * “€25.00 for $27.11, at about 1.0844 USD for 1 EUR”: an amount in another currency, with what it cost and the rate of that. The
 * service tells no rate, and what it cost is rounded to the cent.
 */
export function worthWords(amount: Value, currency: string, price: Value, fee: Value): string {
  const worth = money(amount, currency);
  const got = units(amount) ?? 0n;
  if (currency === "USD" || got <= 0n) return worth;
  const paid = less(String(price), String(fee));
  const rate = ((units(paid) ?? 0n) * 10_000n + got / 2n) / got;
  return `${worth} for ${money(paid)}, at about ${rate / 10_000n}.${String(rate % 10_000n).padStart(4, "0")} USD for 1 ${currency}`;
}

/** What a purchase cost in the end. Never below nothing: a credit in another currency is rounded by the service. */
export function costInTheEnd(price: Value, ...back: (Value | null | undefined)[]): string {
  const left = less(String(price), sum(...back));
  return left.startsWith("-") ? "0" : left;
}

export function Receipt({ bought, price, fee, payment, isOfPayment, credited, creditedAt, refundedAt, cause }: ReceiptProps) {
  const came = payment && !isZero(payment.credited) ? payment.credited : (credited ?? 0);
  const refunded = payment?.refunded ?? 0;
  const isReversed = payment?.status === "reversed";
  const end = isReversed ? "0" : costInTheEnd(price, came, refunded);
  return (
    <Panel title="Receipt" padded id="receipt">
      <KeyValue
        rows={[
          // Without a fee it is the price.
          bought && !(isZero(fee?.amount ?? 0) && bought.value === money(price)) && { name: bought.name, value: bought.value },
          fee && { name: "Fee", value: money(fee.amount, fee.currency) },
          { name: payment ? "Price" : "Taken from your balance", value: <b>{money(price)}</b> },
          payment && {
            name: "Paid",
            value: (
              <>
                <Amount value={payment.amount} currency={payment.asset} places={6} struck={isReversed} />
                {isReversed && (
                  <>
                    , taken back by the chain <Time at={payment.last_updated_at} />
                  </>
                )}
              </>
            ),
          },
          payment !== null && payment.transaction !== null && { name: "Transaction", value: <Transaction hash={payment.transaction} network={payment.network} /> },
          payment && { name: "From wallet", value: <span class="row wrap">{Object.values(account.value?.agent_wallet?.addresses ?? {}).includes(payment.payer) && "Agents’ wallet"}<Id value={payment.payer} what="wallet" /></span> },
          payment && !isOfPayment && { name: "Payment", value: <a class="mono" href={`/dashboard/payments/${payment.payment_id}`}>{short(payment.payment_id)}</a> },
          !isZero(came) && {
            name: "Came back",
            value: (
              <>
                <Amount value={came} sign /> to your balance
                {creditedAt && (
                  <>
                    , <a href={dayLink(creditedAt, cause)}>in your statement</a>
                  </>
                )}
              </>
            ),
          },
          !isZero(refunded) && {
            name: "Refunded by Purser",
            value: (
              <>
                <Amount value={refunded} sign /> to your balance
                {refundedAt && payment && (
                  <>
                    , <a href={dayLink(refundedAt, payment.payment_id.replace(/^pay_/, "rf_"))}>in your statement</a>
                  </>
                )}
              </>
            ),
          },
          (isReversed || !isZero(came) || !isZero(refunded)) && { name: "Cost in the end", value: <b>{money(end)}</b> },
        ]}
      />
    </Panel>
  );
}
