// What happened to an account or to one thing of it: events, the steps between, and what operators did.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Amount, Button, Empty, Id, Log, type LogLine, Panel, Segments, Skeleton, type StreamEvent, StatusTag, api, sentence, withQuery } from "../parts";
import type { AuditLogEntry } from "../api/operator";
import { Export, LoadError, type PageOf, usePaged } from "./lists";
import type { QueueName } from "./live";
import { actArea, actIcon, actSays, actTone, spaced } from "./names";
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

function lineOf(entry: TimelineEntry, key: number, own: string | undefined): LogLine {
  const ids = (
    <>
      {entry.id && entry.id !== own && <Subject value={entry.id} />}
      {entry.request_id && !/^req_0+$/.test(entry.request_id) && <Id value={entry.request_id} />}
    </>
  );
  if (entry.operator_action) {
    const act = entry.operator_action;
    return {
      key,
      at: entry.at,
      icon: actIcon(act.action),
      tone: actTone(act.action),
      text: (
        <>
          <b>{act.operator}</b> {actSays(act.action)}
          {act.note && <span class="soft">: “{act.note}”</span>}
        </>
      ),
      sub: ids,
    };
  }
  if (entry.event) {
    const said = sentence(entry.event);
    return {
      key,
      at: entry.at,
      ...(said.then ? { tone: said.then.tone } : { icon: "circle" as const }),
      text: (
        <>
          {said.who && <b>{forOperators(said.who)} </b>}
          {said.who === "You" ? forOperators(said.text).replaceAll("the holder’s", "their") : forOperators(said.text)}{" "}
          {said.amount && <Amount value={said.amount.value} currency={said.amount.currency} />} {said.then && <StatusTag tone={said.then.tone}>{said.then.word}</StatusTag>}
        </>
      ),
      sub: ids,
    };
  }
  return {
    key,
    at: entry.at,
    icon: "notYet",
    text: (
      <span class="quiet">
        {kindName(entry.kind ?? "")}: {spaced(entry.status ?? "")}
      </span>
    ),
    sub: ids,
  };
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
  const [key] = useState(0);
  const list = usePaged<TimelineEntry>(
    `timeline ${wallet ?? ""} ${id ?? ""} ${key}`,
    async (before, most = 50): Promise<PageOf<TimelineEntry>> => {
      const page = await api.get<TimelinePage>(withQuery("/admin/timeline", { wallet, id, before, limit: most }));
      return { rows: page.entries, next: page.next_before };
    },
    watched,
    (row) => [row.at, row.id, row.status, row.event?.seq, row.operator_action?.sequence].join(" "),
  );
  useEffect(() => {
    if (version > 0) list.reload();
  }, [version]);
  const shown = (list.rows ?? []).filter((entry) => belongs(entry, show.value));
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
        ) : shown.length === 0 ? (
          <Empty icon="clock" title="Nothing of this kind">
            {list.hasMore ? "There may be some further back." : "Events are kept for 30 days."}
          </Empty>
        ) : (
          <Log label={title} lines={shown.map((entry, index) => lineOf(entry, index, id))} />
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
