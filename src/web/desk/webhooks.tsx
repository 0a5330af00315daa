// Webhook endpoints of all accounts, and their deliveries.

import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button, Empty, Id, PageHead, Panel, Segments, Shell, StatusTag, Table, Time, type Tone, api, now, setQuery, short, span, useRoute, withQuery, present } from "../parts";
import type { OperatorWebhook, WebhookAttempt, WebhookDelivery } from "../api/operator";
import { Act, Ask, useAct } from "./act";
import { Announcements } from "./announcements";
import { Export, ListBar, ListState, fits, usePaged } from "./lists";
import { Tries, TriesOf, triedText } from "./tries";

const DELIVERY: Record<string, readonly [Tone, string]> = {
  pending: ["wait", "Next try"],
  delivered: ["done", "Delivered"],
  failed: ["bad", "Gave up"],
  dropped: ["off", "Dropped"],
};
const WHY: Record<string, string> = { gone: "It answered 410", failing: "It did not answer for five days" };

function state(row: OperatorWebhook): { tone: Tone; word: string; detail: string } {
  const { webhook } = row;
  if (webhook.status === "disabled") return { tone: "off", word: "Disabled", detail: WHY[webhook.disabled_reason ?? ""] ?? "" };
  if (webhook.status === "deleted") return { tone: "off", word: "Deleted", detail: "" };
  if (webhook.failing_since) return { tone: "bad", word: "Failing", detail: `for ${span((now.value - Date.parse(webhook.failing_since)) / 1_000)}` };
  return { tone: "done", word: "Delivering", detail: "" };
}

function Attempts({ attempts }: { attempts: WebhookAttempt[] }) {
  if (attempts.length === 0) return <p class="nothing">Not tried yet.</p>;
  return (
    <Table
      tight
      caption="Tries"
      rows={attempts}
      rowKey={(_, index) => index}
      columns={[
        { title: "At", cell: (row) => <Time at={row.at} as="seconds" /> },
        {
          title: "Answer",
          cell: (row) => (
            <span class="anywhere">
              {row.status !== null ? <b>{row.status} </b> : null}
              <span class="mono small quiet">{row.error ?? row.response_excerpt}</span>
            </span>
          ),
          fold: "whole",
        },
        { title: "Took", number: true, cell: (row) => `${row.duration_ms.toLocaleString("en")} ms`, fold: "first-right" },
      ]}
    />
  );
}

function Deliveries({ row }: { row: OperatorWebhook }) {
  const status = useSignal<"" | "pending" | "delivered" | "failed" | "dropped">("");
  const [asking, setAsking] = useState(false);
  const { busy, act } = useAct();
  const { webhook } = row;
  const list = usePaged<WebhookDelivery>(`deliveries ${webhook.webhook_id} ${status.value}`, async (after) => {
    const page = await api.get<{ deliveries: WebhookDelivery[]; has_more: boolean }>(withQuery("/admin/webhooks/deliveries", { webhook_id: webhook.webhook_id, status: status.value, limit: 50, starting_after: after }));
    return { rows: page.deliveries, next: page.has_more ? (page.deliveries.at(-1)?.delivery_id ?? null) : null };
  });
  const since = new Date(present() - 24 * 3_600_000).toISOString();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const node = place.current;
    // It was opened in a list that is longer than the window.
    if (node && node.getBoundingClientRect().top > innerHeight / 2) node.scrollIntoView({ block: "start" });
  }, []);
  return (
    <div ref={place} class="stack">
      <Panel
        title={<span class="anywhere">{address(webhook.url)}</span>}
        aside={
          <Act small icon="again" disabled={webhook.status !== "active"} onClick={() => setAsking(true)}>
            Send again…
          </Act>
        }
      >
        <div class="list-bar">
          <Segments
            label="Deliveries"
            options={[
              { value: "", text: "All" },
              { value: "pending", text: "Waiting" },
              { value: "failed", text: "Gave up" },
              { value: "delivered", text: "Delivered" },
            ]}
            value={status.value}
            onChange={(value) => (status.value = value)}
          />
          <Export
            name={`deliveries-${webhook.webhook_id}`}
            rows={list.all}
            columns={[
              ["delivery_id", (one) => one.delivery_id],
              ["type", (one) => one.type],
              ["seq", (one) => one.seq],
              ["status", (one) => one.status],
              ["attempts", (one) => one.attempt_count],
              ["created_at", (one) => one.created_at],
              ["next_attempt_at", (one) => one.next_attempt_at],
            ]}
          />
        </div>
        {status.value === "" && list.rows && <TriesOf deliveries={list.rows} />}
        <ListState list={list} shown={list.rows?.length ?? 0} empty={<Empty icon="webhook" title={status.value === "" ? "No event was sent to it yet" : "No delivery in this state"} />}>
          <ul class="list">
            {(list.rows ?? []).map((delivery) => (
              <li key={delivery.delivery_id}>
                <details class="delivery">
                  <summary class="cell delivery-cell">
                    <span>
                      <span class="mono small anywhere">{delivery.type}</span>
                      <span class="quiet small block anywhere">
                        <Time at={delivery.created_at} />, {triedText(delivery)}
                      </span>
                    </span>
                    <span class="row">
                      <StatusTag tone={DELIVERY[delivery.status]?.[0] ?? "off"}>{delivery.status === "pending" && delivery.attempt_count === 0 ? "Waiting" : (DELIVERY[delivery.status]?.[1] ?? delivery.status)}</StatusTag>
                      <span class="quiet small">
                        <Time at={delivery.next_attempt_at ?? delivery.last_updated_at} />
                      </span>
                    </span>
                  </summary>
                  <div class="delivery-body">
                    <div class="row wrap between">
                      <span class="row wrap">
                        <Id value={delivery.delivery_id} what="delivery id" />
                        <span class="quiet small">event {delivery.seq}</span>
                      </span>
                      <Act small icon="again" busy={busy === delivery.delivery_id} disabled={webhook.status !== "active"} onClick={() => void act(delivery.delivery_id, "/admin/webhooks/redeliver", { delivery_id: delivery.delivery_id }, "It is sent again, under its own id.").then(list.reload)}>
                        Send again
                      </Act>
                    </div>
                    <Attempts attempts={delivery.attempts} />
                  </div>
                </details>
              </li>
            ))}
          </ul>
        </ListState>
        {asking && (
          <Ask
            title="Send everything undelivered again?"
            action="Send again"
            path="/admin/webhooks/redeliver"
            body={{ webhook_id: webhook.webhook_id, since }}
            done="Everything undelivered of the last 24 hours is sent again."
            onDone={list.reload}
            onClose={() => setAsking(false)}
          >
            <p>Every event of the last 24 hours that {host(webhook.url)} has not confirmed is sent again, each under its own id, by which a receiver recognises it.</p>
          </Ask>
        )}
      </Panel>
    </div>
  );
}

/** An endpoint as its row names it. */
const address = (url: string): string => url.replace(/^https?:\/\//, "");

function host(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

export default function Webhooks() {
  const { query } = useRoute();
  const filter = useSignal("");
  const show = useSignal<"all" | "bad">("all");
  const list = usePaged<OperatorWebhook>("webhooks", async (after) => {
    const page = await api.get<{ webhooks: OperatorWebhook[]; has_more: boolean }>(withQuery("/admin/webhooks", { limit: 200, starting_after: after }));
    return { rows: page.webhooks, next: page.has_more ? (page.webhooks.at(-1)?.webhook.webhook_id ?? null) : null };
  });
  const rows = list.rows ?? [];
  const rank = (row: OperatorWebhook): number => ({ bad: 0, off: 1, done: 2 })[state(row).tone as "bad" | "off" | "done"] ?? 1;
  const bad = rows.filter((row) => state(row).tone === "bad").length;
  const shown = rows
    .filter((row) => (show.value === "all" || state(row).tone !== "done") && fits(filter.value, row.webhook.url, row.user_id, row.webhook.webhook_id, row.webhook.types.join(" ")))
    .sort((one, other) => rank(one) - rank(other));
  const selected = rows.find((row) => row.webhook.webhook_id === query.get("id"));
  return (
    <Shell app="desk" page="webhooks" title="Webhooks">
      <PageHead
        title="Webhooks"
        actions={
          <Button small icon="again" busy={list.loading} onClick={list.reload}>
            Read again
          </Button>
        }
      >
        Endpoints of all accounts. Each has its own line: a dead one delays nobody.
      </PageHead>
      <div class="stack">
        <Panel title="Endpoints" aside={bad > 0 ? <StatusTag tone="bad">{bad} failing</StatusTag> : undefined}>
          <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="address, wallet, event">
            <Segments
              label="Show"
              options={[
                { value: "all", text: "All" },
                { value: "bad", text: "Not delivering" },
              ]}
              value={show.value}
              onChange={(value) => (show.value = value)}
            />
            <Export
              name="webhooks"
              rows={list.all}
              columns={[
                ["webhook_id", (row) => row.webhook.webhook_id],
                ["user_id", (row) => row.user_id],
                ["url", (row) => row.webhook.url],
                ["status", (row) => row.webhook.status],
                ["failing_since", (row) => row.webhook.failing_since],
                ["disabled_reason", (row) => row.webhook.disabled_reason],
                ["types", (row) => row.webhook.types.join(" ")],
              ]}
            />
          </ListBar>
          <ListState list={list} shown={shown.length} empty={<Empty icon="webhook" title="No account has a webhook">Holders add them in their settings, agents by the API.</Empty>}>
            <Table
              caption="Endpoints, failing ones first"
              rows={shown}
              rowKey={(row) => row.webhook.webhook_id}
              selected={(row) => row === selected}
              onRow={(row) => setQuery({ id: row.webhook.webhook_id })}
              columns={[
                {
                  title: "Endpoint",
                  cell: (row) => (
                    <span>
                      <a class="lead anywhere" href={`/desk/webhooks?id=${row.webhook.webhook_id}`}>
                        {address(row.webhook.url)}
                      </a>
                      <span class="small block">
                        <a class="mono quiet" href={`/desk/customers/${row.user_id}`}>
                          {short(row.user_id)}
                        </a>
                      </span>
                    </span>
                  ),
                },
                { title: "Events", cell: (row) => <span class="mono small soft">{row.webhook.types.length > 0 ? row.webhook.types.join(" ") : "all"}</span>, fold: "hidden" },
                { title: "Last tries", cell: (row) => <Tries id={row.webhook.webhook_id} row={row} />, fold: "whole" },
                { title: "Since", cell: (row) => <Time at={row.webhook.created_at} as="day" />, fold: "hidden" },
                {
                  title: "State",
                  cell: (row) => (
                    <span>
                      <StatusTag tone={state(row).tone}>{state(row).word}</StatusTag>
                      {state(row).detail && <span class="tiny quiet block">{state(row).detail}</span>}
                    </span>
                  ),
                  fold: "first-right",
                },
              ]}
            />
          </ListState>
        </Panel>
        {selected && <Deliveries key={selected.webhook.webhook_id} row={selected} />}
        <Announcements />
      </div>
    </Shell>
  );
}
