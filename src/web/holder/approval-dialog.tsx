// What an approval is about, and the answer to it.

import { useState } from "preact/hooks";
import { Amount, Button, Confirm, Dialog, ErrorLine, Icon, Id, KeyValue, Time, failure, less, money, span, toast } from "../parts";
import { account } from "./account";
import { type Approval, LIMITS, actWords, answer, approvalAgent, approvalAgentInside, payee, sourceWords } from "./approvals";

/** What is left of today's limit of the agents' wallet, where the approval does not say it. */
function dayLeft(approval: Approval): { name: string; value: string } | null {
  const wallet = account.value?.agent_wallet;
  const cap = wallet?.limits?.per_day_usd;
  const isOfBalance = /withdrawal|^bank_/.test(approval.kind ?? "");
  if (!cap || isOfBalance || approval.limits?.some((limit) => limit.limit === "per_day_usd")) return null;
  const left = less(String(cap), String(wallet.used_today_usd ?? 0));
  return { name: "Left today", value: `${money(left.startsWith("-") ? 0 : left)} of ${money(cap)}` };
}

/** Shows what an approval is about, and takes the answer. */
export function ApprovalDialog({ approval, now, onClose, onAnswered }: { approval: Approval; now: number; onClose: () => void; onAnswered: () => void }) {
  const [busy, setBusy] = useState<"approve" | "decline" | null>(null);
  const [error, setError] = useState<string | null>(null);
  const send = (yes: boolean) => {
    setBusy(yes ? "approve" : "decline");
    setError(null);
    answer(approval, yes)
      .then(
        () => {
          toast(yes ? `Approved. ${approvalAgent(approval)} can do it now.` : `Declined. ${approvalAgent(approval)} is told.`);
          onAnswered();
          onClose();
        },
        (thrown) => setError(failure(thrown).said),
      )
      .finally(() => setBusy(null));
  };
  const left = approval.expires_at ? (Date.parse(approval.expires_at) - now) / 1_000 : null;
  return (
    <Dialog
      title={`Let ${approvalAgentInside(approval)} ${actWords(approval)}, once?`}
      onClose={onClose}
      actions={
        <>
          <Button kind="ghost" decides busy={busy === "decline"} onClick={() => send(false)}>
            Decline
          </Button>
          <Button kind="primary" decides busy={busy === "approve"} onClick={() => send(true)}>
            Approve once
          </Button>
        </>
      }
    >
      <KeyValue
        rows={[
          { name: approval.purchase ? "Price" : "Amount", value: <Amount value={approval.amount} /> },
          { name: "From", value: sourceWords(approval) },
          approval.note ? { name: "For", value: `“${approval.note}”` } : null,
          { name: "To", value: approval.pay_to && !approval.host ? <Id value={approval.pay_to} what="address" /> : payee(approval) },
          approval.network ? { name: "Network", value: approval.network.replace(/^./, (letter) => letter.toUpperCase()) } : null,
          // Nothing is left or used up of a limit on one payment.
          ...(approval.limits ?? []).map((limit) => ({ name: "Your limit", value: `${money(limit.cap_usd)} ${LIMITS[limit.limit] ?? ""}${limit.limit.endsWith("per_call_usd") ? "" : `, ${money(limit.left_usd)} left`}` })),
          dayLeft(approval),
          approval.created_at ? { name: "Asked", value: <Time at={approval.created_at} /> } : null,
          left !== null ? { name: "Waits", value: left > 0 ? `${span(left)} more` : "no longer" } : null,
        ]}
      />
      <p class="row">
        <Icon name="info" />
        <span>The limit itself stays as it is.</span>
      </p>
      {error && <ErrorLine>{error}</ErrorLine>}
    </Dialog>
  );
}

/** Asks before the answer is no: the agent can't ask for the same again that day. */
export function DeclineDialog({ approval, onClose, onAnswered }: { approval: Approval; onClose: () => void; onAnswered: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      await answer(approval, false);
      toast(`Declined. ${approvalAgent(approval)} is told.`);
      onAnswered();
      onClose();
    } catch (thrown) {
      setError(failure(thrown).said);
      setBusy(false);
    }
  };
  return (
    <Confirm title={`Decline to let ${approvalAgentInside(approval)} ${actWords(approval)}?`} action="Decline it" danger busy={busy} error={error} onConfirm={() => void act()} onClose={onClose}>
      <p>Nothing was taken. {approvalAgent(approval)} is told, and cannot ask for the same again for a day from when it asked.</p>
    </Confirm>
  );
}
