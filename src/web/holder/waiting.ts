// Approvals that wait for the owner, for every page: the number in the navigation and in the tab's title, and a word
// when another one is asked for.

import { computed, effect, signal } from "@preact/signals";
import { type Count, frame, onEvent, onGap, sentenceText, toast } from "../parts";
import { account, mayAct } from "./account";
import { type Approval, loadApprovals, waits } from "./approvals";

const pending = signal<Approval[]>([]);
export const waiting = computed(() => pending.value.filter((one) => waits(one, account.value?.api_keys)));

/** Loads them again. What was known stays if that fails. */
export async function loadWaiting(): Promise<void> {
  try {
    pending.value = mayAct.peek() ? await loadApprovals() : [];
  } catch {
    // The next event, or the connection when it is back, asks again.
  }
}

/** Follows them from the moment that the account is there. */
export function startWaiting(): void {
  let loaded = false;
  effect(() => {
    if (loaded || !account.value) return;
    loaded = true;
    void loadWaiting();
  });
  effect(() => {
    const n = waiting.value.length;
    const count: Count = { n, tone: "ask", said: n === 1 ? "needs you" : "need you" };
    frame.counts.value = { ...frame.counts.peek(), agents: count };
    frame.waiting.value = n;
  });
  onEvent("approval.*", (event) => {
    void loadWaiting();
    if (event.type === "approval.requested") toast(sentenceText(event));
  });
  onGap(() => void loadWaiting());
}
