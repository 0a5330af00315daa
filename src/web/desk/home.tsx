// The desk's Home: what waits, how providers and chains do, how much is sold and how fast, what is held and owed.

import { useSignal } from "@preact/signals";
import { Button, Icon, type IconName, Note, Panel, Segments, Shell, Skeleton, StatusTag, Time, api, clock, lazy, now, span, useLoaded, withQuery } from "../parts";
import { Chart } from "../parts/chart";
import { setSound, sound } from "./announce";
import { AgeBar } from "./bars";
import type { Money } from "./below";
import { LoadError } from "./lists";
import { type Queue, type QueueName, queues, useEvery, useOnChange } from "./live";
import { HEALTH, providerName, upper } from "./names";

const Below = lazy(
  () => import("./below").then((file) => file.Below),
  () => <Skeleton rows={8} />,
);

export interface Point {
  at: string;
  seconds: number;
  calls: number;
  per_second: string;
  failures: number;
  half_within_us: number | null;
  p99_within_us: number | null;
}
interface Provider {
  name: string;
  chain: boolean;
  state: string;
  calls: number;
  failures: number;
  half_within_ms: number | null;
  p99_within_ms: number | null;
}
interface Series {
  now: string;
  paid_calls: Point[];
  window_seconds: number;
  providers: Provider[];
  money: Money;
}

interface Row {
  queue: QueueName;
  name: string;
  icon: IconName;
  href: string;
  /** In which it should be done, if the service sets no limit. Seconds. */
  aim: number;
}

const HOUR = 3_600;
const ROWS: Row[] = [
  { queue: "intl_orders", name: "International orders", icon: "globe", href: "/desk/orders", aim: 24 * HOUR },
  { queue: "card_withdrawals", name: "Card withdrawals", icon: "wallet", href: "/desk/orders/withdrawals", aim: 24 * HOUR },
  { queue: "card_actions", name: "Card actions", icon: "pause", href: "/desk/orders/actions", aim: 4 * HOUR },
  { queue: "dead_letters", name: "Stuck work", icon: "bad", href: "/desk/stuck", aim: 4 * HOUR },
  { queue: "late_jobs", name: "Late, still tried", icon: "clock", href: "/desk/stuck", aim: 4 * HOUR },
  { queue: "unknown_payments", name: "Unknown payments", icon: "huh", href: "/desk/stuck", aim: HOUR / 4 },
  { queue: "approvals", name: "Approvals", icon: "hand", href: "/desk/approvals", aim: 24 * HOUR },
  { queue: "refunds", name: "Refunds to approve", icon: "undo", href: "/desk/refunds", aim: 72 * HOUR },
  { queue: "incoming_transfers", name: "Unknown transfers in", icon: "inbox", href: "/desk/incoming", aim: 24 * HOUR },
  { queue: "untracked_transfers", name: "Transfers out without a record", icon: "out", href: "/desk/incoming", aim: 24 * HOUR },
  { queue: "discrepancies", name: "Discrepancies", icon: "books", href: "/desk/reconciliation", aim: 24 * HOUR },
  { queue: "lines_not_sold", name: "Lines not sold", icon: "lock", href: "/desk/lines", aim: 0 },
];

const hours = (seconds: number): string => (seconds >= HOUR ? `${seconds / HOUR} h` : `${seconds / 60} min`);
const ms = (us: number | null): number | null => (us === null ? null : us / 1_000);
const millis = (value: number): string => (value >= 1_000 ? `${(value / 1_000).toLocaleString("en", { maximumFractionDigits: 1 })} s` : `${value.toLocaleString("en", { maximumFractionDigits: 1 })} ms`);

function QueueRow({ row, queue }: { row: Row; queue: Queue | undefined }) {
  const count = queue?.count ?? 0;
  const age = queue?.oldest_at ? Math.max(0, (now.value - Date.parse(queue.oldest_at)) / 1_000) : 0;
  const limit = queue?.limit_seconds ?? row.aim;
  return (
    <li>
      <a class="cell queue-cell" href={row.href}>
        <span class="row">
          <Icon name={row.icon} />
          <span class={count ? undefined : "quiet"}>{row.name}</span>
        </span>
        <span class={`queue-count number${count ? "" : " quiet"}`}>
          {count.toLocaleString("en")}
          {queue?.more ? "+" : ""}
        </span>
        <AgeBar age={count ? age : 0} limit={limit} label={`${row.name}: the oldest waits ${span(age)}${limit ? ` of ${span(limit)}` : ""}`} />
        <span class="number small queue-age">
          {count === 0 ? (
            <span class="quiet">none</span>
          ) : queue?.oldest_at ? (
            <>
              <b>{span(age)}</b>
              {limit > 0 && <span class="quiet">{queue.limit_seconds ? ` of ${hours(limit)}` : `, aim ${hours(limit)}`}</span>}
            </>
          ) : (
            <span class="quiet">now</span>
          )}
        </span>
      </a>
    </li>
  );
}

const MINUTE = 60;
/** The parts of the hour whose figures do not change any more: not the newest, which goes on, and not an oldest that has lost its beginning. */
const settled = (points: Point[]): Point[] => points.filter((point, at) => point.seconds >= MINUTE || (at === 0 && points.length > 1 && points.length <= MINUTE));

/** Paid calls in a unit that has figures before the point: a second, or a minute where there are few. */
interface Rate {
  unit: "s" | "min";
  word: string;
  of: (calls: number, seconds: number) => number;
}
export function rateOf(points: Point[]): Rate {
  const many = points.some((point) => point.calls >= point.seconds);
  const of = (calls: number, seconds: number) => (seconds > 0 ? (calls * (many ? 1 : 60)) / seconds : 0);
  return many ? { unit: "s", word: "a second", of } : { unit: "min", word: "a minute", of };
}
const figure = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });

/** The rate of each part of the hour. A part that goes on is too short for a rate of its own: it counts with the one before. */
export const ratesOf = (points: Point[], rate: Rate): number[] =>
  points.map((point, at) => {
    const used = at === points.length - 1 && point.seconds < MINUTE ? points.slice(-2) : [point];
    const count = (of: (point: Point) => number) => used.reduce((sum, one) => sum + of(one), 0);
    return rate.of(count((one) => one.calls), count((one) => one.seconds));
  });
/** The time of each part. The one that goes on can end in the minute of the one before. */
export const timesOf = (points: Point[]): string[] => points.map((point, at) => (at > 0 && at === points.length - 1 && point.seconds < MINUTE ? "now" : clock(point.at)));

/** The rate now, and a sentence about the minutes of the hour that are over. */
export function paidSentence(points: Point[], rate: Rate): { current: string | null; rest: string } {
  const last = ratesOf(points, rate).at(-1);
  if (last === undefined) return { current: null, rest: "The first minute is not over yet." };
  const current = `${figure(last)}/${rate.unit}`;
  const [first, ...others] = settled(points);
  if (!first || others.length < 2) return { current, rest: "now." };
  // Of equal minutes the first, so that the sentence stays as it is while time goes on.
  const value = (point: Point) => rate.of(point.calls, point.seconds);
  const low = others.reduce((least, point) => (value(point) < value(least) ? point : least), first);
  const high = others.reduce((most, point) => (value(point) > value(most) ? point : most), first);
  const says = (point: Point) => `${figure(value(point))}/${rate.unit} at ${clock(point.at)}`;
  return { current, rest: value(low) === value(high) ? "now, as in each minute before." : `now. Lowest ${says(low)}, highest ${says(high)}.` };
}

function Throughput({ points }: { points: Point[] }) {
  const rate = rateOf(points);
  const { current, rest } = paidSentence(points, rate);
  const [rates, times] = [ratesOf(points, rate), timesOf(points)];
  const label = `Paid calls ${rate.word} in the last hour: ${current ? `${current} ${rest}` : "nothing yet"}`;
  return (
    <Panel title="Paid calls" aside={`${rate.word}, last hour`} padded>
      <p class="small soft">
        {current && <b>{current} </b>}
        {rest}
      </p>
      <Chart
        label={label}
        labels={times}
        series={[{ values: rates, color: "--move-mark", area: true }]}
        height={150}
        unit={(value, exact) => (exact ? `${figure(value)}/${rate.unit}` : figure(value))}
        table={{ head: ["Time", upper(rate.word), "Calls", "Failed"], rows: points.map((point, at) => [times[at] ?? "", figure(rates[at] ?? 0), String(point.calls), String(point.failures)]).reverse() }}
      />
    </Panel>
  );
}

function Latency({ points }: { points: Point[] }) {
  const times = timesOf(points);
  const last = [...points].reverse().find((point) => point.p99_within_us !== null);
  const says = last ? `half within ${millis(ms(last.half_within_us) ?? 0)}, 99 of 100 within ${millis(ms(last.p99_within_us) ?? 0)}` : "no paid call yet";
  return (
    <Panel title="Duration of a paid call" aside="last hour, in milliseconds" padded>
      <Chart
        label={`Durations of paid calls in the last hour: ${says}`}
        labels={times}
        series={[
          { name: last ? `half within ${millis(ms(last.half_within_us) ?? 0)}` : "half within", values: points.map((point) => ms(point.half_within_us)), color: "--move-mark" },
          { name: last ? `99 of 100 within ${millis(ms(last.p99_within_us) ?? 0)}` : "99 of 100 within", values: points.map((point) => ms(point.p99_within_us)), color: "--wait-mark" },
        ]}
        height={150}
        unit={(value, exact) => (exact ? millis(value) : `${value}`)}
        table={{
          head: ["Time", "Half within", "99 of 100 within"],
          rows: points.map((point, at) => [times[at] ?? "", ...[point.half_within_us, point.p99_within_us].map((us) => (us === null ? "–" : millis(us / 1_000)))]).reverse(),
        }}
      />
    </Panel>
  );
}

function Providers({ series }: { series: Series }) {
  const rank: Record<string, number> = { failing: 0, errors: 1, slow: 2, ok: 3, idle: 4 };
  const sorted = [...series.providers].sort((one, other) => (rank[one.state] ?? 5) - (rank[other.state] ?? 5));
  return (
    <Panel title="Providers and chains" aside="last 15 min, 99 of 100 within">
      <ul class="list">
        {sorted.map((provider) => {
          const health = HEALTH[provider.state] ?? { tone: "off" as const, word: provider.state };
          return (
            <li key={provider.name}>
              <div class="cell health-cell">
                <div>
                  {providerName(provider.name)}
                  {provider.failures > 0 ? (
                    <div class="tiny quiet">
                      {provider.failures.toLocaleString("en")} of {provider.calls.toLocaleString("en")} calls failed
                    </div>
                  ) : (
                    provider.state === "slow" && <div class="tiny quiet">{provider.half_within_ms === null ? "half of the calls took over a minute" : `half of the calls within ${millis(provider.half_within_ms)}`}</div>
                  )}
                </div>
                <span class="number small soft">{provider.p99_within_ms === null ? "–" : millis(provider.p99_within_ms)}</span>
                <StatusTag tone={health.tone}>{health.word}</StatusTag>
              </div>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

interface Announced {
  webhook: string | null;
  announcements: { status: string; attempt_count: number; created_at: string; last_error: string | null }[];
}

/** Said when the operators' own address does not accept what is announced there. */
function AnnouncementsFail() {
  const found = useLoaded("announced", () => api.get<Announced>(withQuery("/admin/announcements", { limit: 20 })));
  useEvery(30_000, found.reload);
  const newest = found.data?.announcements.find((one) => one.attempt_count > 0 || one.status !== "pending");
  if (!found.data?.webhook || !newest || newest.status === "delivered") return null;
  return (
    <Note
      tone="wait"
      title={`${found.data.webhook} does not accept announcements.`}
      actions={
        <Button small href="/desk/webhooks">
          See them
        </Button>
      }
    >
      The last one is from <Time at={newest.created_at} />{newest.last_error ? `: ${newest.last_error}.` : "."}
    </Note>
  );
}

export default function Home() {
  const series = useLoaded("series", () => api.get<Series>("/admin/series"));
  const all = useSignal(false);
  useEvery(10_000, series.reload);
  useOnChange(["dead_letters", "unknown_payments", "lines_not_sold"], series.reload);
  const known = queues.value;
  const rows = ROWS.filter((row) => all.value || (known.get(row.queue)?.count ?? 0) > 0 || row.aim >= 24 * HOUR);
  const failing = series.data?.providers.filter((provider) => provider.state === "failing") ?? [];
  return (
    <Shell app="desk" page="home" title="Home">
      <div class="page-head">
        <h1>Home</h1>
        <div class="acts">
          <Button small kind="ghost" icon={sound.value ? "sound" : "silent"} pressed={sound.value} onClick={() => setSound(!sound.value)}>
            {sound.value ? "Sound for news is on" : "Sound for news is off"}
          </Button>
        </div>
      </div>
      <div class="stack">
        <AnnouncementsFail />
        {failing.length > 0 && (
          <Note
            tone="bad"
            title={`${failing.map((provider) => providerName(provider.name)).join(" and ")} ${failing.length === 1 ? "fails" : "fail"}.`}
            actions={
              <Button small href="/desk/stuck">
                See stuck work
              </Button>
            }
          >
            {failing.map((provider) => `${provider.failures.toLocaleString("en")} of ${provider.calls.toLocaleString("en")} calls`).join(" and ")} in the last 15 minutes ended without a usable answer.
            What is paid waits and is tried again.
          </Note>
        )}
        <div class="columns wide-narrow">
          <Panel
            title="Waits for a person"
            aside={
              <Segments<string>
                label="Queues"
                options={[
                  { value: "some", text: "Usual" },
                  { value: "all", text: "All" },
                ]}
                value={all.value ? "all" : "some"}
                onChange={(value) => (all.value = value === "all")}
              />
            }
          >
            {known.size === 0 ? (
              <Skeleton rows={6} />
            ) : (
              <ul class="list">
                {rows.map((row) => (
                  <QueueRow key={row.queue} row={row} queue={known.get(row.queue)} />
                ))}
              </ul>
            )}
          </Panel>
          {series.data ? <Providers series={series.data} /> : series.error ? <LoadError error={series.error} retry={series.reload} /> : <Panel title="Providers and chains"><Skeleton rows={8} /></Panel>}
        </div>
        <div class="columns two">
          {series.data ? (
            <>
              <Throughput points={series.data.paid_calls} />
              <Latency points={series.data.paid_calls} />
            </>
          ) : (
            !series.error && <Skeleton rows={5} />
          )}
        </div>
        {series.data ? <Below money={series.data.money} watched={ROWS.map((row) => row.queue)} /> : !series.error && <Skeleton rows={8} />}
      </div>
    </Shell>
  );
}
