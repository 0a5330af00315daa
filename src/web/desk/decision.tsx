// What one operator asks for and another decides: refunds, and acts above the limit of one operator.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type AmountValue, Avatar, Button, KeyValue, StatusTag, Tabs, Time, now, span } from "../parts";
import { Act, Ask, usd } from "./act";
import { countOf } from "./live";
import { isMe } from "./session";

export function DecisionTabs({ page }: { page: "refunds" | "approvals" }) {
  return (
    <Tabs
      label="Decisions of two people"
      links={[
        { href: "/desk/refunds", text: "Refunds", current: page === "refunds", count: countOf("refunds") },
        { href: "/desk/approvals", text: "Approvals", current: page === "approvals", count: countOf("approvals") },
      ]}
    />
  );
}

interface Verdict {
  path: string;
  /** What the dialog says that it will do. */
  text: string;
}

interface DecisionProps {
  amount: AmountValue;
  /** What is asked for, if the amount does not say it. */
  what?: ComponentChildren;
  /** The asking operator's words. */
  words: string;
  requestedBy: string;
  requestedAt: string;
  openUntil: string;
  /** More of the line that says who asked and until when. */
  more?: ComponentChildren;
  /** Ids and links of what it is about. */
  about: ComponentChildren;
  /** Names the request in both routes. */
  body: Record<string, string>;
  approve: Verdict & { action: string; done: string; rows: { name: string; value: ComponentChildren }[] };
  reject: Verdict & { title: string };
  onDone: () => void;
}

/** A request with its two answers. Who asked may only take it back. */
export function Decision({ amount, what, words, requestedBy, requestedAt, openUntil, more, about, body, approve, reject, onDone }: DecisionProps) {
  const [asking, setAsking] = useState<"approve" | "reject" | null>(null);
  const own = isMe(requestedBy);
  const close = () => setAsking(null);
  return (
    <>
      <div class="decision">
        <div class="stack tight">
          <div class="row wrap">
            <span class="decision-amount">{usd(amount)}</span>
            {what}
            <StatusTag tone="wait" tag>
              {own ? "Waits for a colleague" : "Waits for you"}
            </StatusTag>
          </div>
          <p class="anywhere">“{words}”</p>
          <div class="row wrap small quiet">
            <Avatar name={requestedBy} />
            <span>
              {own ? "You asked" : `${requestedBy} asked`} <Time at={requestedAt} />
            </span>
            <span>ends in {span((Date.parse(openUntil) - now.value) / 1_000)}</span>
            {more}
          </div>
          <div class="row wrap small">{about}</div>
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
          title={`Approve ${usd(amount)}?`}
          action={approve.action}
          path={approve.path}
          body={body}
          fields={{ amount: { label: "Type the amount", hint: "So that two people have read the same number.", same: String(amount) } }}
          done={approve.done}
          onDone={onDone}
          onClose={close}
        >
          <p>{approve.text}</p>
          <KeyValue rows={approve.rows} />
        </Ask>
      )}
      {asking === "reject" && (
        <Ask
          title={own ? "Take it back?" : reject.title}
          action={own ? "Take it back" : "Refuse"}
          danger
          path={reject.path}
          body={body}
          fields={{ note: { name: "reason", label: "Reason", hint: "It goes into the audit log." } }}
          done={own ? "Taken back" : "Refused"}
          onDone={onDone}
          onClose={close}
        >
          <p>{reject.text}</p>
        </Ask>
      )}
    </>
  );
}
