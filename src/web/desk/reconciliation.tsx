// Our ledger against the lists of chains and providers, and what differs, by day.

import { useSignal } from "@preact/signals";
import { Empty, Id, PageHead, Panel, Segments, Shell, StatusTag, Table, Time, api, dayKey, useLoaded, withQuery, present } from "../parts";
import type { Discrepancy, OperatorLateReturn, ReconciliationRun } from "../api/operator";
import { Act, useAct, usd } from "./act";
import { Export, ListBar, ListState, fits, usePaged } from "./lists";
import { type SystemEvent, useEvery, useOnChange } from "./live";
import { spaced, upper } from "./names";
import { discrepancySays, sourceName } from "./words";

interface Status {
  run: ReconciliationRun;
  open: Record<string, number>;
  discrepancies: Discrepancy[];
  next_after: string | null;
}
interface Day {
  key: string;
  at: string;
  opened: number;
  agreed: number;
  chains: number;
  providers: number;
}

/** Pages of a thousand events. */
const MOST_PAGES = 200;
const CHAINS = ["base", "solana", "bridge"];

/** Discrepancies that opened or ended on each day, from the system's events. */
function byDay(events: SystemEvent[]): Day[] {
  const days = new Map<string, Day>();
  for (const event of events) {
    if (!event.type.startsWith("discrepancy.")) continue;
    const key = dayKey(event.created_at);
    const day = days.get(key) ?? { key, at: event.created_at, opened: 0, agreed: 0, chains: 0, providers: 0 };
    if (event.type === "discrepancy.opened") {
      day.opened += 1;
      if (CHAINS.includes(String(event.data.object.source))) day.chains += 1;
      else day.providers += 1;
    } else if (event.type === "discrepancy.resolved") day.agreed += 1;
    days.set(key, day);
  }
  return [...days.values()].sort((one, other) => (one.key < other.key ? 1 : -1));
}

/** What one side has, with an amount as all pages write it. */
function Value({ text }: { text: string | null }) {
  return <span class="anywhere">{text?.replaceAll(/\b(\d+(?:\.\d+)?) USDC\b/g, (_, amount: string) => usd(amount)) ?? <span class="quiet">nothing</span>}</span>;
}

export default function Reconciliation() {
  const filter = useSignal("");
  const source = useSignal("all");
  const { busy, act } = useAct();
  const status = useLoaded("reconciliation", () => api.get<Status>(withQuery("/admin/reconciliation", { limit: 1 })));
  useEvery(5_000, status.reload);
  useOnChange(["discrepancies"], status.reload);
  const list = usePaged<Discrepancy>(
    "discrepancies",
    async (after) => {
      const page = await api.get<Status>(withQuery("/admin/reconciliation", { after, limit: 100 }));
      return { rows: page.discrepancies, next: page.discrepancies.length === 100 ? page.next_after : null };
    },
    ["discrepancies"],
  );
  // Thirty days of system events are kept. They are read to the newest, so that no day shows less than happened.
  const events = useLoaded("system events", async () => {
    const found: SystemEvent[] = [];
    let after = 0;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const part: { events: SystemEvent[]; next_after: number } = await api.get(withQuery("/admin/events", { after, limit: 1_000 }));
      found.push(...part.events.filter((event) => event.type.startsWith("discrepancy.")));
      if (part.events.length < 1_000) break;
      after = part.next_after;
    }
    return found;
  });
  useOnChange(["discrepancies"], events.reload);
  const late = usePaged<OperatorLateReturn>("late returns", async (after) => {
    const page = await api.get<{ late_returns: OperatorLateReturn[]; next_after: string | null }>(withQuery("/admin/late-returns", { after, limit: 100 }));
    return { rows: page.late_returns, next: page.late_returns.length === 100 ? page.next_after : null };
  });
  const lateFilter = useSignal("");
  const lateShown = (late.rows ?? []).filter((row) => fits(lateFilter.value, row.late_return_id, row.payout_id, row.wallet, row.reason, row.status));
  const rows = list.rows ?? [];
  const sources = [...new Set(rows.map((row) => row.source))];
  const shown = rows.filter((row) => (source.value === "all" || row.source === source.value) && fits(filter.value, row.key, row.subject, row.internal, row.external, discrepancySays(row.kind)));
  const run = status.data?.run;
  const open = Object.values(status.data?.open ?? {}).reduce((sum, n) => sum + n, 0);
  const days = byDay(events.data ?? []);
  const today = dayKey(present());
  const listed = days.some((day) => day.key === today) ? days : [{ key: today, at: new Date(present()).toISOString(), opened: 0, agreed: 0, chains: 0, providers: 0 }, ...days];
  return (
    <Shell app="desk" page="books" title="Reconciliation">
      <PageHead
        title="Reconciliation"
        actions={
          <>
            {run && <StatusTag tone={open > 0 ? "bad" : "done"} tag>{open > 0 ? `${open} open` : "All agree"}</StatusTag>}
            <Act icon="again" busy={busy === "run"} onClick={() => void act("run", "/admin/reconciliation/run", {}, (answer) => `Run ${(answer as { run: number }).run} starts once the current one has ended.`)}>
              Compare now
            </Act>
          </>
        }
      >
        Our ledger is compared with the lists of the chains and providers, all the time.{" "}
        {run && (
          <>
            {run.compared.toLocaleString("en")} entries compared so far in this run
            {run.last_completed_at && (
              <>
                , the last whole one ended <Time at={run.last_completed_at} />
              </>
            )}
            .
          </>
        )}
      </PageHead>
      <div class="stack">
        <Panel title="Open discrepancies">
          <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="key, id, value">
            {sources.length > 1 && (
              <Segments<string> label="Source" options={[{ value: "all", text: "All" }, ...sources.map((one) => ({ value: one as string, text: sourceName(one) }))]} value={source.value} onChange={(value) => (source.value = value)} />
            )}
            <Export
              name="discrepancies"
              rows={list.all}
              columns={[
                ["discrepancy_id", (row) => row.discrepancy_id],
                ["kind", (row) => row.kind],
                ["source", (row) => row.source],
                ["key", (row) => row.key],
                ["subject", (row) => row.subject],
                ["ours", (row) => row.internal],
                ["theirs", (row) => row.external],
                ["opened_at", (row) => row.opened_at],
              ]}
            />
          </ListBar>
          <ListState
            list={list}
            shown={shown.length}
            empty={
              <Empty icon="check" title="The ledger and the lists agree">
                A discrepancy opens when an entry differs twice, and closes by itself once both agree again.
              </Empty>
            }
          >
            <Table
              caption="Open discrepancies, the oldest first"
              rows={shown}
              rowKey={(row) => row.discrepancy_id}
              columns={[
                {
                  title: "What",
                  cell: (row) => (
                    <span>
                      <b>{discrepancySays(row.kind)}</b>
                      <span class="small block">
                        <Id value={row.key} what="key" />
                      </span>
                    </span>
                  ),
                },
                { title: "Source", cell: (row) => sourceName(row.source), fold: "first-right" },
                {
                  title: "Ours",
                  cell: (row) => (
                    <span>
                      <span class="narrow-only">Ours: </span>
                      <Value text={row.internal} />
                    </span>
                  ),
                },
                {
                  title: "Theirs",
                  cell: (row) => (
                    <span>
                      <span class="narrow-only">Theirs: </span>
                      <Value text={row.external} />
                    </span>
                  ),
                },
                {
                  title: "Of",
                  cell: (row) =>
                    row.kind === "unmatched_deposit" ? (
                      <a href={`/desk/incoming?transfer=${encodeURIComponent(row.key)}`}>Decide</a>
                    ) : (
                      row.subject && <a href={`/desk/customers?q=${encodeURIComponent(row.subject)}`}>Open</a>
                    ),
                  fold: "whole",
                },
                { title: "Since", cell: (row) => <Time at={row.opened_at} />, fold: "second-right" },
              ]}
            />
          </ListState>
        </Panel>
        <Panel
          title="By day"
          aside={
            <span class="row wrap">
              30 days are kept
              <Export
                name="discrepancies-by-day"
                rows={() => listed}
                columns={[
                  ["day", (row) => row.key],
                  ["opened", (row) => row.opened],
                  ["of_chains", (row) => row.chains],
                  ["of_providers", (row) => row.providers],
                  ["agreed_again", (row) => row.agreed],
                ]}
              />
            </span>
          }
        >
          <Table
            caption="Discrepancies by day"
            rows={listed}
            rowKey={(row) => row.key}
            columns={[
              { title: "Day", cell: (row) => <Time at={row.at} as="day" /> },
              { title: "Opened", number: true, cell: (row) => row.opened.toLocaleString("en"), fold: "hidden" },
              { title: "Of chains", number: true, cell: (row) => row.chains.toLocaleString("en"), fold: "hidden" },
              { title: "Of providers", number: true, cell: (row) => row.providers.toLocaleString("en"), fold: "hidden" },
              { title: "Agreed again", number: true, cell: (row) => row.agreed.toLocaleString("en"), fold: "hidden" },
              {
                title: "Result",
                cell: (row) => (row.opened > 0 ? <StatusTag tone={row.opened > row.agreed ? "bad" : "wait"}>{row.opened} opened</StatusTag> : <StatusTag tone="done">All agree</StatusTag>),
                fold: "first-right",
              },
            ]}
          />
        </Panel>
        {(late.rows?.length ?? 0) > 0 && (
          <Panel title="Late returns" aside="payouts that came back after they were final">
            <ListBar filter={lateFilter.value} onFilter={(text) => (lateFilter.value = text)} hint="id, wallet, reason">
              <Export
                name="late-returns"
                rows={late.all}
                columns={[
                  ["late_return_id", (row) => row.late_return_id],
                  ["payout_id", (row) => row.payout_id],
                  ["wallet", (row) => row.wallet],
                  ["reason", (row) => row.reason],
                  ["status", (row) => row.status],
                  ["credited_amount", (row) => String(row.credited_amount)],
                ]}
              />
            </ListBar>
            <ListState list={late} shown={lateShown.length} empty={null}>
              <Table
                caption="Late returns, the oldest first"
                rows={lateShown}
                rowKey={(row) => row.late_return_id}
                columns={[
                  { title: "Return", cell: (row) => <Id value={row.late_return_id} /> },
                  { title: "Payout", cell: (row) => <Id value={row.payout_id} />, fold: "hidden" },
                  { title: "Holder", cell: (row) => <a href={`/desk/customers/${row.wallet}`}>Customer</a> },
                  { title: "Reason", cell: (row) => upper(spaced(row.reason)), fold: "hidden" },
                  { title: "State", cell: (row) => upper(spaced(row.status)), fold: "second-right" },
                  { title: "Credited", number: true, cell: (row) => usd(row.credited_amount), fold: "first-right" },
                ]}
              />
            </ListState>
          </Panel>
        )}
      </div>
    </Shell>
  );
}
