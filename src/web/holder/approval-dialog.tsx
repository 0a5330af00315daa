// What an approval is about, and the answer to it.

import { useState } from "preact/hooks";
import { Amount, Button, Confirm, Dialog, ErrorLine, Icon, Id, KeyValue, Time, failure, less, money, span, toast } from "../parts";
import { account } from "./account";
import { productWords } from "../parts/sentences";
import { readOffer } from "./data/cards";
import { readFee } from "./data/fees";
import { useLoad } from "./data/load";
import { readPayee } from "./data/people";
import { worthWords } from "./receipt";
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

/** What the price is for, and who gets it: the approval has ids, and names are with those. */
function usePurchase({ purchase, amount }: Approval): { name: string; value: string }[] {
  const { product_id: product, destination_id: destination, recipient_id: recipient } = purchase ?? {};
  const payeeId = destination ?? recipient;
  const offer = useLoad(`offer ${product}`, () => (product ? readOffer(product) : Promise.resolve(null)));
  const payee = useLoad(`payee ${payeeId}`, () => (payeeId ? readPayee(payeeId) : Promise.resolve(null)));
  // The amount of a gift card is in the currency of the product, which only the catalog knows.
  const currency = product ? offer.data?.currency : (purchase?.currency ?? "USD");
  const isConverted = currency !== undefined && currency !== "USD";
  const fee = useLoad(`fee ${isConverted && purchase?.route} ${purchase?.amount}`, () => (isConverted && purchase ? readFee(purchase.route, amount, purchase.amount) : Promise.resolve(null))).data;
  if (!purchase?.amount) return [];
  // As on the receipt, but from the fees of now.
  const gets = isConverted && fee ? worthWords(purchase.amount, currency, amount, fee) : money(purchase.amount, currency);
  const fees = { name: "Fee", value: !isConverted ? money(less(String(amount), purchase.amount)) : fee ? `about ${money(fee)}` : "in the price" };
  if (product) {
    const country = purchase.country ? `, for ${purchase.country}` : "";
    return [{ name: "Gift card", value: `${offer.data?.name ?? productWords(product)}${country}` }, ...(offer.data ? [{ name: "Worth", value: gets }] : []), ...(isConverted ? [fees] : [])];
  }
  if (!PAYOUTS.includes(purchase.route)) return [];
  return [
    ...(payee.data ? [{ name: "Recipient", value: payee.data.name }, { name: "Account", value: payee.data.account }] : []),
    { name: "Recipient gets", value: gets },
    fees,
  ];
}

const PAYOUTS = ["/get-push-to-card", "/send-bank-payment", "/send-payment"];

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
  const bought = usePurchase(approval);
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
          ...bought,
          { name: "From", value: sourceWords(approval) },
          approval.note ? { name: "For", value: `“${approval.note}”` } : null,
          { name: "To", value: approval.pay_to && !approval.host ? <Id value={approval.pay_to} what="address" /> : PAYOUTS.includes(approval.purchase?.route ?? "") ? "Purser, which pays it out" : payee(approval) },
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
