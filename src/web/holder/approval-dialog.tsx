// What an approval is about, and the answer to it.

import { useState } from "preact/hooks";
import { Amount, Button, Dialog, ErrorLine, Icon, Id, KeyValue, Time, failure, money, span, toast } from "../parts";
import { type Approval, LIMITS, actWords, answer, approvalAgent, approvalAgentInside, payee, sourceWords } from "./approvals";

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
          ...(approval.limits ?? []).map((limit) => ({ name: "Your limit", value: `${money(limit.cap_usd)} ${LIMITS[limit.limit] ?? ""}, ${money(limit.left_usd)} left` })),
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
