// Spends over a limit that wait for the owner.

import { useState } from "preact/hooks";
import { Avatar, Button, Panel, Status, Time, failure, money, now, span, toast } from "../parts";
import { mayAct } from "./account";
import { ApprovalDialog } from "./approval-dialog";
import { type Approval, approvalAgent, approvalReason, approvalWords, decline, payee } from "./approvals";

/** How long the agent still waits, in words. */
const ends = (one: Approval): string => {
  const left = (Date.parse(one.expires_at ?? "") - now.value) / 1_000;
  return left > 0 ? `ends in ${span(left)}` : "has ended";
};

export interface ApprovalsProps {
  approvals: Approval[];
  reload: () => void;
}

export function WaitingApprovals({ approvals, reload }: ApprovalsProps) {
  const [shown, setShown] = useState<Approval | null>(null);
  const waiting = approvals.filter((one) => one.status === "pending");
  if (waiting.length === 0) return null;
  return (
    <Panel tone="ask" title="Waits for your yes" aside={String(waiting.length)}>
      <ul class="list">
        {waiting.map((one) => (
          <li class="cell ask" key={one.approval_id}>
            <Avatar name={approvalAgent(one)} large />
            <div>
              <p>
                <b>{approvalAgent(one)}</b> {approvalWords(one)}
              </p>
              <p class="small quiet">
                {approvalReason(one)} Asked <Time at={one.created_at ?? ""} />, {ends(one)}.
              </p>
            </div>
            <div class="acts">
              <DeclineButton one={one} then={reload} />
              <Button small kind="primary" decides disabled={!mayAct.value} onClick={() => setShown(one)}>
                Look at it
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {shown && <ApprovalDialog approval={shown} now={now.value} onClose={() => setShown(null)} onAnswered={reload} />}
    </Panel>
  );
}

function DeclineButton({ one, then }: { one: Approval; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    try {
      await decline(one);
      then();
    } catch (thrown) {
      toast(failure(thrown).said);
    }
    setBusy(false);
  };
  return (
    <Button small decides busy={busy} disabled={!mayAct.value} onClick={() => void act()}>
      Decline
    </Button>
  );
}

/** What was decided lately. */
export function PastApprovals({ approvals }: { approvals: Approval[] }) {
  const past = approvals.filter((one) => one.status !== "pending").slice(0, 10);
  if (past.length === 0) return null;
  return (
    <Panel title="Decided lately">
      <ul class="list">
        {past.map((one) => (
          <li class="cell ask" key={one.approval_id}>
            <Avatar name={approvalAgent(one)} />
            <p>
              {approvalAgent(one)}, {money(one.amount)} to {payee(one)} <span class="quiet small"><Time at={one.decided_at ?? one.created_at ?? ""} /></span>
            </p>
            <Status kind="approval" value={one.status} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
