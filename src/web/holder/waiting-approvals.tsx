// Spends over a limit: those that wait for the owner, and those that were decided.

import { useEffect, useRef, useState } from "preact/hooks";
import { Avatar, Button, Empty, ErrorLine, Panel, Skeleton, Status, Time, now, span } from "../parts";
import { mayAct } from "./account";
import { ApprovalDialog, DeclineDialog } from "./approval-dialog";
import { type Approval, approvalAgent, approvalReason, approvalSays, approvalWords } from "./approvals";
import { readDecided } from "./data/agents";
import { isAbsent, usePages } from "./data/load";
import { Pager } from "./pager";

/** How long the agent still waits, in words. */
const ends = (one: Approval): string => {
  const left = (Date.parse(one.expires_at ?? "") - now.value) / 1_000;
  return left > 0 ? `ends in ${span(left)}` : "has ended";
};

export interface WaitingProps {
  /** Those that wait. Absent while they are loaded. */
  approvals: Approval[] | undefined;
  /** Whether they could not be loaded. */
  failed: boolean;
  reload: () => void;
}

export function WaitingApprovals({ approvals, failed, reload }: WaitingProps) {
  const [shown, setShown] = useState<Approval | null>(null);
  const [declining, setDeclining] = useState<Approval | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const answered = useRef(false);
  // Otherwise the nearest control takes the focus: the button that declines the next.
  useEffect(() => {
    if (answered.current) list.current?.querySelector<HTMLElement>(".primary")?.focus();
    answered.current = false;
  }, [approvals?.length]);
  const onAnswered = () => {
    answered.current = true;
    reload();
  };
  if (!approvals) {
    return failed ? null : (
      <Panel title="Waits for your yes">
        <Skeleton rows={1} label="Loading what waits for you" />
      </Panel>
    );
  }
  // An agent's link shows what that agent asked for, if anything.
  if (approvals.length === 0 && !mayAct.value) return null;
  if (approvals.length === 0) {
    return (
      <Panel title="Waits for your yes" padded>
        <p class="small soft">Nothing waits for you. What an agent wants to spend over a limit waits here for a day, if you want to be asked.</p>
      </Panel>
    );
  }
  return (
    <Panel tone="ask" title="Waits for your yes" aside={String(approvals.length)}>
      <ul class="list" ref={list}>
        {approvals.map((one) => (
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
              <Button small decides disabled={!mayAct.value} label={`Decline: ${approvalSays(one)}`} onClick={() => setDeclining(one)}>
                Decline
              </Button>
              <Button small kind="primary" decides disabled={!mayAct.value} label={`Look at it: ${approvalSays(one)}`} onClick={() => setShown(one)}>
                Look at it
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {shown && <ApprovalDialog approval={shown} now={now.value} onClose={() => setShown(null)} onAnswered={onAnswered} />}
      {declining && <DeclineDialog approval={declining} onClose={() => setDeclining(null)} onAnswered={onAnswered} />}
    </Panel>
  );
}

/** What happened after the decision. */
const outcome = (one: Approval): string => {
  if (one.status === "used") return "It was done, once.";
  if (one.status === "approved") return "Not done yet.";
  if (one.status === "expired") return one.decided_at ? "You said yes, and it was not done in time." : "You did not answer in time.";
  return "Nothing was taken.";
};

/** What was decided, page by page. */
export function PastApprovals() {
  const list = usePages<Approval, string>("decided approvals", readDecided, { types: ["approval.*"], after: () => "reload" });
  if (isAbsent(list.error)) return null;
  const rows = list.data;
  // An agent's link shows what was decided for that agent, if anything.
  if (!mayAct.value && rows?.length === 0) return null;
  return (
    <Panel title="Decided">
      {list.error && (
        <div class="panel-body">
          <ErrorLine>{list.error.said}</ErrorLine>
        </div>
      )}
      {rows === undefined ? (
        !list.error && <Skeleton rows={2} label="Loading what was decided" />
      ) : rows.length === 0 && list.page === 0 && !list.hasNext ? (
        <Empty icon="clock" title="Nothing decided yet">
          Your answers to what agents asked are listed here.
        </Empty>
      ) : (
        <ul class="list">
          {rows.map((one) => (
            <li class="cell ask" key={one.approval_id}>
              <Avatar name={approvalAgent(one)} />
              <div>
                <p>
                  <b>{approvalAgent(one)}</b> {approvalWords(one).replace(/^wants/, "wanted")}
                </p>
                <p class="small quiet">
                  {approvalReason(one)} {outcome(one)} <Time at={one.decided_at ?? one.created_at ?? ""} />
                </p>
              </div>
              <Status kind="approval" value={one.status} />
            </li>
          ))}
        </ul>
      )}
      <Pager what="decided spends" page={list.page} hasNext={list.hasNext} loading={list.loading} next={list.next} previous={list.previous} />
    </Panel>
  );
}
