// What happened to an account or to one thing of it: events, the steps between, and what operators did.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { Amount, Button, Empty, Id, Log, type LogLine, Panel, Segments, Skeleton, type StreamEvent, StatusTag, Time, type Tone, api, sentence, withQuery } from "../parts";
import type { AuditLogEntry } from "../api/operator";
import { Export, LoadError, type PageOf, usePaged } from "./lists";
import type { QueueName } from "./live";
import { actArea, actIcon, actSays, actTone } from "./acts";
import { amountOf, spaced } from "./names";
import { type Story, named, stories, tellsAmount } from "./story";
import { Subject } from "./subject";
import { forOperators, kindName } from "./words";

export interface TimelineEntry {
  at: string;
  kind: string | null;
  id: string;
  status: string | null;
  request_id: string | null;
  event: StreamEvent | null;
  operator_action: AuditLogEntry | null;
}
interface TimelinePage {
  wallet: string;
  entries: TimelineEntry[];
  next_before: string | null;
  operator_actions_complete: boolean;
}

type Show = "events" | "money" | "people" | "all";

const MONEY = /^(balance|payment|payout|top_up|withdrawal|card_withdrawal|refund|late_return|wallet_payment|bank_transfer)\./;

function belongs(entry: TimelineEntry, show: Show): boolean {
  if (show === "all") return true;
  if (entry.operator_action) return show === "people" || show === "events" || actArea(entry.operator_action.action) === "money";
  if (!entry.event) return false;
  if (show === "events") return true;
  if (show === "people") return /^(account|session|api_key|agent_wallet\.caps|identity|issuer_link)/.test(entry.event.type);
  return MONEY.test(entry.event.type);
}

/** A status after a sentence. A step that was followed by another is over, whatever it was then. */
function After({ then, isOver }: { then: { tone: Tone; word: string }; isOver: boolean }) {
  return isOver && (then.tone === "move" || then.tone === "wait") ? (
    <StatusTag tone="off" icon="check">
      {then.word}
    </StatusTag>
  ) : (
    <StatusTag tone={then.tone}>{then.word}</StatusTag>
  );
}

/** An event's sentence for operators. `operators` caused it, where the audit log says so. */
function Sentence({ event, operators, isOver }: { event: StreamEvent; operators: string[]; isOver: boolean }) {
  const said = sentence(event);
  let text = said.who === "You" ? forOperators(said.text).replaceAll("the holder’s", "their") : forOperators(said.text);
  const by = operators.join(" and ");
  const then = said.then && { ...said.then, word: by === "" ? said.then.word : said.then.word.replace(/^An operator is on it$/, `Claimed by ${by}`) };
  // A claim can have ended since: who claimed it is said, not who works on it.
  const names = by !== "" && !event.type.endsWith(".claimed") && /^(A person at Purser|An operator)\b/.test(text);
  if (names) text = text.replace(/^(A person at Purser|An operator)/, "");
  return (
    <>
      {names ? <b>{by}</b> : said.who && <b>{forOperators(said.who)} </b>}
      {text} {said.amount && !tellsAmount(text, said.amount) && <Amount value={said.amount.value} currency={said.amount.currency} />} {then && <After then={then} isOver={isOver} />}
      {by !== "" && !names && !then?.word.startsWith("Claimed by") && <span class="quiet small"> by {by}</span>}
    </>
  );
}

function idsOf(entry: TimelineEntry, own: string | undefined): ComponentChildren {
  return (
    <>
      {entry.operator_action ? entry.operator_action.subject !== own && <Subject value={entry.operator_action.subject} action={entry.operator_action.action} /> : entry.id && entry.id !== own && <Subject value={entry.id} />}
      {entry.request_id && !/^req_0+$/.test(entry.request_id) && <Id value={entry.request_id} />}
    </>
  );
}

function What({ entry, isOver, operators = [] }: { entry: TimelineEntry; isOver: boolean; operators?: string[] }) {
  if (entry.operator_action) {
    const act = entry.operator_action;
    return (
      <>
        <b>{act.operator}</b> {actSays(act.action)}
        {act.note && <span class="soft">: “{act.note}”</span>}
      </>
    );
  }
  if (entry.event) return <Sentence event={entry.event} operators={operators} isOver={isOver} />;
  return (
    <span class="quiet">
      {kindName(entry.kind ?? "")}: {spaced(entry.status ?? "")}
    </span>
  );
}

/** The point of a line: its tone if it still has one. */
function pointOf(entry: TimelineEntry, isOver: boolean): Pick<LogLine, "icon" | "tone"> {
  if (entry.operator_action) return { icon: actIcon(entry.operator_action.action), tone: actTone(entry.operator_action.action) };
  const then = entry.event && sentence(entry.event).then;
  if (!entry.event) return { icon: "notYet" };
  return then && !(isOver && (then.tone === "move" || then.tone === "wait")) ? { tone: then.tone } : { icon: "circle" };
}

/** Each entry of every step. Only the newest of each thing can still go on. */
function stepLines(entries: TimelineEntry[], own: string | undefined): LogLine[] {
  const newest = new Map<string, TimelineEntry>();
  for (const story of stories(entries, own)) for (const step of story.steps) newest.set(story.key, newest.get(story.key) ?? step);
  const goesOn = new Set(newest.values());
  return entries.map((entry, key) => {
    const isOver = !goesOn.has(entry);
    return { key, at: entry.at, ...pointOf(entry, isOver), text: <What entry={entry} isOver={isOver} />, sub: idsOf(entry, own) };
  });
}

/** One story. Its steps are below it, folded. */
function storyLine(story: Story, own: string | undefined): LogLine {
  const { lead, steps } = story;
  // Of a purchase, and of what a refund gives back.
  const payment = lead.event && (story.key.startsWith("pay_") || lead.event.type.startsWith("refund.")) ? String(lead.event.data.object.payment_id ?? "") : "";
  return {
    key: story.key,
    at: lead.at,
    ...pointOf(lead, false),
    text: (
      <>
        <What entry={lead} isOver={false} operators={story.operators} />
        {story.note && lead.event && <span class="soft"> “{story.note}”</span>}
      </>
    ),
    sub: (
      <>
        {idsOf(lead, own)}
        {payment && payment !== lead.id && payment !== own && <Subject value={payment} />}
        {steps.length > 1 && (
          <details class="steps">
            <summary>Every step ({steps.length})</summary>
            <ol>
              {steps.toReversed().map((step) => (
                <li>
                  <Time at={step.at} as="seconds" class="quiet" />
                  <span>
                    <What entry={step} isOver={step !== steps[0]} />
                  </span>
                </li>
              ))}
            </ol>
          </details>
        )}
      </>
    ),
  };
}

/** The least of a page that is worth showing, and the most requests for it. */
const ENOUGH = 20;
const MOST_READS = 10;

/**
 * A page of what happened, without the steps of webhook deliveries. An endpoint that fails has hundreds of those, so it reads on
 * until there is enough of the rest.
 */
export async function readOn(read: (before: string | null) => Promise<PageOf<TimelineEntry>>, before: string | null): Promise<PageOf<TimelineEntry>> {
  const rows: TimelineEntry[] = [];
  let next = before;
  for (let reads = 0; reads < MOST_READS; reads += 1) {
    const page = await read(next);
    rows.push(...page.rows.filter((entry) => entry.kind !== "webhook_delivery"));
    next = page.next;
    if (next === null || rows.filter((entry) => entry.event ?? entry.operator_action).length >= ENOUGH) break;
  }
  return { rows, next };
}

export interface TimelineProps {
  /** Of an account. */
  wallet?: string;
  /** Of one thing. */
  id?: string;
  title?: string;
  aside?: ComponentChildren;
  watched?: QueueName[];
  /** Another number reads it again. */
  version?: number;
}

export function Timeline({ wallet, id, title = "Timeline", aside, watched = [], version = 0 }: TimelineProps) {
  const show = useSignal<Show>(id ? "all" : "events");
  const isEveryStep = show.value === "all";
  const list = usePaged<TimelineEntry>(
    `timeline ${wallet ?? ""} ${id ?? ""} ${isEveryStep}`,
    (start, most): Promise<PageOf<TimelineEntry>> => {
      const read = async (before: string | null) => {
        const page = await api.get<TimelinePage>(withQuery("/admin/timeline", { wallet, id, before, limit: most ?? (before === null ? 100 : 200) }));
        return { rows: page.entries, next: page.next_before };
      };
      // A file has every step.
      return isEveryStep || most !== undefined ? read(start) : readOn(read, start);
    },
    watched,
    (row) => [row.at, row.id, row.status, row.event?.seq, row.operator_action?.sequence].join(" "),
  );
  useEffect(() => {
    if (version > 0) list.reload();
  }, [version]);
  const entries = useMemo(() => named(list.rows ?? []), [list.rows]);
  const lines = useMemo(
    () =>
      show.value === "all"
        ? stepLines(entries, wallet ?? id)
        : stories(entries, wallet)
            .filter((story) => story.steps.some((step) => belongs(step, show.value)) && !(show.value === "events" && story.quiet))
            .map((story) => storyLine(story, wallet ?? id)),
    [entries, show.value, wallet, id],
  );
  return (
    <Panel
      title={title}
      aside={
        <span class="row">
          {aside}
          <Export
            name={`timeline-${(wallet ?? id ?? "").slice(0, 14)}`}
            rows={list.all}
            columns={[
              ["at", (row) => row.at],
              ["kind", (row) => row.kind ?? "operator action"],
              ["id", (row) => row.id],
              ["status", (row) => row.status],
              ["event", (row) => row.event?.type],
              ["amount", (row) => amountOf(row.event?.data.object)],
              ["operator", (row) => row.operator_action?.operator],
              ["action", (row) => row.operator_action?.action],
              ["note", (row) => row.operator_action?.note],
              ["request_id", (row) => row.request_id],
            ]}
          />
        </span>
      }
    >
      <div class="panel-body stack">
        <Segments<Show>
          label="Show"
          options={[
            { value: "events", text: "What happened" },
            { value: "money", text: "Money" },
            { value: "people", text: "People" },
            { value: "all", text: "Every step" },
          ]}
          value={show.value}
          onChange={(value) => (show.value = value)}
        />
        {list.error && !list.rows ? (
          <LoadError error={list.error} retry={list.reload} />
        ) : !list.rows ? (
          <Skeleton rows={5} />
        ) : lines.length === 0 ? (
          <Empty icon="clock" title="Nothing of this kind">
            {list.hasMore ? "There may be some further back." : "Events are kept for 30 days."}
          </Empty>
        ) : (
          <Log label={title} lines={lines} />
        )}
        {list.hasMore && (
          <Button small busy={list.loading} onClick={list.more}>
            Further back
          </Button>
        )}
      </div>
    </Panel>
  );
}
