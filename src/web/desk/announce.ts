// A new order, stuck work or discrepancy is announced: a count in the title, a message, and a sound for those who want it.

import { computed, effect, signal } from "@preact/signals";
import { type Count, api, frame, toast } from "../parts";
import { type Queue, type QueueName, countOf, onQueues, queues, waiting } from "./live";
import { isMe, operator } from "./session";

const KEY = "purser-desk-sound";
const stored = (): boolean => {
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return false;
  }
};
export const sound = signal(stored());

export function setSound(on: boolean): void {
  sound.value = on;
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  if (on) play();
}

let context: AudioContext | undefined;
const SOUND_LOCK = "purser-desk-sound";
const SOUND_MS = 1_000;

/** Plays in one tab of the browser, one that may: browsers allow sound where somebody has clicked. */
function announceBySound(): void {
  if (!sound.value || navigator.userActivation?.hasBeenActive === false) return;
  if (!navigator.locks) return play();
  void navigator.locks.request(SOUND_LOCK, { ifAvailable: true }, async (lock) => {
    if (!lock) return;
    play();
    await new Promise((done) => setTimeout(done, SOUND_MS));
  });
}

/** Two short tones, quiet enough for an office. */
function play(): void {
  context ??= new AudioContext();
  void context.resume();
  for (const [at, pitch] of [[0, 660], [0.14, 880]] as const) {
    const tone = context.createOscillator();
    const volume = context.createGain();
    const start = context.currentTime + at;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0, start);
    volume.gain.linearRampToValueAtTime(0.08, start + 0.02);
    volume.gain.linearRampToValueAtTime(0, start + 0.12);
    tone.connect(volume).connect(context.destination);
    tone.start(start);
    tone.stop(start + 0.13);
  }
}

// The choice holds for all tabs.
addEventListener("storage", (change) => {
  if (change.key === KEY) sound.value = change.newValue === "on";
});

const NEW: Partial<Record<QueueName, (n: number) => string>> = {
  intl_orders: (n) => (n === 1 ? "A new international order" : `${n} new international orders`),
  card_withdrawals: (n) => (n === 1 ? "A new card withdrawal" : `${n} new card withdrawals`),
  card_actions: (n) => (n === 1 ? "A holder asks for a card action" : `Holders ask for ${n} card actions`),
  dead_letters: (n) => (n === 1 ? "Work is stuck" : `${n} pieces of work are stuck`),
  unknown_payments: (n) => (n === 1 ? "The outcome of a payment is not known" : `The outcomes of ${n} payments are not known`),
  approvals: (n) => (n === 1 ? "A colleague asks for your approval" : `Colleagues ask for ${n} approvals`),
  refunds: (n) => (n === 1 ? "A refund waits for a second person" : `${n} refunds wait for a second person`),
  incoming_transfers: (n) => (n === 1 ? "A transfer came in that no payment explains" : `${n} transfers came in that no payment explains`),
  discrepancies: (n) => (n === 1 ? "A new discrepancy" : `${n} new discrepancies`),
  lines_not_sold: (n) => (n === 1 ? "A product line is no longer sold" : `${n} product lines are no longer sold`),
};

const PAGES: Record<string, { queues: QueueName[]; tone?: Count["tone"]; said: string }> = {
  orders: { queues: ["intl_orders", "card_withdrawals", "card_actions"], said: "wait" },
  stuck: { queues: ["dead_letters", "unknown_payments"], tone: "bad", said: "stuck" },
  refunds: { queues: ["refunds", "approvals"], tone: "ask", said: "wait for a second person" },
  incoming: { queues: ["incoming_transfers", "untracked_transfers"], tone: "ask", said: "to decide" },
  books: { queues: ["discrepancies"], tone: "bad", said: "open" },
  lines: { queues: ["lines_not_sold"], tone: "ask", said: "not sold" },
};

type Counts = Partial<Record<QueueName, number>>;

/** Requests for a second operator. One's own wait for a colleague, so they are neither announced nor counted here. */
const REQUESTS = ["approvals", "refunds"] as const satisfies QueueName[];
const isRequests = (name: QueueName): boolean => (REQUESTS as readonly QueueName[]).includes(name);
const ofColleagues = signal<Counts>({});
const toDo = (name: QueueName): number => (isRequests(name) ? (ofColleagues.value[name] ?? 0) : countOf(name));

/** What is said of counts that have grown. */
export const news = (before: Counts, after: Counts): string[] =>
  (Object.entries(NEW) as [QueueName, (n: number) => string][]).flatMap(([name, says]) => {
    const more = (after[name] ?? 0) - (before[name] ?? 0);
    return more > 0 ? [says(more)] : [];
  });

function announce(before: Counts, after: Counts): void {
  const said = news(before, after);
  for (const one of said) toast(one);
  if (said.length > 0) announceBySound();
}

interface Decision {
  operator: string;
  action: string;
  subject: string;
}

/** What colleagues decided of these requests. One that was taken back or ran out is no news to who made it. */
export const decided = (requests: string[], log: Decision[]): string[] =>
  requests.flatMap((id) => {
    const found = log.find((one) => /^(approval|refund)\.(approve|reject)$/.test(one.action) && one.subject.split(" ")[0] === id);
    return found && !isMe(found.operator) ? [`${found.operator} ${found.action.endsWith("approve") ? "approved" : "refused"} what you asked for`] : [];
  });

let run = 0;
let countedFor = "";
/** Ids of one's own requests. */
let asked = new Set<string>();

/** Counts the requests of colleagues. Those that are there when the operator comes are no news. */
async function countRequests(me: string): Promise<void> {
  const mine = ++run;
  const counts: Counts = {};
  const own = new Set<string>();
  for (const name of REQUESTS) {
    counts[name] = countOf(name);
    if (counts[name] === 0) continue;
    try {
      const found = await api.get<Record<string, { requested_by: string; approval_id?: string; refund_id?: string }[]>>(`/admin/${name}?limit=100`);
      const ids = (found[name] ?? []).flatMap((one) => (isMe(one.requested_by) ? [one.approval_id ?? one.refund_id ?? ""] : []));
      counts[name] = Math.max(0, counts[name] - ids.length);
      for (const id of ids) own.add(id);
    } catch {
      // Then all of them count, and none was decided.
      for (const id of asked) own.add(id);
    }
    if (mine !== run) return;
  }
  const before = ofColleagues.peek();
  ofColleagues.value = counts;
  const gone = countedFor === me ? [...asked].filter((id) => !own.has(id)) : [];
  if (countedFor === me) announce(before, counts);
  countedFor = me;
  asked = own;
  if (gone.length === 0) return;
  const { entries } = await api.get<{ entries: Decision[] }>("/admin/audit?order=desc&limit=20");
  for (const one of decided(gone, entries)) toast(one);
}

export function startAnnouncing(): void {
  effect(() => {
    const counts: Record<string, Count> = {};
    for (const [page, { queues: names, tone, said }] of Object.entries(PAGES)) {
      counts[page] = { n: names.reduce((sum, name) => sum + toDo(name), 0), said, ...(tone ? { tone } : {}) };
    }
    frame.counts.value = counts;
    frame.waiting.value = REQUESTS.reduce((sum, name) => sum - countOf(name) + toDo(name), waiting.value);
  });
  const versions = computed(() => (operator.value && queues.value.size > 0 ? [operator.value.name, ...REQUESTS.map((name) => queues.value.get(name)?.version)].join(" ") : ""));
  effect(() => {
    // What could not be read is read with the next change.
    if (versions.value !== "") void countRequests(operator.peek()?.name ?? "").catch(() => {});
  });
  onQueues((before, after) => {
    const counts = (queues: Map<QueueName, Queue>): Counts => Object.fromEntries([...queues.values()].flatMap((queue) => (isRequests(queue.queue) ? [] : [[queue.queue, queue.count]])));
    announce(counts(before), counts(after));
  });
}
