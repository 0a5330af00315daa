// Every event has a sentence of plain English, whatever its object lacks.

import "./browser";
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_TYPES } from "../api/events";
import { boughtWords, sentence, sentenceText } from "../parts/sentences";
import type { StreamEvent } from "../parts/stream";

function event(type: string, object: Record<string, unknown> = {}, more: Partial<StreamEvent> = {}): StreamEvent {
  return { seq: 7, type, created_at: "2026-11-27T10:00:01.500Z", data: { object }, previous: null, ...more };
}

const FULL = {
  usd_amount: 40, charged_usd_amount: "41.20", credited_usd_amount: 41.2, available_usd_amount: "33.40", amount: "25.00", currency: "EUR", label: "Marseille nights", last4: "2717", status: "pending",
  name: "Courier", host: "tides.example", pay_to: "0x30ef00000000000000000000000000000000a6c9", network: "base", url: "https://agent.example/hook?x=<b>", created_at: "2026-11-27T10:00:00.000Z",
};

test("every event has a sentence", () => {
  assert.ok(EVENT_TYPES.length > 150);
  for (const type of EVENT_TYPES) {
    for (const object of [{}, FULL]) {
      const said = sentenceText(event(type, object));
      assert.match(said, /^[A-Z“$–].*[.!]$/s, `${type}: ${said}`);
      assert.ok(!/undefined|null|NaN|_/.test(said), `${type}: ${said}`);
      assert.ok(sentence(event(type, object)).thing !== "", type);
    }
  }
});

test("a purchase says who, what and how it stands", () => {
  const said = sentence(event("card.ready", { ...FULL, card_id: "card_1" }, { actor: { type: "api_key", session_id: "ses_1", in_browser: false, api_key_name: "Courier" } }));
  assert.equal(`${said.who} ${said.text}`, "Courier bought a $40.00 US card.");
  assert.deepEqual(said.then, { tone: "done", word: "Ready in 1.5 s" });
  assert.deepEqual(said.amount, { currency: "USD", value: "41.20", moves: "out" });
  assert.equal(said.href, "/dashboard/cards/card_1");
  // The steps of one purchase are one thing.
  assert.equal(said.thing, sentence(event("card.pending", { ...FULL, card_id: "card_1" })).thing);
});

test("what changed by an event is its amount", () => {
  const said = sentence(event("reloadable_card.charged", { ...FULL, card_id: "card_1" }, { previous: { available_usd_amount: 40 } }));
  assert.deepEqual(said.amount, { currency: "USD", value: "6.60", moves: "own" });
});

test("what a person did at a page is theirs", () => {
  assert.equal(sentenceText(event("card.pause_requested", FULL, { actor: { type: "wallet", session_id: "ses_1", in_browser: true } })), "You asked to pause US card •••• 2717.");
});

test("a refused spend names the limit", () => {
  const refused = { amount: 480, host: "hotel.example", limits: [{ limit: "per_call_usd", cap_usd: 200, left_usd: 200 }] };
  assert.equal(sentenceText(event("agent_wallet.spend_refused", { last_refused_spend: refused })), "Your agent was stopped: $480.00 to hotel.example is over your limit of $200.00 a payment.");
});

test("an unknown event is shown by its name", () => {
  assert.equal(sentenceText(event("some_thing.happened", {})), "Some thing happened.");
});

test("an approval says what it buys", () => {
  const says = (route: string, amount: string | null, currency: string | null) => boughtWords({ route, amount, currency }, "486.50");
  assert.equal(says("/get-card", "480", null), "buy a $480.00 US card");
  assert.equal(says("/order-intl-card", "100", null), "buy a $100.00 international card");
  assert.equal(says("/order-gift-card", "50", null), "buy a gift card for $486.50");
  assert.equal(says("/get-push-to-card", "25", "EUR"), "pay out €25.00 to a debit card");
  assert.equal(says("/fund-card-balance", "40", null), "top up the card balance with $40.00");
  assert.equal(says("/get-card", null, null), "buy a $486.50 US card");
  assert.equal(says("/anything", null, null), "pay $486.50 to this service for /anything");
});
