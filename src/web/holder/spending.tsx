// Spending by day: what was paid at this service and from the agents’ wallet.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Panel, Segments, Skeleton, api, compare, dayKey, failure, isZero, less, money, now, onEvent, onGap, present, sum, withQuery } from "../parts";
import { Chart } from "../parts/chart";

const DAYS = 30;
const LABEL = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export interface Spending {
  /** The days, oldest first: `2026-11-27`. */
  days: string[];
  /** What each day cost: what was paid less what was credited. */
  amounts: string[];
}

/** When the days begin in the person’s time zone, the last of them that of this moment. */
export function daysUntil(until: number): Date[] {
  const last = new Date(until);
  return Array.from({ length: DAYS }, (_, at) => new Date(last.getFullYear(), last.getMonth(), last.getDate() - (DAYS - 1 - at)));
}

export async function loadSpending(until: number): Promise<Spending> {
  const starts = daysUntil(until);
  const { sums } = await api.get<{ sums: { spent: string | number; credited: string | number }[] }>(withQuery("/account/spending-sums", { starts: starts.map((start) => start.toISOString()).join(",") }));
  return { days: starts.map((start) => dayKey(start.getTime())), amounts: sums.map((day) => less(day.spent, day.credited)) };
}

const label = (key: string): string => LABEL.format(new Date(`${key}T12:00:00`));

export function SpendingPanel() {
  const data = useSignal<Spending | null>(null);
  const error = useSignal<string | null>(null);
  const shown = useSignal(30);
  useEffect(() => {
    const load = () => {
      loadSpending(present()).then(
        (spending) => {
          data.value = spending;
          error.value = null;
        },
        (thrown) => {
          error.value = failure(thrown).said;
        },
      );
    };
    load();
    // What a purchase adds is in its event, so that the payments are not loaded again for each.
    const add = (value: unknown, at: string) => {
      const spending = data.value;
      if (!spending) return;
      const key = dayKey(at);
      if (key !== spending.days.at(-1)) {
        load();
        return;
      }
      data.value = { ...spending, amounts: spending.amounts.with(-1, sum(spending.amounts.at(-1), value as string)) };
    };
    const offPaid = onEvent("payment.fulfilled", (event) => add(event.data.object.amount, event.created_at));
    // A purchase here is a payment of the account too.
    const offWallet = onEvent("wallet_payment.settled", (event) => {
      if (event.data.object.host !== "route") add(event.data.object.amount, event.created_at);
    });
    const offFailed = onEvent(["card.failed", "intl_order.rejected", "intl_order.cancelled"], (event) => add(less("0", event.data.object.credited_usd_amount as string), event.created_at));
    const offGift = onEvent("gift_card.failed", (event) => add(less("0", event.data.object.charged_usd_amount as string), event.created_at));
    const offGap = onGap(load);
    return () => {
      offPaid();
      offWallet();
      offFailed();
      offGift();
      offGap();
    };
  }, []);
  const spending = data.value;
  if (!spending) {
    return error.value ? null : (
      <Panel title="Spending">
        <Skeleton rows={6} label="Loading your spending" />
      </Panel>
    );
  }
  const days = spending.days.slice(-shown.value);
  const amounts = spending.amounts.slice(-shown.value);
  const week = sum(...spending.amounts.slice(-7));
  const before = sum(...spending.amounts.slice(-14, -7));
  const today = spending.days.at(-1) === dayKey(now.peek()) ? spending.amounts.at(-1) : "0";
  const most = amounts.reduce((highest, one) => (compare(one, highest) > 0 ? one : highest), "0");
  return (
    <Panel
      title="Spending"
      padded
      aside={
        <Segments
          label="Days"
          options={[
            { value: 7, text: "7 days" },
            { value: 30, text: "30 days" },
          ]}
          value={shown.value}
          onChange={(value) => {
            shown.value = value;
          }}
        />
      }
    >
      <p class="small soft">
        <b>{money(week)}</b> this week
        {!isZero(before) && `, ${money(less(week, before)).replace("−", "")} ${compare(week, before) < 0 ? "less" : "more"} than the week before`}. Today <b>{money(today)}</b>.
      </p>
      <Chart
        bars
        height={168}
        label={`Spending a day, the last ${days.length} days. Highest ${money(most)}, today ${money(today)}.`}
        labels={days.map(label)}
        series={[{ values: amounts.map((amount) => Math.max(0, Number(amount))), color: "--pot-2" }]}
        unit={(value, exact) => money(exact ? value.toFixed(2) : String(value), "USD", { places: exact ? 2 : 0 })}
        table={{ head: ["Day", "Spent"], rows: days.map((key, at) => [label(key), money(amounts[at])]).reverse() }}
      />
    </Panel>
  );
}
