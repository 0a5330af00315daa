// Spending by day, from the payments of the account.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Panel, Segments, Skeleton, api, compare, dayKey, decimal, failure, isZero, less, money, now, onEvent, onGap, sum, units, present } from "../parts";
import { Chart } from "../parts/chart";

interface Payment {
  payment_id: string;
  status: string;
  amount: string | number;
  created_at: string;
  credited_usd_amount?: string | number | null;
}

const PAGE = 100;
/** Enough for most accounts. What is not covered by so many payments is left out, and the panel says so. */
const PAGES = 6;
const DAY_MS = 86_400_000;
const DAYS = 30;
const LABEL = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** What a payment cost in the end. */
function cost(payment: Payment): bigint {
  if (payment.status !== "fulfilled" && payment.status !== "settled") return 0n;
  // What failed was credited in full, and what was left on a closed card too.
  const left = (units(payment.amount) ?? 0n) - (units(payment.credited_usd_amount) ?? 0n);
  return left > 0n ? left : 0n;
}

export interface Spending {
  /** The days covered, oldest first: `2026-11-27`. */
  days: string[];
  amounts: string[];
  whole: boolean;
}

export async function loadSpending(until: number): Promise<Spending> {
  const oldest = until - (DAYS - 1) * DAY_MS;
  const byDay = new Map<string, bigint>();
  let after: string | undefined;
  let reached = until;
  let whole = false;
  for (let page = 0; page < PAGES && !whole; page += 1) {
    const answer = await api.get<{ payments: Payment[]; has_more: boolean }>(`/list-payments?limit=${PAGE}${after ? `&starting_after=${after}` : ""}`);
    for (const payment of answer.payments) {
      const key = dayKey(payment.created_at);
      byDay.set(key, (byDay.get(key) ?? 0n) + cost(payment));
      reached = Math.min(reached, Date.parse(payment.created_at));
    }
    after = answer.payments.at(-1)?.payment_id;
    whole = !answer.has_more || reached < oldest;
  }
  const days: string[] = [];
  for (let at = 0; at < DAYS; at += 1) {
    const moment = until - (DAYS - 1 - at) * DAY_MS;
    if (whole || dayKey(moment) > dayKey(reached)) days.push(dayKey(moment));
  }
  return { days, amounts: days.map((key) => decimal(byDay.get(key) ?? 0n)), whole };
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
    const offFailed = onEvent(["card.failed", "intl_order.rejected", "intl_order.cancelled"], (event) => add(less("0", event.data.object.credited_usd_amount as string), event.created_at));
    const offGift = onEvent("gift_card.failed", (event) => add(less("0", event.data.object.charged_usd_amount as string), event.created_at));
    const offGap = onGap(load);
    return () => {
      offPaid();
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
        {!isZero(before) && spending.amounts.length >= 14 && `, ${money(less(week, before)).replace("−", "")} ${compare(week, before) < 0 ? "less" : "more"} than the week before`}. Today <b>{money(today)}</b>.
      </p>
      <Chart
        bars
        height={168}
        label={`Spending a day, the last ${days.length} days. Highest ${money(most)}, today ${money(today)}.`}
        labels={days.map(label)}
        series={[{ values: amounts.map(Number), color: "--pot-2" }]}
        unit={(value, exact) => money(exact ? value.toFixed(2) : String(value), "USD", { places: exact ? 2 : 0 })}
        table={{ head: ["Day", "Spent"], rows: days.map((key, at) => [label(key), money(amounts[at])]).reverse() }}
      />
      {!spending.whole && <p class="tiny quiet">The newest {PAGE * PAGES} payments.</p>}
    </Panel>
  );
}
