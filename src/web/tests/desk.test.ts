// What the desk says of a customer's purchases, of limits and of the ledger.

import "./browser";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditLogEntry, WebhookDelivery } from "../api/operator";
import { aboveLimit } from "../desk/act";
import { parts } from "../desk/below";
import { paidSentence, rateOf, ratesOf, timesOf } from "../desk/home";
import { expiryText, month, wholeExpiry } from "../desk/orders";
import { stories } from "../desk/story";
import { subjectWord } from "../desk/subject";
import { type TimelineEntry, readOn } from "../desk/timeline";
import { halfWithin, lastTries, triedText, triesText } from "../desk/tries";
import { sentence } from "../parts/sentences";

const WALLET = "0x5ba092ad3425c5582b9a26732d8f53bec019a141";
let seq = 0;

function entry(at: number, type: string, id: string, object: Record<string, unknown>, actor: string): TimelineEntry {
  const created_at = new Date(Date.UTC(2026, 10, 27, 10, 0, 0, at)).toISOString();
  seq += 1;
  return {
    at: created_at, kind: type.split(".")[0] ?? "", id, status: type.split(".")[1] ?? "", request_id: null, operator_action: null,
    event: { seq, type, created_at, data: { object }, previous: null, actor: { type: actor, in_browser: false, ...(actor === "api_key" ? { api_key_name: "Courier" } : {}) } },
  };
}

function act(at: number, action: AuditLogEntry["action"], subject: string, operator: string, note: string | null = null): TimelineEntry {
  const time = new Date(Date.UTC(2026, 10, 27, 10, 0, 0, at)).toISOString();
  seq += 1;
  return {
    at: time, kind: null, id: subject, status: null, request_id: null, event: null,
    operator_action: { sequence: seq, at: time, operator, role: "operator", action, subject, note, request_id: "req_1", previous_hash: "", hash: "" },
  };
}

test("what happened is read on past the deliveries of a webhook that fails", async () => {
  const tries: TimelineEntry[] = Array.from({ length: 200 }, () => ({ at: "2026-11-27T10:00:00.000Z", kind: "webhook_delivery", id: "dlv_1", status: "pending", request_id: null, event: null, operator_action: null }));
  const pages = [tries, tries, [...purchase(), ...tries], purchase()];
  const asked: (string | null)[] = [];
  const read = async (before: string | null) => {
    asked.push(before);
    return { rows: pages[asked.length - 1] ?? [], next: asked.length < pages.length ? String(asked.length) : null };
  };
  const page = await readOn(read, null);
  assert.deepEqual([page.rows.length, page.next, asked], [2 * purchase().length, null, [null, "1", "2", "3"]]);
});

const spent = { wallet_payment_id: "wpay_1", kind: "x402", amount: 25, host: "route", from: "0x5040", tx_hash: null as string | null };
const paid = { payment_id: "pay_1", product: "usa_prepaid_card", amount: 25, payer: "0x5040", transaction: "0x1ecb" };
const card = { card_id: "card_1", payment_id: "pay_1", usd_amount: 25, charged_usd_amount: 25, status: "ready", created_at: "2026-11-27T10:00:00.000Z" };

/** A purchase by an API key, the newest first. */
const purchase = (): TimelineEntry[] => [
  entry(1_500, "card.ready", "card_1", card, "provider"),
  entry(60, "wallet_payment.settled", "wpay_1", { ...spent, tx_hash: "0x1ecb" }, "chain"),
  entry(60, "wallet_payment.sent", "wpay_1", spent, "service"),
  entry(59, "card.pending", "card_1", { ...card, status: "pending" }, "payment"),
  entry(59, "payment.fulfilled", "pay_1", paid, "service"),
  entry(59, "payment.settled", "pay_1", paid, "payment"),
  { ...entry(20, "payment.settling", "pay_1", {}, "service"), event: null },
  entry(19, "wallet_payment.signed", "wpay_1", spent, "service"),
  entry(19, "wallet_payment.pending", "wpay_1", spent, "api_key"),
];

test("a purchase is one line with its steps, and what happens to the card later is another", () => {
  const later = entry(9_000, "card.paused", "card_1", { ...card, status: "paused" }, "provider");
  const [paused, bought, ...others] = stories([later, ...purchase()], WALLET);
  assert.deepEqual(others, []);
  assert.equal(paused?.lead.event?.type, "card.paused");
  assert.equal(paused?.steps.length, 1);
  assert.equal(bought?.lead.event?.type, "card.ready");
  assert.equal(bought?.steps.length, 9);
  assert.deepEqual(bought?.operators, []);
});

test("what undid a purchase is its line, and the balance's own events are quiet", () => {
  const credited = entry(3_000, "balance.credited", WALLET, { balance: 25 }, "service");
  const reversed = entry(2_000, "payment.reversed", "pay_1", paid, "chain");
  const [balance, bought] = stories([credited, reversed, ...purchase()], WALLET);
  assert.equal(balance?.quiet, true);
  assert.equal(bought?.lead.event?.type, "payment.reversed");
  assert.equal(bought?.quiet, false);
});

test("a refund names who asked and who approved, with the reason once", () => {
  const refund = { refund_id: "rf_1", payment_id: "pay_1", amount: 20, status: "approved" };
  const subject = `rf_1 20 ${WALLET} holder_keeps_product`;
  const line = stories(
    [
      entry(9_010, "refund.credited", "rf_1", { ...refund, status: "credited" }, "service"),
      entry(9_000, "refund.approved", "rf_1", refund, "operator"),
      act(9_000, "refund.approve", subject, "cia"),
      act(5_000, "refund.request", subject, "ben", "The shop never sent it."),
      ...purchase(),
    ],
    WALLET,
  )[0];
  assert.equal(line?.lead.event?.type, "refund.credited");
  assert.deepEqual([line?.operators, line?.note, line?.steps.length], [["ben", "cia"], "The shop never sent it.", 4]);
});

test("a refused order names its operator, not the one who claimed it, and its reason only once", () => {
  const order = { card_id: "card_2", payment_id: "pay_2", usd_amount: 300, rejection_reason: "Our partner does not serve this country today.", status: "rejected" };
  const [line] = stories(
    [
      entry(800, "intl_order.rejected", "card_2", order, "operator"),
      act(800, "intl_order.reject", "card_2", "cia", "Our partner does not serve this country today."),
      act(400, "intl_order.claim", "card_2", "ben"),
      entry(400, "intl_order.claimed", "card_2", { ...order, status: "claimed" }, "operator"),
      entry(100, "intl_order.queued", "card_2", { ...order, status: "queued" }, "payment"),
    ],
    WALLET,
  );
  assert.deepEqual([line?.operators, line?.note, line?.steps.length], [["cia"], null, 5]);
  const said = sentence(line?.lead.event as never).text;
  assert.match(said, /Reason: Our partner does not serve this country today\.$/);
});

test("a freeze names its operator, and a note beside it is a line of its own", () => {
  const frozen = entry(8_000, "account.frozen", WALLET, { status: "frozen" }, "operator");
  const lines = stories([act(8_500, "customer.note", WALLET, "cia", "Called."), frozen, act(8_000, "account.freeze", WALLET, "ben"), ...purchase()], WALLET);
  assert.deepEqual(lines.map((line) => [line.lead.event?.type ?? line.lead.operator_action?.action, line.operators, line.steps.length]), [["customer.note", [], 1], ["account.frozen", ["ben"], 2], ["card.ready", [], 9]]);
});

test("an act that caused no event is a line of its own", () => {
  const lines = stories([act(9_000, "account.freeze", WALLET, "ben", "A question"), ...purchase()], WALLET);
  assert.equal(lines[0]?.lead.operator_action?.action, "account.freeze");
  assert.equal(lines.length, 2);
});

test("records have words, and only their ids are as they are", () => {
  assert.equal(subjectWord("holder_keeps_product"), "the holder keeps what they bought");
  assert.equal(subjectWord("await_issuer_credit"), "Wait for the issuer's credit");
  assert.equal(subjectWord("credit_back"), "Credit stuck work back");
  assert.equal(subjectWord("dora"), "dora");
});

test("a dialog says why a second operator is needed", () => {
  const limits = { max: 250, dayMax: 1_000, today: "900.50" };
  assert.equal(aboveLimit("311.40", limits), "$311.40 is above your $250.00: a second operator must agree.");
  assert.equal(aboveLimit("99.50", limits), null);
  assert.equal(aboveLimit("99.51", limits), "With $99.51 you would give $1,000.01 today, above your $1,000.00 a day: a second operator must agree.");
  assert.equal(aboveLimit("5000", { max: null, dayMax: null, today: 0 }), null);
  assert.equal(aboveLimit("", limits), null);
});

test("a treasury below zero is not a debt, and fees are not owed", () => {
  const found = parts([
    { account: "treasury_base", side: "debit", amount: "500.01" },
    { account: "treasury_solana", side: "credit", amount: "0.002109" },
    { account: "customers", side: "credit", amount: "400" },
    { account: "provider_card_issuer", side: "debit", amount: "25" },
    { account: "provider_bank", side: "credit", amount: "100" },
    { account: "fee_revenue", side: "credit", amount: "25.01" },
    { account: "operating_costs", side: "debit", amount: "0.002109" },
  ]);
  const names = (lines: { account: string; value: bigint }[]) => lines.map((line) => [line.account, line.value]);
  assert.deepEqual(names(found.hold), [["treasury_base", 500_010_000n], ["treasury_solana", -2_109n], ["provider_card_issuer", 25_000_000n]]);
  assert.deepEqual(names(found.owe), [["customers", 400_000_000n], ["provider_bank", 100_000_000n]]);
  assert.deepEqual(names(found.own), [["fee_revenue", 25_010_000n], ["operating_costs", -2_109n]]);
  const total = (lines: { value: bigint }[]) => lines.reduce((sum, line) => sum + line.value, 0n);
  assert.equal(total(found.hold), total(found.owe) + total(found.own));
});

test("an expiry is understood as cards print it and as people type it", () => {
  const typed = (text: string) => [...text].reduce((shown, key) => expiryText(shown + key), "");
  for (const [keys, shown] of [["122031", "12/2031"], ["12/31", "12/31"], ["1/2031", "01/2031"], ["1/31", "01/31"], ["231", "02/31"], ["2/2031", "02/2031"], ["01/2031", "01/2031"], ["12 / 31", "12/31"], ["1231", "12/31"]]) {
    assert.equal(typed(keys ?? ""), shown, keys);
  }
  assert.equal(expiryText("12-2031"), "12/2031");
  assert.deepEqual(["1", "12", "12/", ""].map(expiryText), ["1", "12", "12/", ""]);
  assert.deepEqual(month("12/31"), { month: 12, year: 2031 });
  assert.deepEqual(month("01/2031"), { month: 1, year: 2031 });
  assert.deepEqual(["", "12", "12/3", "12/203"].map(month), [null, null, null, null]);
  assert.deepEqual(["12/31", "12/2031", "12/3"].map(wholeExpiry), ["12/2031", "12/2031", "12/3"]);
});

test("the curve of paid calls ends where its sentence says, and its last part is now", () => {
  const part = (minute: number, second: number, seconds: number, calls: number) => ({
    at: new Date(2026, 10, 27, 20, minute, second).toISOString(), seconds, calls, per_second: "0", failures: 0, half_within_us: null, p99_within_us: null,
  });
  const points = [part(48, 0, 60, 6), part(49, 0, 60, 10), part(50, 0, 60, 2), part(50, 40, 40, 3)];
  const rate = rateOf(points);
  assert.deepEqual(ratesOf(points, rate), [6, 10, 2, 3]);
  assert.equal(paidSentence(points, rate).current, "3/min");
  assert.deepEqual(timesOf(points), ["20:48", "20:49", "20:50", "now"]);
  assert.deepEqual(timesOf(points.slice(0, 3)), ["20:48", "20:49", "20:50"]);
});

test("the tries of an endpoint are said in words, the oldest first", () => {
  const attempt = (second: number, status: number | null, ms: number) => ({ at: `2026-11-20T10:00:${String(second).padStart(2, "0")}Z`, duration_ms: ms, error: status === null ? "it cannot be reached" : null, response_excerpt: null, status });
  const delivery = (seq: number, attempts: ReturnType<typeof attempt>[]): WebhookDelivery => ({
    attempt_count: attempts.length, attempts, created_at: "2026-11-20T10:00:00Z", delivery_id: `whd_${seq}`, dropped_reason: null, event_id: `evt_${seq}`, last_updated_at: "2026-11-20T10:00:00Z", next_attempt_at: null, seq, status: "delivered", type: "card.ready", webhook_id: "wh_1",
  });
  // Newest delivery first, as they are listed.
  const tries = lastTries([delivery(2, [attempt(2, 204, 30)]), delivery(1, [attempt(1, 503, 5), attempt(3, 200, 10)])]);
  assert.deepEqual(tries.map((one) => [one.seq, one.status]), [[1, 503], [2, 204], [1, 200]]);
  assert.equal(triesText(tries), "2 of 3 accepted");
  assert.equal(halfWithin(tries), 10);
  assert.equal(triesText([]), "Not tried yet");
  assert.equal(halfWithin([]), null);
  const failed = lastTries([delivery(3, [attempt(4, null, 1), attempt(5, 302, 1)])]);
  assert.equal(triesText(failed), "None of 2 accepted");
  assert.equal(triesText(lastTries([delivery(4, [attempt(6, 200, 1), attempt(7, 299, 1)])])), "All 2 accepted");
  assert.equal(triesText(failed.slice(0, 1)), "The only try failed");
  assert.equal(triedText({ attempt_count: 0, attempts: [] }), "not tried yet");
  assert.equal(triedText({ attempt_count: 1, attempts: [attempt(8, 204, 1)] }), "1 try: 204");
  assert.equal(triedText({ attempt_count: 1_200, attempts: [attempt(8, 503, 1), attempt(9, null, 1)] }), "1,200 tries, the last: it cannot be reached");
  // Only so many are drawn: the last.
  const many = lastTries([delivery(5, Array.from({ length: 30 }, (_, index) => attempt(index, 200, 1)))]);
  assert.deepEqual([many.length, many[0]?.at], [24, "2026-11-20T10:00:06Z"]);
});
