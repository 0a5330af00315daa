// What was announced at the operators' webhook, and a test of it.

import { useSignal } from "@preact/signals";
import { Id, Panel, Segments, StatusTag, Table, Time, type Tone, api, withQuery } from "../parts";
import { Act, useAct } from "./act";
import { Export, ListBar, ListState, fits, usePaged } from "./lists";
import { useEvery } from "./live";

interface Announcement {
  announcement_id: string;
  queue: string;
  item: string;
  waiting_since: string | null;
  created_at: string;
  waits: boolean;
  status: "pending" | "delivered" | "failed";
  attempt_count: number;
  next_attempt_at: string | null;
  ended_at: string | null;
  last_error: string | null;
}
interface Page {
  webhook: string | null;
  announcements: Announcement[];
  next_after: string | null;
}

const PAGE = 50;
const QUEUES: Record<string, string> = {
  intl_orders: "International order",
  card_withdrawals: "Card withdrawal",
  card_actions: "Card action",
  dead_letters: "Stuck work",
  unknown_payments: "Unknown payment",
  approvals: "Approval",
  refunds: "Refund to approve",
  incoming_transfers: "Unexplained transfer in",
  untracked_transfers: "Transfer out without a record",
  discrepancies: "Discrepancy",
  lines_not_sold: "Line not sold",
  test: "Test",
};
const STATES: Record<Announcement["status"], readonly [Tone, string]> = {
  pending: ["wait", "Tried again"],
  delivered: ["done", "Delivered"],
  failed: ["bad", "Gave up"],
};

export function Announcements() {
  const filter = useSignal("");
  const show = useSignal<"all" | "bad">("all");
  const webhook = useSignal<string | null | undefined>(undefined);
  const { busy, act } = useAct();
  const list = usePaged<Announcement>("announcements", async (after) => {
    const page = await api.get<Page>(withQuery("/admin/announcements", { after, limit: PAGE }));
    webhook.value = page.webhook;
    return { rows: page.announcements, next: page.announcements.length === PAGE ? page.next_after : null };
  });
  useEvery(5_000, list.reload);
  const shown = (list.rows ?? []).filter((row) => (show.value === "all" || row.status !== "delivered") && fits(filter.value, QUEUES[row.queue] ?? row.queue, row.item, row.announcement_id, row.last_error));
  return (
    <Panel
      title="Announcements to operators"
      aside={
        webhook.value !== undefined && (
          <span class="row wrap">
            {webhook.value === null ? <StatusTag tone="off">No address set</StatusTag> : <span class="mono small">{webhook.value}</span>}
            {webhook.value !== null && (
              <Act small icon="send" busy={busy === "test"} onClick={() => void act("test", "/admin/announcements/test", {}, "A test is on its way.").then(list.reload)}>
                Send a test
              </Act>
            )}
          </span>
        )
      }
    >
      <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="queue, id, error">
        <Segments
          label="Show"
          options={[
            { value: "all", text: "All" },
            { value: "bad", text: "Not delivered" },
          ]}
          value={show.value}
          onChange={(value) => (show.value = value)}
        />
        <Export
          name="announcements"
          rows={list.all}
          columns={[
            ["announcement_id", (row) => row.announcement_id],
            ["queue", (row) => row.queue],
            ["item", (row) => row.item],
            ["waiting_since", (row) => row.waiting_since],
            ["created_at", (row) => row.created_at],
            ["status", (row) => row.status],
            ["attempts", (row) => row.attempt_count],
            ["last_error", (row) => row.last_error],
          ]}
        />
      </ListBar>
      <ListState
        list={list}
        shown={shown.length}
        empty={
          <p class="nothing">
            {webhook.value === null
              ? "With operator.webhook_url in the settings, each new order, stuck work and discrepancy is posted to your own address, signed and until it is accepted."
              : "Nothing was announced yet. A test shows whether the address accepts messages."}
          </p>
        }
      >
        <Table
          caption="Announcements, the newest first"
          rows={shown}
          rowKey={(row) => row.announcement_id}
          columns={[
            {
              title: "What",
              cell: (row) => (
                <span>
                  <b>{QUEUES[row.queue] ?? row.queue}</b>
                  <span class="small block anywhere">{row.item.includes("_") ? <Id value={row.item} /> : row.item}</span>
                </span>
              ),
            },
            { title: "Noticed", cell: (row) => <Time at={row.created_at} />, fold: "second" },
            { title: "Message", cell: (row) => <Id value={row.announcement_id} what="message id" />, fold: "hidden" },
            { title: "Tries", number: true, cell: (row) => row.attempt_count.toLocaleString("en"), fold: "hidden" },
            {
              title: "State",
              cell: (row) => (
                <span>
                  <StatusTag tone={STATES[row.status][0]}>{row.status === "pending" && row.attempt_count === 0 ? "Waiting" : STATES[row.status][1]}</StatusTag>
                  {row.last_error && (
                    <span class="tiny quiet block anywhere">
                      {row.last_error}
                      {row.next_attempt_at && (
                        <>
                          , next try <Time at={row.next_attempt_at} />
                        </>
                      )}
                    </span>
                  )}
                </span>
              ),
              fold: "first-right",
            },
          ]}
        />
      </ListState>
    </Panel>
  );
}
