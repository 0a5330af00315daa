// The supervision tree, mailboxes and restarts, live.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Icon, KeyValue, PageHead, Panel, Segments, Shell, Skeleton, StatusTag, Time, api, now, span, useLoaded, present } from "../parts";
import type { AdmissionStatus, EntityStatus, JobTypeStatus, ScheduledJobsStatus, StorageStatus, StreamStatus, SupervisionStatus } from "../api/operator";
import { AgeBar } from "./bars";
import { Export, LoadError } from "./lists";
import { useEvery } from "./live";
import { spaced } from "./names";
import { jobDoing, kindName } from "./words";

interface System {
  supervision: SupervisionStatus;
  entities: EntityStatus[];
  jobs: JobTypeStatus[];
  scheduled_jobs: ScheduledJobsStatus;
  admission: AdmissionStatus;
  storage: StorageStatus;
  streams: StreamStatus;
  suspended_since: string | null;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
function bytes(n: number): string {
  let value = n;
  let unit = 0;
  while (value >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return `${value.toLocaleString("en", { maximumFractionDigits: value < 10 && unit > 0 ? 1 : 0 })} ${UNITS[unit]}`;
}
const us = (n: number | null): string => (n === null ? "–" : n >= 1_000 ? `${(n / 1_000).toLocaleString("en", { maximumFractionDigits: 1 })} ms` : `${n} µs`);
const figures = (n: number): string => n.toLocaleString("en");
const failed = (job: JobTypeStatus): number => job.failures.reduce((sum, one) => sum + one.count, 0);

function Leaf({ tone, icon, name, cells }: { tone: "done" | "wait" | "bad" | "off"; icon?: "again"; name: string; cells: ComponentChildren[] }) {
  return (
    <li>
      <div class="leaf">
        <StatusTag tone={tone} icon={icon}>
          {name}
        </StatusTag>
        <span class="leaf-cells">
          {cells.map((cell) => (
            <span>{cell}</span>
          ))}
        </span>
      </div>
    </li>
  );
}

function Branch({ title, detail, cells, children }: { title: string; detail: string; cells: string[]; children: ComponentChildren }) {
  return (
    <li>
      <details open>
        <summary class="leaf">
          <span class="row">
            <Icon name="down" />
            <b>{title}</b> <span class="quiet small">{detail}</span>
          </span>
          <span class="leaf-cells">
            {cells.map((cell) => (
              <span>{cell}</span>
            ))}
          </span>
        </summary>
        <ul>{children}</ul>
      </details>
    </li>
  );
}

function Tree({ system, all }: { system: System; all: boolean }) {
  const { supervision, entities, jobs } = system;
  const state = (kind: string) => supervision.supervisors.find((one) => one.supervises === "entities" && one.kind === kind);
  const others = supervision.supervisors.filter((one) => one.supervises !== "entities" && one.supervises !== "outbox");
  const shownEntities = entities.filter((one) => all || one.active > 0 || one.queued > 0 || one.restarts > 0 || one.quarantined > 0);
  const shownJobs = jobs.filter((one) => all || one.in_flight > 0 || one.scheduled > 0 || one.dead_lettered > 0 || failed(one) > 0);
  const sum = (values: number[]) => figures(values.reduce((total, one) => total + one, 0));
  return (
    <ul class="tree" aria-label="Supervision tree">
      <li>
        <details open>
          <summary class="leaf">
            <span class="row">
              <Icon name="down" />
              <b>root</b> <span class="quiet small">{supervision.status}, {supervision.supervisors.length} supervisors</span>
            </span>
            <span class="leaf-cells" />
          </summary>
          <ul>
            <Branch title="Entities" detail={`${entities.length} kinds`} cells={[sum(entities.map((one) => one.active)), sum(entities.map((one) => one.queued)), sum(entities.map((one) => one.restarts))]}>
              {shownEntities.map((one) => {
                const dead = state(one.kind)?.status !== undefined && state(one.kind)?.status !== "running";
                return (
                  <Leaf
                    key={one.kind}
                    tone={dead || one.quarantined > 0 ? "bad" : one.restarts > 0 ? "wait" : "done"}
                    {...(one.restarts > 0 && !dead && one.quarantined === 0 ? { icon: "again" as const } : {})}
                    name={`${kindName(one.kind)}${one.quarantined > 0 ? `, ${one.quarantined} given up` : ""}`}
                    cells={[figures(one.active), figures(one.queued), figures(one.restarts)]}
                  />
                );
              })}
              {shownEntities.length < entities.length && <li class="tiny quiet more">{entities.length - shownEntities.length} kinds are idle</li>}
            </Branch>
            <Branch title="Work" detail={`${jobs.length} types`} cells={[sum(jobs.map((one) => one.in_flight)), sum(jobs.map((one) => one.scheduled)), sum(jobs.map(failed))]}>
              {shownJobs.map((one) => (
                <Leaf
                  key={one.job_type}
                  tone={one.dead_lettered > 0 ? "bad" : failed(one) > 0 && one.scheduled > 0 ? "wait" : "done"}
                  name={jobDoing(one.job_type)}
                  cells={[
                    one.dead_lettered > 0 ? (
                      <a href="/desk/stuck">{one.dead_lettered} stuck</a>
                    ) : (
                      `${figures(one.in_flight)} run`
                    ),
                    one.scheduled > 0 ? `${figures(one.scheduled)}, ${span(one.oldest_age_ms / 1_000)}` : "0",
                    failed(one) > 0 ? figures(failed(one)) : "0",
                  ]}
                />
              ))}
              {shownJobs.length < jobs.length && <li class="tiny quiet more">{jobs.length - shownJobs.length} types have nothing to do</li>}
            </Branch>
            {others.map((one) => (
              <Leaf key={one.actor} tone={one.status === "running" ? "done" : "bad"} name={spaced(one.supervises === "other" ? one.actor : one.supervises)} cells={[figures(one.children), "", ""]} />
            ))}
          </ul>
        </details>
      </li>
    </ul>
  );
}

export default function Supervision() {
  const all = useSignal(false);
  const readAt = useSignal(present());
  const found = useLoaded("system", async () => {
    const system = await api.get<System>("/admin/system");
    readAt.value = present();
    return system;
  });
  useEvery(3_000, found.reload);
  const system = found.data;
  const rejected = system?.admission.rejected.reduce((sum, one) => sum + one.count, 0) ?? 0;
  return (
    <Shell app="desk" page="supervision" title="Supervision">
      <PageHead
        title="Supervision"
        actions={system && <StatusTag tone={system.supervision.healthy ? "done" : "bad"} tag>{system.supervision.healthy ? "Healthy" : "A supervisor died"}</StatusTag>}
      >
        Root, supervisors, actors and their mailboxes, as they are now. Read {span((now.value - readAt.value) / 1_000)} ago.
      </PageHead>
      {found.error && !system ? (
        <LoadError error={found.error} retry={found.reload} />
      ) : !system ? (
        <Skeleton rows={10} />
      ) : (
        <div class="columns wide-narrow">
          <Panel
            title="Tree"
            class="tall-head"
            aside={
              <span class="row wrap">
                <Segments
                  label="Show"
                  options={[
                    { value: "some", text: "With something" },
                    { value: "all", text: "All" },
                  ]}
                  value={all.value ? "all" : "some"}
                  onChange={(value) => (all.value = value === "all")}
                />
                <Export
                  name="work"
                  text="Export work"
                  rows={() => system.jobs}
                  columns={[
                    ["job_type", (row) => row.job_type],
                    ["in_flight", (row) => row.in_flight],
                    ["scheduled", (row) => row.scheduled],
                    ["oldest_age_ms", (row) => row.oldest_age_ms],
                    ["dead_lettered", (row) => row.dead_lettered],
                    ["failures", failed],
                  ]}
                />
                <Export
                  name="entities"
                  text="Export entities"
                  rows={() => system.entities}
                  columns={[
                    ["kind", (row) => row.kind],
                    ["active", (row) => row.active],
                    ["queued", (row) => row.queued],
                    ["commands_in_flight", (row) => row.commands_in_flight],
                    ["restarts", (row) => row.restarts],
                    ["quarantined", (row) => row.quarantined],
                  ]}
                />
              </span>
            }
            padded
          >
            <div class="leaf leaf-title tiny quiet">
              <span />
              <span class="leaf-cells">
                <span>actors</span>
                <span>mailbox</span>
                <span>restarts</span>
              </span>
            </div>
            <Tree system={system} all={all.value} />
          </Panel>
          <div class="stack">
            <Panel title="Journal" padded>
              <KeyValue
                right
                rows={[
                  { name: "Durable", value: figures(system.storage.durable_seq) },
                  { name: "Applied", value: `${figures(system.storage.snapshot_seq)}, ${figures(system.storage.durable_seq - system.storage.snapshot_seq)} behind` },
                  { name: "Lag", value: `${bytes(system.storage.lag_bytes)} of ${bytes(system.storage.max_lag_bytes)}` },
                  { name: "A commit takes", value: `half within ${us(system.storage.commit_median_us)}, 99 of 100 within ${us(system.storage.commit_p99_us)}` },
                  { name: "Segments", value: `${figures(system.storage.segments)} of ${bytes(system.storage.segment_bytes)}` },
                  { name: "Refused since the start", value: figures(system.storage.rejected) },
                ]}
              />
              <div class="below">
                <AgeBar age={system.storage.lag_bytes} limit={system.storage.max_lag_bytes} label={`Journal lag: ${bytes(system.storage.lag_bytes)} of ${bytes(system.storage.max_lag_bytes)}`} />
              </div>
            </Panel>
            <Panel title="Admission" padded>
              <KeyValue
                right
                rows={[
                  { name: "Paid calls in flight", value: `${figures(system.admission.in_flight)} of ${figures(system.admission.limit)}` },
                  { name: "Payers in flight", value: figures(system.admission.payers) },
                  { name: "Refused as full since the start", value: figures(rejected) },
                  { name: "Unknown payments", value: system.admission.unknown_payments > 0 ? `${figures(system.admission.unknown_payments)}, the oldest ${span(system.admission.oldest_unknown_age_ms / 1_000)}` : "0" },
                ]}
              />
              <div class="below">
                <AgeBar age={system.admission.in_flight} limit={system.admission.limit} label={`${system.admission.in_flight} of ${system.admission.limit} places taken`} />
              </div>
            </Panel>
            <Panel title="Streams" padded>
              <KeyValue
                right
                rows={[
                  { name: "Open", value: figures(system.streams.connections) },
                  { name: "Subscribed", value: figures(system.streams.subscribers) },
                  { name: "Fell behind since the start", value: figures(system.streams.overflows) },
                  { name: "Closed for too many messages", value: figures(system.streams.rate_limited) },
                ]}
              />
            </Panel>
            <Panel title="Due next" padded>
              <KeyValue
                right
                rows={[
                  ...system.scheduled_jobs.by_job_type.slice(0, 8).map((one) => ({ name: jobDoing(one.job_type), value: `${figures(one.count)}${system.scheduled_jobs.more ? "+" : ""}` })),
                  system.scheduled_jobs.first_due_at !== null && { name: "First", value: <Time at={system.scheduled_jobs.first_due_at} /> },
                ]}
              />
              {system.scheduled_jobs.by_job_type.length === 0 && <p class="soft">Nothing is due later.</p>}
            </Panel>
            {system.suspended_since && (
              <Panel title="Suspended access" tone="ask" padded>
                <p>
                  A restore had no log of revocations <Time at={system.suspended_since} />. Access from before it is refused until an administrator confirms it: `purser admin confirm`.
                </p>
              </Panel>
            )}
          </div>
        </div>
      )}
    </Shell>
  );
}
