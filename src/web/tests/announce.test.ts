// What the desk announces and counts: new work, and the requests of colleagues, but not one's own.

import "./browser";
import assert from "node:assert/strict";
import { test } from "node:test";

/** Whose requests wait, as the service lists them. */
const requests: Record<string, string[]> = { approvals: [], refunds: [] };
globalThis.fetch = (async (url: string) => {
  const name = /^\/admin\/(\w+)\?/.exec(url)?.[1] ?? "";
  return new Response(JSON.stringify({ [name]: (requests[name] ?? []).map((requested_by) => ({ requested_by })) }));
}) as typeof fetch;
Object.assign(globalThis, { localStorage: { getItem: () => null } });

const { decided, news, startAnnouncing } = await import("../desk/announce");
const { queues } = await import("../desk/live");
const { operator } = await import("../desk/session");
const { frame } = await import("../parts");
type Queue = import("../desk/live").Queue;

let version = 0;
/** The queues change, and the page has read whose requests wait. */
async function change(counts: Partial<Record<Queue["queue"], number>>): Promise<void> {
  version += 1;
  queues.value = new Map(
    Object.entries(counts).map(([name, count]) => {
      const queue = name as Queue["queue"];
      return [queue, { queue, count, more: false, oldest_at: null, limit_seconds: null, version: String(version) }];
    }),
  );
  await new Promise((done) => setTimeout(done, 20));
}

test("one's own request waits for a colleague, and is not counted as one's own work", async () => {
  operator.value = { name: "ana", role: "operator", mustAddPasskey: false, passkeysAvailable: true, sessionId: "ses_1", expiresAt: null };
  startAnnouncing();
  await change({ intl_orders: 2, approvals: 0, refunds: 0 });
  assert.deepEqual([frame.counts.value.orders?.n, frame.counts.value.refunds?.n, frame.waiting.value], [2, 0, 2]);
  requests.approvals = ["ana"];
  await change({ intl_orders: 2, approvals: 1, refunds: 0 });
  assert.deepEqual([frame.counts.value.refunds?.n, frame.waiting.value], [0, 2]);
  requests.approvals = ["ana", "ben"];
  requests.refunds = ["ben", "ana"];
  await change({ intl_orders: 2, approvals: 2, refunds: 2 });
  assert.deepEqual([frame.counts.value.refunds?.n, frame.waiting.value], [2, 4]);
});

test("only what is new is announced", () => {
  assert.deepEqual(news({ approvals: 1, intl_orders: 3 }, { approvals: 1, intl_orders: 2 }), []);
  assert.deepEqual(news({ approvals: 1 }, { approvals: 2 }), ["A colleague asks for your approval"]);
  assert.deepEqual(news({}, { intl_orders: 2, late_jobs: 4 }), ["2 new international orders"]);
});

test("who asked is told what a colleague decided", () => {
  const log = [
    { operator: "ben", action: "approval.approve", subject: "apr_1 reject_intl card_1 415.2" },
    { operator: "ana", action: "approval.reject", subject: "apr_2 credit_back job_1 5" },
    { operator: "cia", action: "refund.reject", subject: "rf_1 20 0x5ba0" },
  ];
  assert.deepEqual(decided(["apr_1", "apr_2", "rf_1", "apr_3"], log), ["ben approved what you asked for", "cia refused what you asked for"]);
});
