// One line for each thing that happened to a customer: of a purchase all events are one line, with its steps in it. An
// operator on the phone reads what was bought, by whom, for how much and how it ended.

import { type StreamEvent, begunBy, money, sentence, withBeginning } from "../parts";
import type { TimelineEntry } from "./timeline";

export interface Story {
  key: string;
  /** What the line says; the newest entry that says it best. */
  lead: TimelineEntry;
  /** All entries, the newest first. */
  steps: TimelineEntry[];
  /** The operators who did it: one, or who asked and who approved. */
  operators: string[];
  /** Why, in an operator's words, if the line does not say it. */
  note: string | null;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
/** Steps of a purchase. What happens to a card later is a line of its own. */
const OF_PURCHASE = / (order|payout|top-up|payment)$/;
/** Acts that come before what is done, and notes: they cause no event of a customer. */
const BESIDE = /\.(claim|renew|release|note)$/;
/** An act and the event that it caused have the time of one decision, or nearly. */
const SAME_MS = 2_000;

/** What the events of a list say of each other: who began what, and which payments came out of the agents' wallet. */
function readAll(events: StreamEvent[]) {
  const ours = new Set<string>();
  const paid = new Map<string, string>();
  const hashes = new Map<string, string>();
  for (const { type, data } of events) {
    const object = data.object;
    if (type.startsWith("payment.") && text(object.transaction)) paid.set(text(object.transaction), text(object.payment_id));
    if (!type.startsWith("wallet_payment.")) continue;
    if (text(object.from)) ours.add(text(object.from));
    if (text(object.tx_hash)) hashes.set(text(object.wallet_payment_id), text(object.tx_hash));
  }
  const begun = begunBy(events, [...ours]);
  const paymentOf = (object: Record<string, unknown>) => paid.get(hashes.get(text(object.wallet_payment_id)) ?? "");
  return { begun, paymentOf };
}

function keyOf(event: StreamEvent, paymentOf: (object: Record<string, unknown>) => string | undefined): string {
  const object = event.data.object;
  const { thing } = sentence(event);
  if (event.type.startsWith("wallet_payment.")) return paymentOf(object) ?? thing;
  if (text(object.payment_id) && OF_PURCHASE.test(thing)) return text(object.payment_id);
  return thing;
}

/** The events with the subjects of their sentences. */
export function named(entries: readonly TimelineEntry[]): TimelineEntry[] {
  const { begun } = readAll(entries.flatMap((entry) => entry.event ?? []));
  return entries.map((entry) => (entry.event ? { ...entry, event: withBeginning(entry.event, begun) } : entry));
}

/** Says least of a purchase: what was bought says it better. */
const isPlumbing = (event: StreamEvent): boolean => sentence(event).quiet || /^(wallet_payment|payment\.(credited|released))/.test(event.type);

function leadOf(steps: TimelineEntry[]): TimelineEntry | undefined {
  const events = steps.filter((step) => step.event);
  return events.find((step) => step.event && !isPlumbing(step.event)) ?? events.find((step) => step.event && !sentence(step.event).quiet) ?? events[0] ?? steps[0];
}

/** The lines of a list, newest first. `quiet` ones tell of a balance what the line of its cause tells too. */
export function stories(entries: readonly TimelineEntry[], wallet: string | undefined): (Story & { quiet: boolean })[] {
  const { paymentOf } = readAll(entries.flatMap((entry) => entry.event ?? []));
  const found = new Map<string, TimelineEntry[]>();
  const ofId = new Map<string, string>();
  const byOperators = new Map<string, { key: string; at: number }[]>();
  const put = (key: string, entry: TimelineEntry) => {
    const steps = found.get(key);
    if (steps) steps.push(entry);
    else found.set(key, [entry]);
  };
  for (const entry of entries) {
    if (!entry.event) continue;
    const key = keyOf(entry.event, paymentOf);
    put(key, entry);
    if (entry.event.actor?.type === "operator") byOperators.set(entry.id, [...(byOperators.get(entry.id) ?? []), { key, at: Date.parse(entry.at) }]);
    // The id of a card belongs to its order first.
    if (entry.id && entry.id !== wallet && (!ofId.has(entry.id) || OF_PURCHASE.test(sentence(entry.event).thing))) ofId.set(entry.id, key);
  }
  const caused = new Set<string>();
  for (const entry of entries) {
    if (entry.event) continue;
    const act = entry.operator_action;
    if (!act) {
      const key = ofId.get(entry.id);
      if (key) put(key, entry);
      continue;
    }
    const words = act.subject.split(" ");
    const at = Date.parse(entry.at);
    const near = words.flatMap((word) => byOperators.get(word) ?? []).find((event) => Math.abs(event.at - at) <= SAME_MS);
    const cause = BESIDE.test(act.action) ? undefined : near?.key;
    const key = cause ?? words.map((word) => ofId.get(word)).find((one) => one !== undefined) ?? `act ${act.sequence}`;
    if (cause) caused.add(key);
    put(key, entry);
  }
  const made = [...found].flatMap(([key, all]) => {
    const steps = all.toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at));
    const lead = leadOf(steps);
    if (!lead) return [];
    const acts = caused.has(key) ? steps.flatMap((step) => (step.operator_action && !BESIDE.test(step.operator_action.action) ? step.operator_action : [])) : [];
    // Of what is being worked on, the one who has it.
    const holder = lead.event?.type.endsWith(".claimed") ? steps.find((step) => step.operator_action?.action.endsWith(".claim"))?.operator_action?.operator : undefined;
    const operators = holder ? [holder] : [...new Set(acts.map((act) => act.operator))].toReversed();
    const note = acts.map((act) => act.note).find((one) => one && !(lead.event && forms(sentence(lead.event).text).includes(forms(one)))) ?? null;
    const quiet = steps.every((step) => step.event && sentence(step.event).quiet) && !key.startsWith("pay_");
    return [{ key, lead, steps, operators, note, quiet }];
  });
  return made.toSorted((one, other) => Date.parse(other.lead.at) - Date.parse(one.lead.at));
}

/** A text without what a sentence changes of it. */
const forms = (said: string): string => said.replaceAll("_", " ").replace(/\.+$/, "").toLowerCase();

/** An amount beside a sentence that has it already is left out. */
export const tellsAmount = (said: string, amount: { value: string; currency: string }): boolean => said.includes(money(amount.value, amount.currency));
