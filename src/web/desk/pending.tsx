// Acts above the limit of one operator that wait for a second one, shown where the order, job or transfer is.

import type { ComponentChildren } from "preact";
import { Button, Note, StatusTag, Time, api, withQuery } from "../parts";
import type { Approval } from "../api/operator";
import { usd } from "./act";
import { useWatched } from "./live";
import { isMe } from "./session";

/** What waits, by the act that was asked for. */
const WAITS: Record<string, string> = {
  credit_back: "Credit", resolve: "Decision", reject_intl: "Refusal", pay_card_withdrawal: "Payment", credit_transfer: "Credit", return_transfer: "Return",
  book_loss: "Attribution", book_order: "Attribution", book_outlay: "Attribution",
};
const nameOf = (approval: Approval): string => WAITS[approval.act] ?? "A decision";

const PAGE = 100;

/** Finds the request about an order, job, withdrawal or transfer. */
export function usePending(): (id: string) => Approval | undefined {
  const found = useWatched(
    "pending approvals",
    async () => {
      const all = new Map<string, Approval>();
      let after: string | null = null;
      do {
        const page: { approvals: Approval[]; next_after: string | null } = await api.get(withQuery("/admin/approvals", { after, limit: PAGE }));
        // The subject begins with the id.
        for (const one of page.approvals) all.set(one.subject.split(" ")[0] ?? "", one);
        after = page.approvals.length === PAGE ? page.next_after : null;
      } while (after !== null);
      return all;
    },
    ["approvals"],
  );
  return (id) => found.data?.get(id);
}

/** In a row of a list. */
export function PendingTag({ approval }: { approval: Approval | undefined }) {
  return (
    approval && (
      <StatusTag tone="wait" icon="hand">
        {nameOf(approval)} waits for a second operator
      </StatusTag>
    )
  );
}

/** In place of what could be decided meanwhile. */
export function PendingNote({ approval, children }: { approval: Approval; children?: ComponentChildren }) {
  const own = isMe(approval.requested_by);
  return (
    <Note
      tone="wait"
      title={`${nameOf(approval)} of ${usd(approval.amount)} waits for a second operator.`}
      actions={
        <Button small href="/desk/approvals">
          {own ? "See the request" : "Decide"}
        </Button>
      }
    >
      {own ? "You asked" : `${approval.requested_by} asked`} <Time at={approval.requested_at} />: “{approval.words}” {own ? "Take the request back to decide otherwise." : "Nothing else is decided until then."} {children}
    </Note>
  );
}
