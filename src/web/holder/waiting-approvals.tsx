// Spends over a limit that wait for the owner.

import { useState } from "preact/hooks";
import { Avatar, Button, Dialog, ErrorLine, Id, KeyValue, Note, Panel, Status, Time, compare, failure, money, now, span, sum, toast } from "../parts";
import { mayAct } from "./account";
import { chainName } from "./chain";
import { type Approval, agentName, approve, decline, limitWords, purpose } from "./data/agents";

/** How long the agent still waits, in words. */
const ends = (one: Approval): string => {
  const left = (Date.parse(one.expires_at) - now.value) / 1_000;
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
            <Avatar name={agentName(one)} large />
            <div>
              <p>
                <b>{agentName(one)}</b> wants to pay <b>{money(one.amount)}</b> for {purpose(one)}
              </p>
              <p class="small quiet">
                Over your limit of {one.limits.map(limitWords).join(" and ")}. Asked <Time at={one.created_at} />, {ends(one)}.
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
      {shown && <ApproveDialog one={shown} onClose={() => setShown(null)} then={reload} />}
    </Panel>
  );
}

function DeclineButton({ one, then }: { one: Approval; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    try {
      await decline(one);
      toast(`Declined. ${agentName(one)} is told.`);
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

export function ApproveDialog({ one, onClose, then }: { one: Approval; onClose: () => void; then: () => void }) {
  const [busy, setBusy] = useState<"approve" | "decline" | null>(null);
  const [error, setError] = useState<string | null>(null);
  const act = async (what: "approve" | "decline") => {
    setBusy(what);
    setError(null);
    try {
      await (what === "approve" ? approve(one) : decline(one));
      onClose();
      toast(what === "approve" ? `Approved. ${agentName(one)} can pay it once, within 15 minutes.` : `Declined. ${agentName(one)} is told.`);
      then();
    } catch (thrown) {
      setBusy(null);
      setError(failure(thrown).said);
    }
  };
  const daily = one.limits.find((limit) => limit.limit.endsWith("per_day_usd"));
  return (
    <Dialog
      title={`Let ${agentName(one)} pay ${money(one.amount)}, once?`}
      onClose={onClose}
      actions={
        <>
          <Button kind="ghost" busy={busy === "decline"} onClick={() => void act("decline")}>
            Decline
          </Button>
          <Button kind="primary" decides busy={busy === "approve"} onClick={() => void act("approve")}>
            Approve once
          </Button>
        </>
      }
    >
      <KeyValue
        rows={[
          { name: "For", value: purpose(one) },
          { name: "To", value: one.host && one.host !== "route" ? one.host : one.host === "route" ? "Purser" : <Id value={one.pay_to} what="address" /> },
          { name: "How", value: one.kind === "transfer" ? `A transfer of ${one.asset} on ${chainName(one.network)}` : `A paid call, ${one.asset} on ${chainName(one.network)}` },
          { name: "Your limit", value: one.limits.map((limit) => `${limitWords(limit)} (${money(limit.left_usd)} left)`).join(", ") },
          { name: "Asked", value: <Time at={one.created_at} /> },
          { name: "Waits", value: ends(one) },
        ]}
      />
      {daily && (
        <Note tone="wait" title="This also passes today's limit.">
          {compare(String(one.amount), sum(daily.left_usd)) > 0 ? "After it, agents can spend nothing more until midnight UTC without asking you." : "It uses up what is left of today."}
        </Note>
      )}
      <p>The limit itself stays as it is.</p>
      {error && <ErrorLine>{error}</ErrorLine>}
    </Dialog>
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
            <Avatar name={agentName(one)} />
            <p>
              {agentName(one)}, {money(one.amount)} for {purpose(one)} <span class="quiet small"><Time at={one.decided_at ?? one.created_at} /></span>
            </p>
            <Status kind="approval" value={one.status} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
