// Every event has a sentence of plain English, whatever its object lacks.

import "./browser";
import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_TYPES } from "../api/events";
import { begunBy, boughtWords, sentence, sentenceText, withBeginning } from "../parts/sentences";
import type { StreamEvent } from "../parts/stream";
import { until } from "../parts/time";

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

const ACTORS: Record<string, RegExp> = {
  wallet: /^Your agent$/, payment: /^Your agent$/, api_key: /^Courier$/, passkey: /^Your agent$/, operator: /^A person at Purser$/,
  provider: /^The (card issuer|seller of the gift card|identity check|bank|payment app)$/, merchant: /^A shop$/, recipient: /^The recipient$/, chain: /^The chain$/, service: /^Purser$/,
};
/** What only the account's own side does: nobody else may be said to have done it. */
const OWN = /^(tried to )?(bought|buy|ordered|paid|pay|topped up|top up|set up a payout|sent (?!the application|a test)|sends|signed a payment|opened reloadable|withdrew|started a withdrawal|asked for a reloadable)/;

test("every event has a sentence for whoever caused it", () => {
  for (const type of EVENT_TYPES) {
    for (const [actor, subject] of Object.entries(ACTORS)) {
      for (const object of [{}, FULL]) {
        const of = event(type, object, { actor: { type: actor, in_browser: false, ...(actor === "api_key" ? { api_key_name: "Courier" } : {}) } });
        const said = sentence(of);
        const whole = sentenceText(of);
        assert.match(whole, /^[A-Z“$–].*[.!]$/s, `${type} by ${actor}: ${whole}`);
        assert.ok(!/undefined|null|NaN|_/.test(whole), `${type} by ${actor}: ${whole}`);
        if (said.who && !OWN.test(said.text)) assert.ok(subject.test(said.who) || said.who === "Your agent", `${type} by ${actor}: ${whole}`);
        if (OWN.test(said.text)) assert.ok(["Your agent", "Courier", null].includes(said.who), `${type} by ${actor}: ${whole}`);
      }
    }
    const yours = sentence(event(type, FULL, { actor: { type: "wallet", session_id: "ses_1", in_browser: true } }));
    assert.ok(yours.who === null || yours.who === "You", type);
  }
});

test("a later step says who began it, and with which wallet", () => {
  const payer = "0x30ef00000000000000000000000000000000a6c9";
  const bought = (type: string, actor: string) => event(type, { ...FULL, card_id: "card_1", payment_id: "pay_1" }, { actor: { type: actor, in_browser: false } });
  const settled = event("payment.settled", { payment_id: "pay_1", product: "usa_prepaid_card", amount: 40, payer, transaction: "0x1" }, { actor: { type: "payment", in_browser: false } });
  const ready = bought("card.ready", "provider");
  const text = (events: StreamEvent[], of: StreamEvent, ours: string[] = []) => sentenceText(withBeginning(of, begunBy(events, ours))).replaceAll("\u2060", "");
  assert.equal(text([ready], ready), "Your agent bought a $40.00 US card.");
  // The only wallet of an account needs no name, one of several has it.
  assert.equal(text([ready, settled], ready), "Your agent bought a $40.00 US card.");
  const other = event("payment.settled", { payment_id: "pay_2", product: "gift_card", amount: 50, payer: "0x40ef00000000000000000000000000000000a6c9" });
  assert.equal(text([ready, settled, other], ready), "Your agent bought a $40.00 US card with wallet 0x30ef…a6c9.");
  const signed = event("wallet_payment.signed", { wallet_payment_id: "wpay_1", pay_to: payer }, { actor: { type: "api_key", session_id: "ses_1", in_browser: false, api_key_name: "Courier" } });
  const paid = event("wallet_payment.settled", { wallet_payment_id: "wpay_1", pay_to: payer, tx_hash: "0x1" }, { actor: { type: "chain", in_browser: false } });
  assert.equal(text([ready, settled, paid, signed], ready, [payer]), "Courier bought a $40.00 US card with the agents’ wallet.");
  const begun = event("withdrawal.pending", { ...FULL, id: "wd_1", address: payer }, { actor: { type: "passkey", session_id: "ses_1", in_browser: true } });
  const arrived = event("withdrawal.complete", { ...FULL, id: "wd_1", address: payer }, { actor: { type: "chain", in_browser: false } });
  assert.equal(text([arrived, begun], arrived), "You withdrew to 0x30ef…a6c9 on Base.");
  assert.equal(text([arrived], arrived), "A withdrawal to 0x30ef…a6c9 on Base arrived.");
  // What somebody else did to a thing is not said of who began it.
  const viewed = event("card.details_viewed", { ...FULL, card_id: "card_1", payment_id: "pay_1" }, { actor: { type: "wallet", session_id: "ses_1", in_browser: true } });
  assert.equal(text([viewed, ready, settled, paid, signed], viewed), "You looked at the number of US card •••• 2717.");
});

test("what the issuer did because somebody asked for it is theirs", () => {
  const provider = { type: "provider", in_browser: false };
  const you = { type: "passkey", session_id: "ses_1", in_browser: true };
  const of = (seq: number, change: string, actor: StreamEvent["actor"]) => ({ ...event(`card.${change}`, { ...FULL, card_id: "card_1" }, { actor }), seq });
  const events = [of(6, "paused", provider), of(5, "resumed", provider), of(4, "resume_requested", you), of(3, "paused", provider), of(2, "pause_requested", you), of(1, "paused", provider)];
  const said = events.map((one) => sentenceText(withBeginning(one, begunBy(events))));
  assert.deepEqual(said, [
    "The card issuer paused US card •••• 2717: shops are refused until it is resumed.",
    "You resumed US card •••• 2717: it works again.",
    "You asked to resume US card •••• 2717.",
    "You paused US card •••• 2717.",
    "You asked to pause US card •••• 2717.",
    "The card issuer paused US card •••• 2717: shops are refused until it is resumed.",
  ]);
});

test("a payout names its recipient, a gift card its shop, an answer the agent that asked", () => {
  const names = new Map([["prc_1", "Ada Lovelace"], ["dst_1", "Grace Hopper"]]);
  const said = (of: StreamEvent, events: StreamEvent[] = []) => sentenceText(withBeginning(of, begunBy(events, [], [], names)));
  assert.equal(said(event("payout.complete", { payout_id: "po_1", amount: 5, platform: "venmo", recipient_id: "prc_1" })), "Your agent paid out $5.00 to Ada Lovelace by Venmo.");
  assert.equal(said(event("payout.complete", { payout_id: "po_1", amount: 5, destination_id: "dst_1" })), "Your agent paid out $5.00 to the bank account of Grace Hopper.");
  assert.equal(said(event("payout.complete", { payout_id: "po_1", amount: 5, destination_id: "dst_2" })), "Your agent paid out $5.00 to a bank account.");
  assert.equal(said(event("gift_card.completed", { card_id: "card_1", amount: 50, currency: "EUR", product_id: "gift_marche_lumiere_fr" })), "Your agent bought a €50.00 Marche Lumiere gift card.");
  const approval = { approval_id: "sap_1", amount: 486.5, purchase: { route: "/get-card", amount: "480", currency: null } };
  const asked = event("approval.requested", approval, { actor: { type: "api_key", session_id: "ses_1", in_browser: false, api_key_name: "Courier" } });
  const approved = event("approval.approved", approval, { actor: { type: "passkey", session_id: "ses_2", in_browser: true } });
  assert.equal(said(approved, [approved, asked]), "You let Courier buy a $480.00 US card.");
  assert.equal(said(approved), "You let an agent buy a $480.00 US card.");
});

test("a refund says what it is for", () => {
  const credited = event("refund.credited", { refund_id: "rf_1", payment_id: "pay_1", amount: 25 });
  const said = (events: StreamEvent[]) => sentenceText(withBeginning(credited, begunBy([credited, ...events])));
  const settled = event("payment.settled", { payment_id: "pay_1", product: "usa_prepaid_card", amount: 480 });
  const ready = event("card.ready", { card_id: "card_1", payment_id: "pay_1", usd_amount: 480 });
  assert.equal(said([]), "A refund was credited to your balance.");
  assert.equal(said([settled]), "A refund for your US card was credited to your balance.");
  assert.equal(said([settled, ready]), "A refund for your $480.00 US card was credited to your balance.");
  assert.equal(said([ready, settled]), "A refund for your $480.00 US card was credited to your balance.");
  assert.equal(sentence(credited).href, "/dashboard/payments/pay_1");
});

test("the end of a wait says its day", () => {
  const present = new Date(2026, 10, 27, 16, 21).getTime();
  assert.equal(until(new Date(2026, 10, 27, 18, 5).toISOString(), present), "18:05");
  assert.equal(until(new Date(2026, 10, 28, 16, 21).toISOString(), present), "tomorrow 16:21");
  assert.equal(until(new Date(2026, 10, 30, 9, 0).toISOString(), present), "30 Nov 09:00");
});

test("a charge names its shop, once the card's transactions say it", () => {
  const at = "2026-11-27T10:00:01.000Z";
  const charges = [
    { transaction_id: "txn_1", card_id: "card_2", merchant: "Other card", usd_amount: 6.6, status: "settled", at },
    { transaction_id: "txn_2", card_id: "card_1", merchant: "Other amount", usd_amount: 7, status: "settled", at },
    { transaction_id: "txn_3", card_id: "card_1", merchant: "Later", usd_amount: 6.6, status: "settled", at: "2026-11-27T11:00:00.000Z" },
    { transaction_id: "txn_4", card_id: "card_1", merchant: "Declined", usd_amount: 6.6, status: "declined", at },
    { transaction_id: "txn_5", card_id: "card_1", merchant: "Calanque Ferries", usd_amount: "6.60", status: "pending", at },
  ];
  const said = (of: StreamEvent) => sentenceText(withBeginning(of, begunBy([of], [], charges)));
  const charged = event("card.charged", { ...FULL, card_id: "card_1" }, { previous: { available_usd_amount: 40 } });
  assert.equal(said(charged), "Calanque Ferries charged $6.60 to US card •••• 2717.");
  assert.equal(said(event("card.charge_declined", { ...FULL, card_id: "card_1" })), "Declined was declined: it wanted $6.60 of US card •••• 2717. Nothing was taken.");
  assert.equal(said(event("card.charge_refunded", { ...FULL, card_id: "card_1" })), "A shop gave money back to US card •••• 2717.");
  // Without the transactions, what left the card is not said to be the charge.
  assert.equal(sentenceText(charged), "A shop charged US card •••• 2717.");
  assert.equal(sentence(charged).amount, null);
});

test("each of several charges in one answer of the issuer has its own shop and amount", () => {
  // The events carry the card after all changes: here 28.60 less, and then a closed card with nothing left.
  const left = { ...FULL, card_id: "card_1", available_usd_amount: 31.4 };
  const events = [
    event("card.charged", { ...left, card_id: "card_2", available_usd_amount: 0 }, { seq: 4, previous: { available_usd_amount: 35 } }),
    event("card.charge_refunded", left, { seq: 3, previous: { available_usd_amount: 31 } }),
    event("card.charged", left, { seq: 2 }),
    event("card.charged", left, { seq: 1, previous: { available_usd_amount: 60 } }),
  ];
  const charge = (transaction_id: string, card_id: string, merchant: string, usd_amount: string, status: string, second: number) => ({ transaction_id, card_id, merchant, usd_amount, status, at: `2026-11-27T10:00:0${second}.000Z` });
  const charges = [
    charge("txn_1", "card_1", "Calanque Ferries", "16.60", "refunded", 0),
    charge("txn_2", "card_1", "Hotel du Port", "12.00", "pending", 1),
    charge("txn_3", "card_2", "Broken Shop", "10.00", "settled", 1),
  ];
  const begun = begunBy(events, [], charges);
  const said = events.map((one) => sentence(withBeginning(one, begun)));
  assert.deepEqual(
    said.map((one) => [one.text, one.amount?.value]),
    [
      ["Broken Shop charged $10.00 to US card •••• 2717.", "10.00"],
      ["Calanque Ferries gave $16.60 back to US card •••• 2717.", "16.60"],
      ["Hotel du Port charged $12.00 to US card •••• 2717.", "12.00"],
      ["Calanque Ferries charged $16.60 to US card •••• 2717.", "16.60"],
    ],
  );
});

test("a paid call of Purser itself is told by what it bought", () => {
  for (const change of ["signed", "sent", "settled"]) assert.ok(sentence(event(`wallet_payment.${change}`, { host: "route" })).quiet);
  assert.ok(!sentence(event("wallet_payment.failed", { host: "route" })).quiet);
  assert.ok(!sentence(event("wallet_payment.settled", { host: "tides.example" })).quiet);
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
  const said = sentence(event("balance.credited", { ...FULL, balance: "46.60" }, { previous: { balance: "40.00" } }));
  assert.deepEqual(said.amount, { currency: "USD", value: "6.60", moves: "in" });
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
