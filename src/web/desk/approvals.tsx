// Acts that are more than one operator may decide alone.

import { useSignal } from "@preact/signals";
import { Empty, Id, PageHead, Panel, Shell, api, withQuery } from "../parts";
import type { Approval } from "../api/operator";
import { Export, ListBar, ListState, fits, usePaged } from "./lists";
import { Decision, DecisionTabs } from "./decision";
import { approvalSays } from "./words";

function Waiting({ approval, reload }: { approval: Approval; reload: () => void }) {
  return (
    <li>
      <Decision
        amount={approval.amount}
        what={<b>{approvalSays(approval.act)}</b>}
        words={approval.words}
        requestedBy={approval.requested_by}
        requestedAt={approval.requested_at}
        openUntil={approval.open_until}
        about={
          <>
            <Id value={approval.subject} />
            <a href={`/desk/customers?q=${encodeURIComponent(approval.subject)}`}>What it is about</a>
          </>
        }
        body={{ approval_id: approval.approval_id }}
        approve={{
          path: "/admin/approvals/approve",
          text: "It is done at once, exactly as it was asked for, in both your names.",
          action: "Approve and do it",
          done: "Approved and done",
          rows: [
            { name: "What", value: approvalSays(approval.act) },
            { name: "About", value: <Id value={approval.subject} /> },
            { name: "Asked by", value: approval.requested_by },
            { name: "Evidence", value: `“${approval.words}”` },
          ],
        }}
        reject={{ path: "/admin/approvals/reject", title: "Refuse it?", text: "Nothing is done. It can be asked for again." }}
        onDone={reload}
      />
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
