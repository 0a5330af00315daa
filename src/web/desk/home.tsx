// The desk's Home: what waits, how providers and chains do, how much is sold and how fast, what is held and owed.

import { useSignal } from "@preact/signals";
import { Amount, Button, Icon, type IconName, Log, Note, Panel, Segments, Shell, Skeleton, StatusTag, Time, api, clock, now, span, useLoaded, withQuery } from "../parts";
import { Chart } from "../parts/chart";
import type { AuditLogEntry } from "../api/operator";
import { setSound, sound } from "./announce";
import { AgeBar } from "./bars";
import { Export, LoadError } from "./lists";
import { type Queue, type QueueName, queues, useEvery, useOnChange } from "./live";
import { Subject } from "./subject";
import { HEALTH, actIcon, actSays, actTone, ledgerName, providerName } from "./names";

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
  p99_within_ms: number | null;
}
interface Sum {
  account: string;
  side: "held" | "owed";
  amount: number;
}
interface Series {
  now: string;
  paid_calls: Point[];
  window_seconds: number;
  providers: Provider[];
  money: { complete: boolean; transactions: number; last_transaction_at: string | null; accounts: Sum[]; held: number; owed: number };
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
  { queue: "incoming_transfers", name: "Unexplained transfers in", icon: "inbox", href: "/desk/incoming", aim: 24 * HOUR },
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
              {limit > 0 && <span class="quiet">{queue.limit_seconds ? ` of ${hours(limit)}` : ` aim ${hours(limit)}`}</span>}
            </>
          ) : (
            <span class="quiet">now</span>
          )}
        </span>
      </a>
    </li>
  );
}

/** A sentence about the last hour. */
function paidSentence(points: Point[]): string {
  const last = points.at(-1);
  if (!last) return "The first minute is not over yet.";
  const low = points.reduce((least, point) => (Number(point.per_second) < Number(least.per_second) ? point : least), last);
  const high = points.reduce((most, point) => (Number(point.per_second) > Number(most.per_second) ? point : most), last);
  return points.length < 3 ? "now." : `now. Lowest ${low.per_second}/s at ${clock(low.at)}, highest ${high.per_second}/s at ${clock(high.at)}.`;
}

function Throughput({ points }: { points: Point[] }) {
  const last = points.at(-1);
  const label = `Paid calls a second in the last hour: ${last ? `${last.per_second} ${paidSentence(points)}` : "nothing yet"}`;
  return (
    <Panel title="Paid calls" aside="a second, last hour" padded>
      <p class="small soft">
        {last && <b>{last.per_second}/s </b>}
        {paidSentence(points)}
      </p>
      <Chart
        label={label}
        labels={points.map((point) => clock(point.at))}
        series={[{ values: points.map((point) => Number(point.per_second)), color: "--move-mark", area: true }]}
        height={150}
        unit={(value, exact) => (exact ? `${value}/s` : `${value}`)}
        table={{ head: ["Time", "A second", "Calls", "Failed"], rows: [...points].reverse().map((point) => [clock(point.at), point.per_second, String(point.calls), String(point.failures)]) }}
      />
    </Panel>
  );
}

function Latency({ points }: { points: Point[] }) {
  const last = [...points].reverse().find((point) => point.p99_within_us !== null);
  const says = last ? `half within ${millis(ms(last.half_within_us) ?? 0)}, 99 of 100 within ${millis(ms(last.p99_within_us) ?? 0)}` : "no paid call yet";
  return (
    <Panel title="Duration of a paid call" aside="last hour" padded>
      <Chart
        label={`Durations of paid calls in the last hour: ${says}`}
        labels={points.map((point) => clock(point.at))}
        series={[
          { name: last ? `half within ${millis(ms(last.half_within_us) ?? 0)}` : "half within", values: points.map((point) => ms(point.half_within_us)), color: "--move-mark" },
          { name: last ? `99 of 100 within ${millis(ms(last.p99_within_us) ?? 0)}` : "99 of 100 within", values: points.map((point) => ms(point.p99_within_us)), color: "--wait-mark" },
        ]}
        height={150}
        unit={(value, exact) => (exact ? millis(value) : `${value}`)}
        table={{
          head: ["Time", "Half within", "99 of 100 within"],
          rows: [...points].reverse().map((point) => [clock(point.at), ...[point.half_within_us, point.p99_within_us].map((us) => (us === null ? "–" : millis(us / 1_000)))]),
        }}
      />
    </Panel>
  );
}

function Providers({ series }: { series: Series }) {
  const rank: Record<string, number> = { failing: 0, errors: 1, ok: 2, idle: 3 };
  const sorted = [...series.providers].sort((one, other) => (rank[one.state] ?? 4) - (rank[other.state] ?? 4));
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
                  {provider.failures > 0 && (
                    <div class="tiny quiet">
                      {provider.failures.toLocaleString("en")} of {provider.calls.toLocaleString("en")} calls failed
                    </div>
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

function Held({ series }: { series: Series }) {
  const { money } = series;
  const equal = money.held === money.owed;
  return (
    <Panel
      title="Money held and owed"
      aside={<StatusTag tone={!money.complete ? "move" : equal ? "done" : "bad"}>{!money.complete ? "Being added up" : equal ? "The ledger balances" : "The ledger differs"}</StatusTag>}
      foot={
        <>
          <span>
            {money.transactions.toLocaleString("en")} {money.transactions === 1 ? "transaction" : "transactions"}{money.last_transaction_at && <>, the last <Time at={money.last_transaction_at} /></>}
          </span>
          <span class="row">
            <Export name="held-and-owed" rows={() => money.accounts} columns={[["Account", (row) => ledgerName(row.account)], ["Side", (row) => row.side], ["USDC", (row) => String(row.amount)]]} />
            <a href="/desk/reconciliation">Reconciliation</a>
          </span>
        </>
      }
    >
      {money.accounts.length === 0 ? (
        <p class="nothing">Nothing is in the ledger yet.</p>
      ) : (
        <table class="table tight-rows">
          <caption class="only-read">What is held and what is owed, by ledger account</caption>
          <thead>
            <tr>
              <th scope="col">Account</th>
              <th scope="col" class="number">
                We hold
              </th>
              <th scope="col" class="number">
                We owe
              </th>
            </tr>
          </thead>
          <tbody>
            {money.accounts.map((row) => (
              <tr key={row.account}>
                <th scope="row">{ledgerName(row.account)}</th>
                <td class="number">{row.side === "held" && <Amount value={row.amount} live />}</td>
                <td class="number">{row.side === "owed" && <Amount value={row.amount} live />}</td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{equal ? "Equal" : "Not equal"}</th>
              <td class="number">
                <Amount value={money.held} live />
              </td>
              <td class="number">
                <Amount value={money.owed} live />
              </td>
            </tr>
          </tfoot>
        </table>
      )}
    </Panel>
  );
}

function JustNow() {
  const acts = useLoaded("acts", () => api.get<{ entries: AuditLogEntry[] }>(withQuery("/admin/audit", { order: "desc", limit: 6 })));
  useOnChange(ROWS.map((row) => row.queue), acts.reload);
  useEvery(15_000, acts.reload);
  return (
    <Panel title="What colleagues did" aside={<a href="/desk/audit">Audit log</a>} padded>
      {acts.error && !acts.data ? (
        <LoadError error={acts.error} retry={acts.reload} />
      ) : !acts.data ? (
        <Skeleton rows={4} />
      ) : acts.data.entries.length === 0 ? (
        <p class="soft">Nobody has done anything yet.</p>
      ) : (
        <Log
          label="Latest actions of operators"
          lines={acts.data.entries.map((act) => ({
            key: act.sequence,
            icon: actIcon(act.action),
            tone: actTone(act.action),
            text: (
              <>
                <b>{act.operator}</b> {actSays(act.action)}
              </>
            ),
            at: act.at,
            sub: <Subject value={act.subject} />,
          }))}
        />
      )}
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
        <div class="columns wide-narrow">
          {series.data ? <Held series={series.data} /> : <Skeleton rows={8} />}
          <JustNow />
        </div>
      </div>
    </Shell>
  );
}
