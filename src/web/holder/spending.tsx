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
  /** What was credited each day. */
  credited: string[];
}

/** When the days begin in the person’s time zone, the last of them that of this moment. */
export function daysUntil(until: number): Date[] {
  const last = new Date(until);
  return Array.from({ length: DAYS }, (_, at) => new Date(last.getFullYear(), last.getMonth(), last.getDate() - (DAYS - 1 - at)));
}

export async function loadSpending(until: number): Promise<Spending> {
  const starts = daysUntil(until);
  const { sums } = await api.get<{ sums: { spent: string | number; credited: string | number }[] }>(withQuery("/account/spending-sums", { starts: starts.map((start) => start.toISOString()).join(",") }));
  return { days: starts.map((start) => dayKey(start.getTime())), amounts: sums.map((day) => less(day.spent, day.credited)), credited: sums.map((day) => sum(day.credited)) };
}

/** What some days cost. More can come back than was paid in them: then both are said. */
export function costWords(cost: string, credited: string): string {
  return compare(cost, 0) < 0 ? `${money(sum(cost, credited))}, and ${money(credited)} came back` : money(cost);
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
    const add = (value: unknown, at: string, back: unknown = "0") => {
      const spending = data.value;
      if (!spending) return;
      const key = dayKey(at);
      if (key !== spending.days.at(-1)) {
        load();
        return;
      }
      const cost = less(value as string, back as string);
      data.value = { ...spending, amounts: spending.amounts.with(-1, sum(spending.amounts.at(-1), cost)), credited: spending.credited.with(-1, sum(spending.credited.at(-1), back as string)) };
    };
    const offPaid = onEvent("payment.fulfilled", (event) => add(event.data.object.amount, event.created_at));
    // A purchase here is a payment of the account too.
    const offWallet = onEvent("wallet_payment.settled", (event) => {
      if (event.data.object.host !== "route") add(event.data.object.amount, event.created_at);
    });
    const offFailed = onEvent(["card.failed", "intl_order.rejected", "intl_order.cancelled"], (event) => add("0", event.created_at, event.data.object.credited_usd_amount));
    const offGift = onEvent("gift_card.failed", (event) => add("0", event.created_at, event.data.object.charged_usd_amount));
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
  const isToday = spending.days.at(-1) === dayKey(now.peek());
  const today = isToday ? costWords(spending.amounts.at(-1) ?? "0", spending.credited.at(-1) ?? "0") : money("0");
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
        <b>{costWords(week, sum(...spending.credited.slice(-7)))}</b> this week
        {!isZero(before) && `, ${money(less(week, before)).replace("−", "")} ${compare(week, before) < 0 ? "less" : "more"} than the week before`}. Today <b>{today}</b>.
      </p>
      <Chart
        bars
        height={168}
        label={`Spending a day, the last ${days.length} days. Highest ${money(most)}, today ${today}.`}
        labels={days.map(label)}
        series={[{ values: amounts.map((amount) => Math.max(0, Number(amount))), color: "--pot-2" }]}
        unit={(value, exact) => money(exact ? value.toFixed(2) : String(value), "USD", { places: exact ? 2 : 0 })}
        table={{ head: ["Day", "Spent"], rows: days.map((key, at) => [label(key), costWords(amounts[at] ?? "0", spending.credited.slice(-shown.value)[at] ?? "0")]).reverse() }}
      />
    </Panel>
  );
}
