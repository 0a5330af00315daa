// Refunds: one operator asks, and above the limit another approves.

import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Amount, Avatar, Button, Empty, Id, KeyValue, PageHead, Panel, Segments, Shell, StatusTag, Table, Tabs, Time, type Tone, api, now, span, withQuery } from "../parts";
import type { OperatorRefund, OperatorRefundList } from "../api/operator";
import { Act, Ask, usd } from "./act";
import { Export, ListBar, ListState, LoadError, fits, usePaged } from "./lists";
import { countOf } from "./live";
import { isMe } from "./session";

export function DecisionTabs({ page }: { page: "refunds" | "approvals" }) {
  return (
    <Tabs
      label="Decisions of two people"
      links={[
        { href: "/desk/refunds", text: "Refunds", current: page === "refunds", count: countOf("refunds") },
        { href: "/desk/approvals", text: "Approvals", current: page === "approvals", count: countOf("approvals") },
      ]}
    />
  );
}

const STATES: Record<string, readonly [Tone, string]> = {
  requested: ["wait", "Waits"],
  approved: ["move", "Being credited"],
  credited: ["done", "Credited"],
  rejected: ["off", "Refused"],
  expired: ["off", "Nobody decided in time"],
};

function Waiting({ refund, reload }: { refund: OperatorRefund; reload: () => void }) {
  const [asking, setAsking] = useState<"approve" | "reject" | null>(null);
  const own = isMe(refund.requested_by);
  return (
    <section class="panel" aria-label={`Refund of ${usd(refund.amount)}`}>
      <div class="decision">
        <div class="stack tight">
          <div class="row wrap">
            <span class="decision-amount">{usd(refund.amount)}</span>
            <StatusTag tone="wait" tag>
              {own ? "Waits for a colleague" : "Waits for you"}
            </StatusTag>
          </div>
          <p>“{refund.reason}”</p>
          <div class="row wrap small quiet">
            <Avatar name={refund.requested_by} />
            <span>
              {own ? "You asked" : `${refund.requested_by} asked`} <Time at={refund.created_at} />
            </span>
            <span>· ends in {span((Date.parse(refund.expires_at) - now.value) / 1_000)}</span>
            {refund.holder_keeps_product && <span>· the holder keeps the product</span>}
          </div>
          <div class="row wrap small">
            <Id value={refund.payment_id} /> <Id value={refund.wallet} what="wallet" />
            <a href={`/desk/customers/${refund.wallet}`}>Customer</a>
          </div>
        </div>
        <div class="decision-acts">
          {own ? (
            <>
              <Button disabled>Approve</Button>
              <p class="small quiet">The operator who asks does not approve.</p>
            </>
          ) : (
            <Act kind="primary" onClick={() => setAsking("approve")}>
              Approve…
            </Act>
          )}
          <Act kind={own ? "ghost" : "danger"} onClick={() => setAsking("reject")}>
            {own ? "Take it back…" : "Refuse…"}
          </Act>
        </div>
      </div>
      {asking === "approve" && (
        <Ask
          title={`Approve ${usd(refund.amount)}?`}
          action="Approve"
          path="/admin/refunds/approve"
          body={{ refund_id: refund.refund_id }}
          fields={{ amount: { label: "Type the amount", hint: "So that two people have read the same number.", same: String(refund.amount) } }}
          done={`${usd(refund.amount)} credited to its holder`}
          onDone={reload}
          onClose={() => setAsking(null)}
        >
          <p>It goes to the holder’s balance at once, at the cost of the service. A payment is refunded only once.</p>
          <KeyValue
            rows={[
              { name: "To", value: <Id value={refund.wallet} what="wallet" /> },
              { name: "Asked by", value: refund.requested_by },
              { name: "Reason", value: `“${refund.reason}”` },
            ]}
          />
        </Ask>
      )}
      {asking === "reject" && (
        <Ask
          title={own ? "Take it back?" : `Refuse ${usd(refund.amount)}?`}
          action={own ? "Take it back" : "Refuse"}
          danger
          path="/admin/refunds/reject"
          body={{ refund_id: refund.refund_id }}
          fields={{ note: { name: "reason", label: "Reason", hint: "It goes into the audit log." } }}
          done={own ? "Taken back" : "Refused"}
          onDone={reload}
          onClose={() => setAsking(null)}
        >
          <p>Nothing is credited. The refund can be asked for again.</p>
        </Ask>
      )}
    </section>
  );
}

export default function Refunds() {
  const filter = useSignal("");
  const state = useSignal<"all" | "credited" | "rejected">("all");
  const pending = usePaged<OperatorRefund>(
    "pending refunds",
    async (after) => {
      const page = await api.get<OperatorRefundList>(withQuery("/admin/refunds", { after, limit: 100 }));
      return { rows: page.refunds, next: page.refunds.length === 100 ? page.next_after : null };
    },
    ["refunds"],
  );
  const all = usePaged<OperatorRefund>(
    "all refunds",
    async (after) => {
      const page = await api.get<OperatorRefundList>(withQuery("/admin/refunds", { all: true, after, limit: 100 }));
      return { rows: page.refunds, next: page.refunds.length === 100 ? page.next_after : null };
    },
    ["refunds"],
  );
  const reload = () => {
    pending.reload();
    all.reload();
  };
  const decided = (all.rows ?? []).filter((row) => row.status !== "requested");
  const shown = decided
    .filter((row) => (state.value === "all" || (state.value === "credited" ? row.status === "credited" || row.status === "approved" : row.status === "rejected" || row.status === "expired")) && fits(filter.value, row.refund_id, row.payment_id, row.wallet, row.requested_by, row.decided_by, row.reason, row.amount))
    .sort((one, other) => Date.parse(other.last_updated_at) - Date.parse(one.last_updated_at));
  return (
    <Shell app="desk" page="refunds" title="Refunds">
      <PageHead title="Refunds">Asked for at the customer. Above your limit one operator asks and another approves.</PageHead>
      <div class="stack">
        <DecisionTabs page="refunds" />
        {pending.error && !pending.rows ? (
          <LoadError error={pending.error} retry={pending.reload} />
        ) : pending.rows?.length === 0 ? (
          <Panel>
            <Empty icon="check" title="No refund waits">
              Ask for one at the customer, on the payment that it gives back.
            </Empty>
          </Panel>
        ) : (
          pending.rows?.map((refund) => <Waiting key={refund.refund_id} refund={refund} reload={reload} />)
        )}
        <Panel title="Decided">
          <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="id, wallet, operator, reason">
            <Segments
              label="State"
              options={[
                { value: "all", text: "All" },
                { value: "credited", text: "Credited" },
                { value: "rejected", text: "Not given" },
              ]}
              value={state.value}
              onChange={(value) => (state.value = value)}
            />
            <Export
              name="refunds"
              rows={all.all}
              columns={[
                ["refund_id", (row) => row.refund_id],
                ["payment_id", (row) => row.payment_id],
                ["wallet", (row) => row.wallet],
                ["amount", (row) => String(row.amount)],
                ["reason", (row) => row.reason],
                ["requested_by", (row) => row.requested_by],
                ["decided_by", (row) => row.decided_by],
                ["status", (row) => row.status],
                ["created_at", (row) => row.created_at],
                ["last_updated_at", (row) => row.last_updated_at],
              ]}
            />
          </ListBar>
          <ListState list={{ ...all, rows: all.rows && decided }} shown={shown.length} empty={<p class="nothing">None was decided yet.</p>}>
            <Table
              caption="Decided refunds, the newest first"
              rows={shown}
              rowKey={(row) => row.refund_id}
              columns={[
                {
                  title: "Refund",
                  cell: (row) => (
                    <span>
                      <Id value={row.refund_id} />
                      <span class="small quiet block">
                        <Time at={row.last_updated_at} />
                      </span>
                    </span>
                  ),
                },
                { title: "Holder", cell: (row) => <a class="mono small" href={`/desk/customers/${row.wallet}`}>{row.wallet.slice(0, 6)}…{row.wallet.slice(-4)}</a>, fold: "hidden" },
                { title: "Asked by", cell: (row) => row.requested_by, fold: "hidden" },
                { title: "Decided by", cell: (row) => (row.decided_by === row.requested_by ? <span class="quiet">alone, within the limit</span> : (row.decided_by ?? "–")), fold: "second" },
                { title: "State", cell: (row) => <StatusTag tone={STATES[row.status]?.[0] ?? "off"}>{STATES[row.status]?.[1] ?? row.status}</StatusTag>, fold: "second-right" },
                { title: "Amount", number: true, cell: (row) => <Amount value={row.amount} />, fold: "first-right" },
              ]}
            />
          </ListState>
        </Panel>
      </div>
    </Shell>
  );
}
