// A claim: how long it lasts, extending it and putting the thing back.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Avatar, Button, Note, StatusTag, api, now, span, toast, useLoaded, withQuery } from "../parts";
import type { Customer } from "../api/operator";
import { Act, useAct } from "./act";
import { Dial } from "./bars";
import { useEvery } from "./live";
import { isMe } from "./session";

export interface Leased {
  lease: number;
  leased_by: string | null;
  leased_until: string | null;
  status: string;
}

/** Seconds left of a lease. */
export const leftOf = (leased: Leased): number => (leased.leased_until ? Math.max(0, (Date.parse(leased.leased_until) - now.value) / 1_000) : 0);
export const isMine = (leased: Leased): boolean => isMe(leased.leased_by) && leftOf(leased) > 0;
export const isFree = (leased: Leased): boolean => leased.leased_by === null || leftOf(leased) === 0;

/** A claim ran out before its work was reported. */
export const hasEnded = (leased: Leased): boolean => leased.status === "claimed" && isFree(leased);

const MINUTES = (seconds: number): string => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds) % 60).padStart(2, "0")}`;
const NEAR = 120;

/** With whom it is. */
export function With({ leased, hint }: { leased: Leased; hint?: string }) {
  const left = leftOf(leased);
  if (leased.leased_by && left > 0) {
    return (
      <span class="row">
        <Avatar name={leased.leased_by} />
        <span>
          {isMe(leased.leased_by) ? "you" : leased.leased_by}
          <span class="tiny quiet block nowrap">{span(left)} left</span>
        </span>
      </span>
    );
  }
  if (leased.status === "claimed") {
    return (
      <span>
        <StatusTag tone="wait" icon="clock">
          Claim ended
        </StatusTag>
        <span class="tiny quiet block">{hint ?? "look first whether it was done"}</span>
      </span>
    );
  }
  return <span class="quiet nobody">no one</span>;
}

export interface ClaimHeadProps {
  leased: Leased;
  /** `/admin/intl-orders` or `/admin/card-withdrawals`. */
  at: string;
  /** `{card_id}` or `{withdrawal_id}`. */
  subject: Record<string, string>;
  onChange: () => void;
  /** Said when it is released. */
  released: string;
}

/** Said of an order or withdrawal whose account was frozen. The holder cannot use what is delivered to it. */
export function FrozenNote({ user, children }: { user: string; children: ComponentChildren }) {
  const found = useLoaded(`frozen ${user}`, () => api.get<{ customer: Customer | null }>(withQuery("/admin/customers", { q: user, limit: 1 })));
  useEvery(10_000, found.reload);
  const customer = found.data?.customer;
  if (!customer?.frozen) return null;
  return (
    <Note
      tone="bad"
      title="This account is frozen."
      actions={
        <Button small href={`/desk/customers/${customer.wallet}`}>
          Customer
        </Button>
      }
    >
      Its holder reads: “{customer.frozen_message}” {children}
    </Note>
  );
}

/** The countdown of one's own claim. It is read aloud at two minutes and at the end, not each second. */
export function ClaimHead({ leased, at, subject, onChange, released }: ClaimHeadProps) {
  const { busy, act } = useAct();
  const left = leftOf(leased);
  const whole = useRef(1_800);
  whole.current = Math.max(whole.current, left);
  const renew = async () => {
    await act("renew", `${at}/renew`, { ...subject, lease: leased.lease }, "Your claim is extended.");
    onChange();
  };
  const warned = useRef(0);
  useEffect(() => {
    if (left > NEAR || left <= 0 || warned.current === leased.lease) return;
    warned.current = leased.lease;
    toast("Two minutes left of your claim. Extend it if you need longer.");
  }, [left <= NEAR, leased.lease]);
  return (
    <div class="claim-head">
      <Dial left={left} whole={whole.current} />
      <div class="grow">
        <div class="claim-clock" role="timer" aria-label="Time left of your claim">
          {left > 0 ? MINUTES(left) : "Ended"}
        </div>
        <div class="small quiet">
          left of your claim<span class="wide-only">, lease {leased.lease}</span>
        </div>
      </div>
      <div class="row">
        <Act small icon="clock" busy={busy === "renew"} disabled={left <= 0} onClick={() => void renew()}>
          Extend
        </Act>
        <Act
          small
          busy={busy === "release"}
          onClick={() =>
            void act("release", `${at}/release`, { ...subject, lease: leased.lease }, released).then(onChange)
          }
        >
          Release
        </Act>
      </div>
    </div>
  );
}

/** The button that claims. */
export function ClaimButton({ at, subject, what, main, onChange }: { at: string; subject: Record<string, string>; what: string; main?: boolean; onChange: (lease: number | null) => void }) {
  const { busy, act } = useAct();
  return (
    <Act
      small={!main}
      {...(main ? { kind: "primary" as const } : {})}
      busy={busy !== null}
      label={`Claim ${what}`}
      class="claim-button"
      onClick={() =>
        void act("claim", `${at}/claim`, subject, "Claimed. Nobody else can work on it meanwhile.").then((answer) => onChange(answer ? (answer as { lease: number }).lease : null))
      }
    >
      Claim
    </Act>
  );
}

