// Refunds: one operator asks, and above the limit another approves.

import { useSignal } from "@preact/signals";
import { Amount, Empty, Id, PageHead, Panel, Segments, Shell, StatusTag, Table, Time, type Tone, api, withQuery } from "../parts";
import type { OperatorRefund, OperatorRefundList } from "../api/operator";
import { usd } from "./act";
import { Decision, DecisionTabs } from "./decision";
import { Export, ListBar, ListState, LoadError, fits, usePaged } from "./lists";

const STATES: Record<string, readonly [Tone, string]> = {
  requested: ["wait", "Waits"],
  approved: ["move", "Being credited"],
  credited: ["done", "Credited"],
  rejected: ["off", "Refused"],
  expired: ["off", "Nobody decided in time"],
};

/** “ben asked, cia approved” */
function who({ status, requested_by: asked, decided_by: decided }: OperatorRefund): string {
  if (decided === null) return `${asked} asked`;
  const approved = status === "approved" || status === "credited";
  if (decided === asked) return approved ? `${asked} alone, within the limit` : `${asked} took it back`;
  return `${asked} asked, ${decided} ${approved ? "approved" : "refused"}`;
}

function Waiting({ refund, reload }: { refund: OperatorRefund; reload: () => void }) {
  return (
    <section class="panel" aria-label={`Refund of ${usd(refund.amount)}`}>
      <Decision
        amount={refund.amount}
        words={refund.reason}
        requestedBy={refund.requested_by}
        requestedAt={refund.created_at}
        openUntil={refund.expires_at}
        more={refund.holder_keeps_product && <span>the holder keeps the product</span>}
        about={
          <>
            <Id value={refund.payment_id} /> <Id value={refund.wallet} what="wallet" />
            <a href={`/desk/customers/${refund.wallet}`}>Customer</a>
          </>
        }
        body={{ refund_id: refund.refund_id }}
        approve={{
          path: "/admin/refunds/approve",
          text: "It goes to the holder’s balance at once, at the cost of the service. A payment is refunded only once.",
          action: "Approve",
          done: `${usd(refund.amount)} credited to its holder`,
          rows: [
            { name: "To", value: <Id value={refund.wallet} what="wallet" /> },
            { name: "Asked by", value: refund.requested_by },
            { name: "Reason", value: `“${refund.reason}”` },
          ],
        }}
        reject={{ path: "/admin/refunds/reject", title: `Refuse ${usd(refund.amount)}?`, text: "Nothing is credited. The refund can be asked for again." }}
        onDone={reload}
      />
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
      <PageHead title="Refunds">You ask for one on the page of its customer. Above your limit, a second operator approves it.</PageHead>
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
                {
                  title: "Who and why",
                  cell: (row) => (
                    <span>
                      {who(row)}
                      <span class="small quiet block anywhere">“{row.reason}”</span>
                    </span>
                  ),
                  fold: "second",
                },
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
