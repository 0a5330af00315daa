// Statuses: an icon, a word and a colour. Never a colour alone, never a word of the API.

import type { ComponentChildren } from "preact";
import { classes } from "./classes";
import { Icon, type IconName } from "./icon";

/** Done; moving by itself; waits for a person; bad; not known; over or off. */
export type Tone = "done" | "move" | "wait" | "bad" | "huh" | "off";

type Words = Record<string, readonly [Tone, string]>;

const STATUSES = {
  card: { pending: ["move", "Being made"], ready: ["done", "Ready"], failed: ["off", "Not made, credited"], closed: ["off", "Closed"], paused: ["wait", "Paused"], expired: ["off", "Expired"] },
  reloadable_card: { creating: ["move", "Being made"], open: ["done", "Open"], paused: ["wait", "Paused"], closed: ["off", "Closed"], failed: ["off", "Not made"] },
  gift_card: { processing: ["move", "Being made"], completed: ["done", "Delivered"], failed: ["off", "Not made, credited"] },
  intl_order: { queued: ["move", "Waits for an operator"], claimed: ["move", "An operator took it"], ready: ["done", "Ready"], paused: ["wait", "Paused"], closed: ["off", "Closed"], cancelled: ["off", "Cancelled, credited"], rejected: ["off", "Refused, credited"], expired: ["off", "Expired"] },
  top_up: { paid: ["move", "Paid"], bridging: ["move", "Crossing"], delivered: ["move", "Delivered"], credited: ["done", "Credited"], failed: ["off", "Failed, credited"] },
  payout: { "awaiting-details": ["wait", "Waits for the recipient"], queued: ["move", "Queued"], "in-process": ["move", "Being paid out"], complete: ["done", "Paid out"], failed: ["off", "Refused, credited"], returned: ["off", "Came back, credited"], expired: ["off", "Expired, credited"], cancelled: ["off", "Stopped, credited"] },
  bank_transfer: { pending: ["move", "With the bank"], complete: ["done", "Paid"], failed: ["off", "Refused"], returned: ["off", "Came back"] },
  withdrawal: { pending: ["move", "Starting"], sent: ["move", "On its way"], complete: ["done", "Arrived"], failed: ["off", "Failed, released"] },
  card_withdrawal: { pending: ["move", "Starting"], queued: ["move", "Waits for an operator"], claimed: ["move", "An operator took it"], complete: ["done", "Arrived"], rejected: ["off", "Refused, released"], failed: ["off", "Failed, released"] },
  payment: { settling: ["move", "Being settled"], claimed: ["move", "Being settled"], settled: ["move", "Settled"], fulfilled: ["done", "Paid"], unknown: ["huh", "Not known yet"], refused: ["off", "Refused, nothing taken"], declined: ["off", "Declined, nothing taken"], released: ["off", "Not taken"], credited: ["off", "Credited back"], resolved: ["off", "Decided by an operator"], reversed: ["bad", "Taken back by the chain"] },
  wallet_payment: { signed: ["move", "Signed"], pending: ["move", "Being sent"], sent: ["move", "Sent"], settled: ["done", "Paid"], unsettled: ["off", "Not taken"], failed: ["off", "Failed, nothing taken"] },
  refund: { approved: ["move", "Approved"], credited: ["done", "Credited"] },
  late_return: { received: ["wait", "Came back late"], credited: ["done", "Credited"], kept: ["off", "Kept"] },
  identity: { unverified: ["off", "Not verified"], none: ["off", "Not verified"], "in-review": ["move", "In review"], verified: ["done", "Verified"], rejected: ["bad", "Refused"] },
  issuer_link: { unlinked: ["off", "Not linked"], requested: ["wait", "Asked"], linked: ["done", "Linked"], declined: ["off", "Declined"] },
  api_key: { issued: ["off", "Not used yet"], active: ["done", "Active"], revoked: ["off", "Ended"], rejected: ["off", "Refused"] },
  session: { active: ["done", "Active"], revoked: ["off", "Ended"] },
  webhook: { active: ["done", "Active"], failing: ["bad", "Failing"], disabled: ["off", "Off"], deleted: ["off", "Deleted"] },
  delivery: { delivered: ["done", "Delivered"], pending: ["move", "Trying"], failed: ["bad", "Gave up"], cancelled: ["off", "Cancelled"] },
  bank_account: { pending: ["move", "Being opened"], open: ["done", "Open"], rejected: ["bad", "Refused"] },
  banking_application: { submitted: ["move", "In review"], incomplete: ["wait", "Needs more"], approved: ["done", "Approved"], rejected: ["bad", "Refused"] },
  approval: { pending: ["wait", "Asks you"], approved: ["done", "Approved"], declined: ["off", "Declined"], expired: ["off", "Expired"], used: ["done", "Used"] },
  health: { good: ["done", "Good"], slow: ["wait", "Slow"], failing: ["bad", "Failing"], idle: ["off", "No calls"], open: ["done", "Open"], closed: ["off", "Closed"] },
  account: { active: ["done", "Active"], frozen: ["bad", "Frozen"] },
} as const satisfies Record<string, Words>;

export type StatusKind = keyof typeof STATUSES;

/** The tone and word of a status. One that is not listed is shown as it is. */
export function statusOf(kind: StatusKind, value: string): { tone: Tone; word: string } {
  const [tone, word] = (STATUSES[kind] as Words)[value] ?? ["off", value.replaceAll(/[_-]/g, " ")];
  return { tone, word };
}

export interface StatusTagProps {
  tone: Tone;
  children: ComponentChildren;
  /** With a coloured ground. */
  tag?: boolean | undefined;
  icon?: IconName | undefined;
}

/** A status in words of the caller. */
export function StatusTag({ tone, children, tag, icon }: StatusTagProps) {
  return (
    <span class={classes("status", `tone-${tone}`, tag && "tag")}>
      <Icon name={icon ?? tone} turning={tone === "move" && !icon} />
      {children}
    </span>
  );
}

/** The status of a thing by the word of the API. */
export function Status({ kind, value, tag }: { kind: StatusKind; value: string; tag?: boolean }) {
  const { tone, word } = statusOf(kind, value);
  return (
    <StatusTag tone={tone} tag={tag}>
      {word}
    </StatusTag>
  );
}
