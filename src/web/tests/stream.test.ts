// The stream resumes after its cursor, shows nothing twice, and says when the page is not live.

import "./browser";
import assert from "node:assert/strict";
import { test } from "node:test";

class FakeSocket {
  static opened: FakeSocket[] = [];
  static readonly OPEN = 1;
  readyState = 1;
  sent: { type: string; after?: number }[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  onclose: ((end: { code: number }) => void) | null = null;

  constructor(readonly url: string) {
    FakeSocket.opened.push(this);
  }
  send(text: string) {
    this.sent.push(JSON.parse(text) as { type: string });
  }
  close() {
    this.readyState = 3;
  }
  say(frame: object) {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}
Object.defineProperty(globalThis, "WebSocket", { value: FakeSocket });

const { stream } = await import("../parts/stream");
const newest = (): FakeSocket => FakeSocket.opened.at(-1) as FakeSocket;
const happened = (seq: number, type = "card.ready") => ({ type: "event", event: { seq, type, created_at: "2026-11-27T10:00:00Z", data: { object: {} } } });
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

test("events arrive once and in order, after a break too", async () => {
  const seen: number[] = [];
  const cards: number[] = [];
  stream.onEvent("*", (event) => seen.push(event.seq));
  stream.onEvent("card.*", (event) => cards.push(event.seq));
  stream.start(100);
  assert.equal(newest().url, "ws://localhost/stream");
  newest().onopen?.();
  assert.deepEqual(newest().sent[0], { type: "subscribe", after: 100 });
  assert.equal(stream.connection.value, "connecting");
  newest().say({ type: "ping" });
  assert.equal(stream.connection.value, "live");
  assert.equal(newest().sent[1]?.type, "pong");
  newest().say(happened(101));
  newest().say(happened(102, "payout.queued"));

  newest().onclose?.({ code: 1006 });
  assert.equal(stream.connection.value, "reconnecting");
  assert.ok(stream.since.value !== null && stream.canDecide.value);
  stream.tryNow();
  newest().onopen?.();
  assert.deepEqual(newest().sent[0], { type: "subscribe", after: 102 });
  newest().say(happened(102, "payout.queued"));
  newest().say(happened(103));
  assert.deepEqual(seen, [101, 102, 103]);
  assert.deepEqual(cards, [101, 103]);
  assert.equal(stream.connection.value, "live");
  assert.equal(stream.since.value, null);
});

test("a long break is stale, and nothing can be decided", async () => {
  let gaps = 0;
  stream.onGap(() => {
    gaps += 1;
  });
  newest().onclose?.({ code: 1006 });
  await pause(6_300);
  assert.equal(stream.connection.value, "stale");
  assert.equal(stream.canDecide.value, false);
  // Events that are no longer kept: go on from now, and load everything again.
  stream.tryNow();
  newest().onclose?.({ code: 4010 });
  stream.tryNow();
  newest().onopen?.();
  assert.deepEqual(newest().sent[0], { type: "subscribe" });
  newest().say({ type: "ping" });
  assert.equal(gaps, 1);
  assert.equal(stream.canDecide.value, true);
});

test("an ended session is not tried again", () => {
  const ends: string[] = [];
  stream.onEnd((why) => ends.push(why));
  const before = FakeSocket.opened.length;
  newest().onclose?.({ code: 4001 });
  stream.tryNow();
  assert.equal(stream.connection.value, "ended");
  assert.deepEqual(ends, ["signed-out"]);
  assert.equal(FakeSocket.opened.length, before);
  stream.stop();
});
