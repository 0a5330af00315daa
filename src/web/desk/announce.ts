// A new order, stuck work or discrepancy is announced: a count in the title, a message, and a sound for those who want it.

import { effect, signal } from "@preact/signals";
import { type Count, frame, toast } from "../parts";
import { type QueueName, countOf, onQueues, queues, waiting } from "./live";

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

export function startAnnouncing(): void {
  effect(() => {
    const known = queues.value;
    const counts: Record<string, Count> = {};
    for (const [page, { queues: names, tone, said }] of Object.entries(PAGES)) {
      const n = names.reduce((sum, name) => sum + (known.get(name)?.count ?? 0), 0);
      counts[page] = { n, said, ...(tone ? { tone } : {}) };
    }
    frame.counts.value = counts;
    frame.waiting.value = waiting.value;
  });
  onQueues((before, after) => {
    let news = false;
    for (const [name, says] of Object.entries(NEW) as [QueueName, (n: number) => string][]) {
      const more = (after.get(name)?.count ?? 0) - (before.get(name)?.count ?? 0);
      if (more <= 0) continue;
      news = true;
      toast(says(more));
    }
    if (news) announceBySound();
  });
}

export { countOf };
