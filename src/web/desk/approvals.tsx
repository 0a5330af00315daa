// Acts that are more than one operator may decide alone.

import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Avatar, Button, Empty, Id, KeyValue, PageHead, Panel, Shell, StatusTag, Time, api, now, span, withQuery } from "../parts";
import type { Approval } from "../api/operator";
import { Act, Ask, usd } from "./act";
import { Export, ListBar, ListState, fits, usePaged } from "./lists";
import { DecisionTabs } from "./refunds";
import { isMe } from "./session";
import { approvalSays } from "./words";

function Waiting({ approval, reload }: { approval: Approval; reload: () => void }) {
  const [asking, setAsking] = useState<"approve" | "reject" | null>(null);
  const own = isMe(approval.requested_by);
  return (
    <li>
      <div class="decision">
        <div class="stack tight">
          <div class="row wrap">
            <span class="decision-amount">{usd(approval.amount)}</span>
            <b>{approvalSays(approval.act)}</b>
            <StatusTag tone="wait" tag>
              {own ? "Waits for a colleague" : "Waits for you"}
            </StatusTag>
          </div>
          <p class="anywhere">“{approval.words}”</p>
          <div class="row wrap small quiet">
            <Avatar name={approval.requested_by} />
            <span>
              {own ? "You asked" : `${approval.requested_by} asked`} <Time at={approval.requested_at} />
            </span>
            <span>· ends in {span((Date.parse(approval.open_until) - now.value) / 1_000)}</span>
          </div>
          <div class="row wrap small">
            <Id value={approval.subject} />
            <a href={`/desk/customers?q=${encodeURIComponent(approval.subject)}`}>What it is about</a>
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
          title={`Approve ${usd(approval.amount)}?`}
          action="Approve and do it"
          path="/admin/approvals/approve"
          body={{ approval_id: approval.approval_id }}
          fields={{ amount: { label: "Type the amount", hint: "So that two people have read the same number.", same: String(approval.amount) } }}
          done="Approved and done"
          onDone={reload}
          onClose={() => setAsking(null)}
        >
          <p>It is done at once, exactly as it was asked for, in both your names.</p>
          <KeyValue
            rows={[
              { name: "What", value: approvalSays(approval.act) },
              { name: "About", value: <Id value={approval.subject} /> },
              { name: "Asked by", value: approval.requested_by },
              { name: "Evidence", value: `“${approval.words}”` },
            ]}
          />
        </Ask>
      )}
      {asking === "reject" && (
        <Ask
          title={own ? "Take it back?" : "Refuse it?"}
          action={own ? "Take it back" : "Refuse"}
          danger
          path="/admin/approvals/reject"
          body={{ approval_id: approval.approval_id }}
          fields={{ note: { name: "reason", label: "Reason", hint: "It goes into the audit log." } }}
          done={own ? "Taken back" : "Refused"}
          onDone={reload}
          onClose={() => setAsking(null)}
        >
          <p>Nothing is done. It can be asked for again.</p>
        </Ask>
      )}
    </li>
  );
}

export default function Approvals() {
  const filter = useSignal("");
  const list = usePaged<Approval>(
    "approvals",
    async (after) => {
      const page = await api.get<{ approvals: Approval[]; next_after: string | null }>(withQuery("/admin/approvals", { after, limit: 100 }));
      return { rows: page.approvals, next: page.approvals.length === 100 ? page.next_after : null };
    },
    ["approvals"],
  );
  const shown = (list.rows ?? []).filter((row) => fits(filter.value, row.approval_id, row.subject, row.requested_by, row.words, approvalSays(row.act), row.amount));
  return (
    <Shell app="desk" page="refunds" title="Approvals">
      <PageHead title="Approvals">Acts that give money and are above the limit of one operator. Two people, one number.</PageHead>
      <div class="stack">
        <DecisionTabs page="approvals" />
        <Panel>
          <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="id, operator, evidence">
            <Export
              name="approvals"
              rows={list.all}
              columns={[
                ["approval_id", (row) => row.approval_id],
                ["act", (row) => row.act],
                ["subject", (row) => row.subject],
                ["amount", (row) => String(row.amount)],
                ["requested_by", (row) => row.requested_by],
                ["requested_at", (row) => row.requested_at],
                ["open_until", (row) => row.open_until],
                ["evidence", (row) => row.words],
              ]}
            />
          </ListBar>
          <ListState
            list={list}
            shown={shown.length}
            empty={
              <Empty icon="check" title="Nothing waits for a second person">
                What was approved or refused is in the <a href="/desk/audit">audit log</a>.
              </Empty>
            }
          >
            <ul class="list">
              {shown.map((approval) => (
                <Waiting key={approval.approval_id} approval={approval} reload={list.reload} />
              ))}
            </ul>
          </ListState>
        </Panel>
      </div>
    </Shell>
  );
}
