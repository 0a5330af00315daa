// What the holder's pages compute: lists of several sources, the statement, the stops of a transfer.

import "./browser";
import assert from "node:assert/strict";
import { test } from "node:test";

Object.defineProperty(globalThis, "WebSocket", { value: class {} });
const { mergedSlice } = await import("../holder/data/load");
const { effectText, lineWords, statementSlice, exportCsv, monthPeriod, daysPeriod } = await import("../holder/data/statement");
const { Bought } = await import("../holder/data/bought");
const { exportPurchases, readPurchaseSums } = await import("../holder/data/purchases");
const { stopsOf, timesOf } = await import("../holder/data/route");
const { isOpen, moneyOf, ofTopUp, troubleWord, ofPayout, ofWithdrawal, updated } = await import("../holder/data/transfers");
const { afterPayment, cameBack, cameBackWords, cardStatus } = await import("../holder/data/cards");
const { retryWords, whereOf } = await import("../holder/data/where");
const { onWay } = await import("../holder/in-flight");
const { legsOf } = await import("../holder/transfer");
const { lines } = await import("../holder/feed");
const { feeIn } = await import("../holder/data/fees");
const { waits } = await import("../holder/approvals");
const { spenders } = await import("../holder/today");
const { costWords, loadSpending } = await import("../holder/spending");
const { costInTheEnd, paidLines, worthWords } = await import("../holder/receipt");
const { boughtWords, productWords } = await import("../parts/sentences");
const { checkAddress, explorerUrl, webAddress } = await import("../holder/chain");
const { ApiFailure, api, failure, fieldErrors, frame, money } = await import("../parts");

test("a list of several sources has every row once, newest first, whatever the page size", async () => {
  const rows = (prefix: string, times: number[]) => times.map((at) => ({ id: `${prefix}${at}`, at: String(at).padStart(4, "0") }));
  const all = [rows("a", [90, 70, 50, 10]), rows("b", [80, 60]), rows("c", [])];
  for (const size of [1, 2, 3, 10]) {
    const sources = all.map((list) => async (after: string | undefined, limit: number) => {
      const begin = after === undefined ? 0 : list.findIndex((row) => row.id === after) + 1;
      return { rows: list.slice(begin, begin + limit), more: list.length > begin + limit };
    });
    const seen: string[] = [];
    let place: Awaited<ReturnType<typeof mergedSlice>>["next"];
    for (let pages = 0; pages < 20; pages += 1) {
      const slice = await mergedSlice(sources, place, size, (row) => row);
      seen.push(...slice.rows.map((row) => row.id));
      place = slice.next;
      if (!place) break;
    }
    assert.deepEqual(seen, ["a90", "b80", "a70", "b60", "a50", "a10"], `pages of ${size}`);
  }
});

const line = (type: string, amount: number, cause = "wd_1") => ({ entry_id: `stl_${type}`, type, amount, cause, balance: 1, available: 1, held: 0, created_at: "2026-11-22T09:41:00.000Z" }) as never;

test("an order is late only while it is open", () => {
  const order = (status: string, overdue: boolean) => cardStatus({ card_type: "Non-Reloadable International", status, overdue } as never).word;
  assert.deepEqual([order("queued", false), order("claimed", false)], ["Waits for an operator", "An operator took it"]);
  assert.deepEqual([order("queued", true), order("claimed", true), order("ready", true)], ["Late", "Late", "Ready"]);
});

test("a listed card says what became of its payment, from the list and from events", () => {
  const card = { card_type: "Non-Reloadable U.S.", status: "ready", payment_id: "pay_1" } as never;
  const event = (type: string, payment_id: string) => ({ type, data: { object: { payment_id, amount: 4.99 } } }) as never;
  assert.deepEqual(cardStatus(card), { tone: "done", word: "Ready" });
  assert.deepEqual(cardStatus(afterPayment(card, event("payment.reversed", "pay_1"))), { tone: "bad", word: "Ready, payment taken back" });
  assert.deepEqual(cardStatus(afterPayment(card, event("refund.credited", "pay_1"))), { tone: "done", word: "Ready, $4.99 refunded" });
  assert.equal(afterPayment(card, event("payment.reversed", "pay_2")), card);
  const gift = { card_type: "Gift Card", status: "completed", refunded_usd_amount: 5 } as never;
  assert.equal(cardStatus(gift).word, "Delivered, $5.00 refunded");
  const closed = { card_type: "Non-Reloadable U.S.", status: "closed", credited_usd_amount: "25.00", refunded_usd_amount: "10.00" } as never;
  assert.equal(cardStatus(closed).word, "Closed, $10.00 refunded");
  assert.equal(money(cameBack(closed)), "$35.00");
  assert.equal(cameBack(card), 0);
  assert.equal(cameBackWords("25.00", "10.00"), "$25.00 that was left and $10.00 that Purser refunded are on your balance.");
  assert.equal(cameBackWords(0, "10.00"), "Purser refunded $10.00 to your balance.");
});

test("a transfer that came back says how much did, and others what they cost with the fee", () => {
  const payout = (credited_amount: string | null, charged_usd_amount: string) => moneyOf(ofPayout({ payout_id: "po_1", status: "failed", amount: "16.66", currency: "USD", charged_usd_amount, credited_amount } as never));
  assert.deepEqual(payout("18.16", "18.16"), { back: "18.16", cost: "18.16" });
  assert.deepEqual(payout(null, "18.16"), { back: null, cost: "18.16" });
  assert.deepEqual(payout(null, "16.66"), { back: null, cost: null });
  assert.equal(moneyOf(ofTopUp({ top_up_id: "top_1", status: "failed", funded_usd: 21.07 } as never)).back, 21.07);
  assert.equal(moneyOf(ofTopUp({ top_up_id: "top_1", status: "credited", funded_usd: 21.07 } as never)).back, null);
});

test("the fee in a price in dollars follows from the fee schedule, and the rate is that of the receipt", () => {
  // 26.50 EUR at 1.0844 are 28.7366, rounded up to the cent.
  const fee = feeIn(28.74, "25", { fee_rate: 0.0025, min_fee: 1.5 });
  assert.equal(fee, "1.63");
  assert.equal(worthWords("25", "EUR", 28.74, fee ?? 0), "€25.00 for $27.11, at about 1.0844 USD for 1 EUR");
  assert.equal(feeIn(1090, "1000", { fee_rate: 0.0025, min_fee: 1.5 }), "2.72");
  assert.deepEqual([feeIn(1, "abc", { fee_rate: 0, min_fee: 0 }), feeIn(1, "0", { fee_rate: 0, min_fee: 0 })], [null, null]);
});

test("what an agent asked for waits no more once its key has ended", () => {
  const asked = (status: string, api_key_id: string | null) => ({ approval_id: "sap_1", amount: 5, status, api_key_id });
  const keys = [{ api_key_id: "key_1", name: "Courier", status: "active" }, { api_key_id: "key_2", name: "Scout", status: "revoked" }];
  assert.deepEqual([asked("pending", "key_1"), asked("pending", "key_2"), asked("pending", "key_3"), asked("pending", null), asked("approved", "key_1")].map((one) => waits(one, keys)), [true, false, false, true, false]);
});

test("an account without a passkey is told what to do, not asked for a passkey", async () => {
  let sent = 0;
  Object.defineProperty(globalThis, "fetch", {
    configurable: true,
    value: async () => {
      sent += 1;
      return new Response(JSON.stringify({ code: "confirmation_required", error: "This needs a confirmation.", reason: "login_link" }), { status: 403 });
    },
  });
  const refused = await api.post("/account/resume-agents").then(() => null, failure);
  assert.equal(refused?.code, "login_link_needed");
  assert.match(refused?.said ?? "", /new link/);
  assert.equal(sent, 1);
});

test("of the steps of one thing the last is shown: a payment whose answer was lost is one line, whatever became of it", () => {
  const paid = { payment_id: "pay_1", product: "usa_prepaid_card", amount: 13.04 };
  const card = { card_id: "card_1", payment_id: "pay_1", usd_amount: 13.04, charged_usd_amount: 13.04, created_at: "2026-11-27T10:00:00.000Z" };
  const said = (...events: [type: string, object: Record<string, unknown>][]) =>
    lines(events.map(([type, object], at) => ({ seq: events.length - at, type, created_at: "2026-11-27T10:00:01.500Z", data: { object }, previous: null }))).map((one) => [one.event.type, one.said.amount?.value]);
  const unknown = ["payment.unknown", paid] as const;
  assert.deepEqual(said([...unknown]), [["payment.unknown", "13.04"]]);
  assert.deepEqual(said(["payment.settled", paid], [...unknown]), []);
  assert.deepEqual(said(["card.ready", card], ["payment.fulfilled", paid], ["card.pending", card], ["payment.settled", paid], [...unknown]), [["card.ready", "13.04"]]);
  assert.deepEqual(said(["identity.verified", { status: "verified" }], ["identity.in-review", { status: "in-review" }]).map(([type]) => type), ["identity.verified"]);
  for (const end of ["payment.declined", "payment.credited"]) assert.deepEqual(said([end, paid], [...unknown]).map(([type]) => type), [end]);
});

test("what agents spent today stands beside their own limits, and has what other wallets paid", () => {
  const account = {
    agent_wallet: { limits: { per_day_usd: "200" }, used_today_usd: 64.16 },
    api_keys: [
      { api_key_id: "key_1", name: "Courier", status: "active", spent_today_usd: "64.16", limits: { per_day_usd: 60, per_call_usd: null } },
      { api_key_id: "key_2", name: "Scout", status: "active", spent_today_usd: 0, limits: { per_day_usd: null, per_call_usd: null } },
      { api_key_id: "key_3", name: "Gone", status: "revoked", spent_today_usd: "0.00" },
    ],
    connected_agents: [{ api_key_id: null, agent: { name: "Rover" } }, { api_key_id: "key_1", agent: { name: "Courier" } }],
  } as never;
  const words = (own?: string) => spenders(account, own).map((one) => `${one.name}: ${one.spent}${one.of} (${one.day ?? "no limit"})`);
  const ours = ["Agents’ wallet: 64.16 of $200.00 (200)", "Courier: 64.16 of $60.00 (60)", "Scout: 0 (no limit)"];
  assert.deepEqual(words(), ours);
  assert.deepEqual(words("0.00"), ours);
  assert.deepEqual(words("241.5"), [...ours, "Rover: 241.5, own wallet (no limit)"]);
  assert.deepEqual(spenders({ connected_agents: [] } as never, "5").map((one) => one.name + one.of), ["Own wallets of agents"]);
});

test("lines change the balance by their kind", () => {
  assert.deepEqual(["credited", "debited", "withdrawn", "reversed", "held", "released", "held_unfinal"].map((type) => effectText(line(type, 2.5))), ["2.50", "-2.50", "-2.50", "-2.50", "0.00", "0.00", "0.00"]);
  assert.equal(lineWords(line("credited", 1, "rf_1")), "Refund by Purser");
  assert.equal(lineWords(line("credited", 1, "new_1")), "Change credited");
});

test("the statement is read on for a filter that leaves few lines", async () => {
  const lines = Array.from({ length: 250 }, (_, at) => ({ ...(line(at % 100 === 0 ? "withdrawn" : "held", 1) as object), entry_id: `stl_${at}` }));
  const asked: string[] = [];
  Object.defineProperty(globalThis, "fetch", {
    configurable: true,
    value: async (path: string) => {
      asked.push(path);
      if (path.includes("/events")) return new Response(JSON.stringify({ events: EVENTS, next_before: null }));
      const query = new URL(path, "http://x").searchParams;
      const begin = query.get("starting_after") ? lines.findIndex((one) => one.entry_id === query.get("starting_after")) + 1 : 0;
      const limit = Number(query.get("limit"));
      return new Response(JSON.stringify({ entries: lines.slice(begin, begin + limit), has_more: lines.length > begin + limit }));
    },
  });
  const EVENTS = [{ seq: 9, type: "withdrawal.pending", created_at: "2026-11-22T09:41:00.000Z", data: { object: { id: "wd_1" } }, actor: { type: "api_key", api_key_name: "Courier", in_browser: false } }];
  const first = await statementSlice({}, "out", undefined, 2);
  const bought = new Bought();
  await bought.find(first.rows);
  assert.equal(bought.by(first.rows[0] as never), "Courier");
  assert.deepEqual(first.rows.map((one) => one.entry_id), ["stl_0", "stl_100"]);
  const second = await statementSlice({}, "out", first.next, 2);
  assert.deepEqual([second.rows.map((one) => one.entry_id), second.next], [["stl_200"], undefined]);
  assert.ok(asked.filter((path) => path.includes("statement")).every((path) => path.includes("order=desc")));

  const steps: number[] = [];
  const file = await exportCsv({}, (count) => steps.push(count), () => false);
  const text = (await file?.blob.text()) ?? "";
  assert.deepEqual([file?.lines, steps], [250, [100, 200, 250]]);
  assert.equal(text.trim().split("\r\n").length, 251);
  assert.match(text, /^.{0,2}time_utc,what,type,change_usd,amount_usd,balance_usd,held_usd,available_usd,product,product_id,cause,entry_id,by\r\n/);
  assert.match(text, /,On hold for a withdrawal,held,0\.00,1\.00,1\.00,0\.00,1\.00,,,wd_1,stl_1,Courier\r\n/);
  assert.equal(await exportCsv({}, () => {}, () => true), null);
});

test("lines of the agents’ wallet say who was paid, by which key, and what was received", async () => {
  const paid = (kind: string, host: string | null, note: string | null) => ({ kind, host, note, network: "base", pay_to: "0x1234567890123456789012345678901234567890", tx_hash: "0xab" });
  const own = { ...(line("debited", 5, "wpay_1") as object), wallet_payment: paid("x402", "route", null), api_key: { api_key_id: "key_1", name: "Courier" } };
  const sent = { ...(line("debited", 1, "wpay_2") as object), wallet_payment: paid("transfer", null, "=lunch") };
  const received = line("credited", 10, "0x1234567890123456789012345678901234567890");
  assert.deepEqual([own, sent, received].map((one) => lineWords(one as never)), ["Paid to Purser (this service)", "Transfer to 0x1234…7890", "Received on Base"]);
  assert.equal(lineWords(line("reversed", 1, "4Nd1mYQZ")), "Correction: less is on Solana");
  const asked: string[] = [];
  const card = { card_id: "card_1", card_type: "Non-Reloadable U.S.", usd_amount: 4.5, label: null, status: "ready" };
  Object.defineProperty(globalThis, "fetch", {
    configurable: true,
    value: async (path: string) => {
      asked.push(path);
      const payments = [{ payment_id: "pay_1", product: "usa_prepaid_card", product_id: "card_1", transaction: "0xAB", created_at: "2026-11-22T09:40:59.000Z", card }];
      return new Response(JSON.stringify(path.startsWith("/list-payments") ? { payments, has_more: false } : { entries: [own, sent, received], has_more: false }));
    },
  });
  const file = await exportCsv({ of: "agent_wallet" }, () => {}, () => false);
  const rows = ((await file?.blob.text()) ?? "").trim().split("\r\n");
  assert.match(asked[0] ?? "", /of=agent_wallet/);
  assert.match(rows[0] ?? "", /balance_usd,product,product_id,cause,entry_id,paid_to,address,network,transaction,agent,api_key_id,note$/);
  assert.match(rows[1] ?? "", /,\$4\.50 US card,debited,-5\.00,5\.00,1\.00,\$4\.50 US card,card_1,wpay_1,stl_debited,Purser \(this service\),0x1234567890123456789012345678901234567890,base,0xab,Courier,key_1,$/);
  assert.match(rows[2] ?? "", /,,,'=lunch$/);
  assert.match(rows[3] ?? "", /stl_credited,,,,,,,$/);
});

test("lines name what they are about: from the list of payments, read on for older lines, or one by one", async () => {
  const at = (minute: number) => `2026-11-22T09:${String(minute).padStart(2, "0")}:00.000Z`;
  const card = (id: string, status: string) => ({ card_id: id, card_type: "Non-Reloadable U.S.", usd_amount: 66, label: null, status });
  const gift = { card_id: "card_gift", card_type: "Gift Card", amount: 25, currency: "EUR", product_id: "gift_marche_lumiere_fr", status: "completed" };
  const payout = { payout_id: "po_1", product: "push_to_card", amount: 28.74, currency: "USD", card_last4: "4242", status: "failed" };
  const payment = (number: number, more: object) => ({ payment_id: `pay_${number}`, product: "usa_prepaid_card", product_id: null, transaction: `0x0${number}`, created_at: at(number), ...more });
  const pages: Record<string, object> = {
    "": { payments: [payment(40, { product_id: "card_1", card: card("card_1", "failed") }), payment(39, { status: "credited" })], has_more: true },
    pay_39: { payments: [payment(20, { product_id: "card_gift", gift_card: gift }), payment(19, { product_id: "po_1", payout })], has_more: true },
  };
  const asked: string[] = [];
  Object.defineProperty(globalThis, "fetch", {
    configurable: true,
    value: async (path: string) => {
      asked.push(path);
      const query = new URL(path, "http://x").searchParams;
      if (path.startsWith("/get-card-data")) return new Response(JSON.stringify(card("card_old", "closed")));
      const page = pages[query.get("starting_after") ?? ""];
      return page ? new Response(JSON.stringify(page)) : new Response(JSON.stringify({ code: "rate_limited", error: "Later." }), { status: 500 });
    },
  });
  const lines = [line("credited", 66, "card_1"), line("credited", 5, "pay_39"), line("credited", 3, "rf_20"), line("credited", 30, "po_1"), line("credited", 9, "card_old"), line("held", 1, "wd_1")] as never[];
  const bought = new Bought();
  await bought.find(lines.slice(0, 4));
  const words = (one: never) => lineWords(one, bought.of(one));
  assert.deepEqual(lines.slice(0, 4).map(words), ["Money back: $66.00 US card, not made", "Money back, it bought nothing: US card", "Refund by Purser: €25.00 Marche Lumiere gift card", "Money back: $28.74 payout to the debit card •••• 4242, refused"]);
  assert.equal(bought.of(lines[2] as never)?.page, "/dashboard/cards/card_gift");
  assert.deepEqual(asked.filter((path) => path.startsWith("/list-payments")).length, 2);

  // What can't be read has no name.
  await bought.find([...lines, line("credited", 1, "po_404")]);
  assert.equal(words(lines[5] as never), "On hold for a withdrawal");
  assert.equal(words(line("credited", 1, "po_404")), "Money back from a payout");
  // Older than the list: by its id.
  const late = new Bought();
  pages[""] = { payments: [], has_more: false };
  await late.find(lines.slice(4, 5));
  assert.equal(lineWords(lines[4] as never, late.of(lines[4] as never)), "Money back: $66.00 US card");
});

test("all purchases are those of every list, once, with who paid, and add up to the spending", async () => {
  const at = (minute: number) => `2026-11-22T09:${String(minute).padStart(2, "0")}:00.000Z`;
  const wallet = "0x1234567890123456789012345678901234567890";
  const card = { card_id: "card_1", card_type: "Non-Reloadable U.S.", usd_amount: 45, label: null, status: "ready" };
  const payment = (number: number, minute: number, payer: string, amount: number, receipt: object | null) => ({ payment_id: `pay_${number}`, product: "usa_prepaid_card", product_id: "card_1", card, transaction: `0x0${number}`, created_at: at(minute), payer, amount, receipt, status: receipt ? "fulfilled" : "declined", network: "eip155:8453" });
  const paid = (host: string | null, hash: string) => ({ kind: "x402", status: "settled", host, note: null, network: "base", from: wallet, pay_to: "0x9", tx_hash: hash });
  const entry = (id: string, minute: number, more: object) => ({ ...(line("debited", 1) as object), entry_id: id, created_at: at(minute), ...more });
  const ofWallet = [
    entry("ent_5", 31, { cause: "wpay_2", amount: 2.5, wallet_payment: paid("api.example.com:443", "0xcc") }),
    entry("ent_4", 21, { cause: "wpay_1", amount: 45.25, wallet_payment: paid("route", "0x02"), api_key: { api_key_id: "key_1", name: "Courier" } }),
    entry("ent_3", 20, { type: "credited", cause: wallet, amount: 100 }),
  ];
  const ofBalance = [entry("ent_2", 40, { type: "credited", cause: "card_1", amount: 5 }), entry("ent_1", 12, { type: "held", cause: "wd_1", amount: 4 }), entry("ent_0", 11, { type: "credited", cause: "dep_1", amount: 4 })];
  const payments = [payment(4, 50, "0xown", 1, null), { ...payment(3, 30, "0xown", 10, {}), api_key: { api_key_id: "key_2", name: "Larder" } }, payment(2, 20, wallet, 45.25, {}), payment(1, 1, "0xown", 7, {})];
  Object.defineProperty(globalThis, "fetch", {
    configurable: true,
    value: async (path: string) => {
      if (path.startsWith("/list-payments")) return new Response(JSON.stringify({ payments, has_more: false }));
      if (path.startsWith("/account/spending-sums")) return new Response(JSON.stringify({ sums: [{ spent: 57.75, credited: 5 }, { spent: 0, credited: 0 }] }));
      return new Response(JSON.stringify({ entries: path.includes("of=agent_wallet") ? ofWallet : ofBalance, has_more: false }));
    },
  });
  const period = { from: at(10), until: at(59) };
  const file = await exportPurchases(period, [wallet], () => {}, () => false);
  const rows = ((await file?.blob.text()) ?? "").trim().split("\r\n").slice(1).map((row) => row.split(","));
  assert.deepEqual(
    rows.map((row) => [row[1], row[2], row[5], row[7]]),
    [
      ["$45.00 US card", "0.00", "wallet 0xown", ""],
      ["Money back: $45.00 US card", "5.00", "to your balance", ""],
      ["Paid to api.example.com", "-2.50", "agents’ wallet", "an agent that signed in"],
      ["$45.00 US card", "-10.00", "wallet 0xown", "Larder"],
      ["$45.00 US card", "-45.25", "agents’ wallet", "Courier"],
    ],
  );
  const total = rows.reduce((all, row) => all + Math.round(Number(row[2]) * 100), 0);
  const sums = await readPurchaseSums(period);
  assert.equal(sums.inAll, "52.75");
  assert.equal(-total, 5_275);
  assert.equal(await exportPurchases(period, [wallet], () => {}, () => true), null);
  const without = await exportPurchases(period, [], () => {}, () => false);
  assert.equal(without?.lines, 4, "what the wallet paid elsewhere is only for its owner");
});

test("spending asks for the days of the person's zone, and takes off what was credited", async () => {
  const asked: string[] = [];
  Object.defineProperty(globalThis, "fetch", {
    configurable: true,
    value: async (path: string) => {
      const starts = new URL(path, "http://x").searchParams.get("starts")?.split(",") ?? [];
      asked.push(...starts);
      return new Response(JSON.stringify({ sums: starts.map((from, at) => ({ from, spent: at === 29 ? "7.50" : 0, credited: at === 29 ? 2 : 0 })) }));
    },
  });
  const now = new Date(2026, 10, 27, 18, 36).getTime();
  const spending = await loadSpending(now);
  assert.deepEqual([spending.days[0], spending.days.at(-1), spending.days.length], ["2026-10-29", "2026-11-27", 30]);
  assert.deepEqual([spending.amounts[0], spending.amounts.at(-1)], ["0.00", "5.50"]);
  assert.equal(spending.credited.at(-1), "2.00");
  assert.deepEqual([costWords("5.50", "2.00"), costWords("-98.80", "103.80")], ["$5.50", "$5.00, and $103.80 came back"]);
  assert.ok(asked.every((start) => new Date(start).getHours() === 0));
  assert.deepEqual(asked, asked.toSorted());
});

test("a period has whole days of the person's zone", () => {
  const november = monthPeriod("2026-11");
  assert.deepEqual([november.name, november.before], ["November 2026", "2026-10"]);
  assert.equal(new Date(november.period.from ?? "").getDate(), 1);
  const days = daysPeriod("2026-11-02", "2026-11-22");
  assert.deepEqual([new Date(days.period.from ?? "").getDate(), new Date(days.period.until ?? "").getDate()], [2, 23]);
});

const times = { created_at: "2026-11-22T09:41:00.000Z", last_updated_at: "2026-11-22T09:41:21.000Z" };
const is = (transfer: Parameters<typeof stopsOf>[0]) => stopsOf(transfer, timesOf(transfer, [])).map((stop) => stop.is);

test("a top-up from Solana has four stops, and one on Base three", () => {
  const topUp = (status: string, network: string, legs: object[] = []) => ofTopUp({ top_up_id: "top_1", status, funded_usd: 250, payment_network: network, legs, failure_code: null, payment_id: "pay_1", ...times } as never);
  assert.deepEqual(is(topUp("paid", "solana")), ["done", "now", "next", "next"]);
  assert.deepEqual(is(topUp("bridging", "solana")), ["done", "done", "now", "next"]);
  assert.deepEqual(is(topUp("credited", "solana")), ["done", "done", "done", "done"]);
  assert.deepEqual(is(topUp("delivered", "base")), ["done", "done", "now"]);
  assert.deepEqual(is(topUp("failed", "solana")), ["done", "fail", "done"]);
  assert.deepEqual(is(topUp("failed", "solana", [{ leg: "burn", tx_hash: "4EEC", at: times.created_at }])), ["done", "done", "fail", "done"]);
  assert.deepEqual(is({ ...topUp("paid", "base"), held: "held_frozen" }), ["done", "hold", "next"]);
});

test("of a top-up that was burned and not minted, the burn has its transaction and the credit its amount", () => {
  const legs = [{ leg: "burn", tx_hash: "4EEC", at: "2026-11-22T09:41:05.000Z" }];
  const topUp = ofTopUp({ top_up_id: "top_1", status: "failed", funded_usd: 21.07, payment_network: "solana", legs, failure_code: "mint_impossible", payment_id: "pay_1", ...times } as never);
  const shown = legsOf(topUp, null, stopsOf(topUp, timesOf(topUp, [])));
  assert.deepEqual(
    shown.map((leg) => [leg.name, leg.where, leg.is, leg.hash, leg.amount]),
    [
      ["Paid on Solana", "Solana", "done", null, 21.07],
      ["Burned on Solana", "Solana", "done", "4EEC", 21.07],
      ["Not minted on Base", "Base", "fail", null, 21.07],
      ["Back on your balance", "Purser", "done", null, 21.07],
    ],
  );
  assert.equal(shown[1]?.at, legs[0]?.at);
});

test("a top-up that takes longer than it should says so everywhere", () => {
  const one = { top_up_id: "top_1", status: "delivered", funded_usd: 21.09, payment_network: "base", legs: [], failure_code: null, payment_id: "pay_1", ...times };
  const made = Date.parse(times.created_at);
  const home = (topUp: object, now: number) => onWay({ topUps: [topUp as never], payouts: [], withdrawals: [], bank: [] }, [], now)[0];
  assert.deepEqual([troubleWord(ofTopUp(one as never), made + 60_000), home(one, made + 60_000)?.eta], [null, "usually under a minute"]);
  assert.deepEqual([troubleWord(ofTopUp(one as never), made + 3_600_000), home(one, made + 3_600_000)?.eta], ["Late", "takes longer than usual"]);
  const stuck = { ...one, needs_operator: true };
  const transfer = ofTopUp(stuck as never);
  assert.deepEqual([troubleWord(transfer, made + 3_600_000), home(stuck, made + 3_600_000)?.eta], ["Waits for a person", "waits for a person"]);
  assert.deepEqual([is(transfer), home(stuck, made)?.stops.map((stop) => stop.is)], [["done", "done", "hold"], ["done", "done", "hold"]]);
  assert.match(whereOf(transfer).next ?? "", /A person at Purser/);
  assert.equal(troubleWord(ofTopUp({ ...stuck, status: "credited" } as never), made + 3_600_000), null);
});

test("a withdrawal from the card balance that waits for more than a day is late", () => {
  const one = { id: "wd_1", status: "claimed", state: "pending", source: "card_balance", network: "base", amount: 30, ...times };
  const made = Date.parse(times.created_at);
  const said = (hours: number) => {
    const now = made + hours * 3_600_000;
    const shown = onWay({ topUps: [], payouts: [], withdrawals: [one as never], bank: [] }, [], now)[0];
    return [troubleWord(ofWithdrawal(one as never), now), shown?.eta, shown?.stops.some((stop) => stop.is === "hold")];
  };
  assert.deepEqual([said(23), said(25)], [[null, "within a day", false], ["Late", "late: over 24 h", true]]);
});

test("a payout or a withdrawal whose attempts have all failed says what a top-up says", () => {
  const on = (kind: "payouts" | "withdrawals", one: object) => onWay({ topUps: [], payouts: [], withdrawals: [], bank: [], [kind]: [one] }, [], 0)[0];
  const stuck = { needs_operator: true, amount: 25, ...times };
  const payout = { payout_id: "po_1", status: "queued", product: "bank_payment", currency: "USD", charged_usd_amount: 26.5, payment_id: "pay_1", ...stuck };
  const withdrawal = { id: "wd_1", state: "sent", source: "balance", network: "base", ...stuck };
  const ofCards = { ...withdrawal, source: "card_balance", state: "pending", status: "pending" };
  for (const [transfer, shown] of [[ofPayout(payout as never), on("payouts", payout)], [ofWithdrawal(withdrawal as never), on("withdrawals", withdrawal)], [ofWithdrawal(ofCards as never), on("withdrawals", ofCards)]] as const) {
    assert.deepEqual([troubleWord(transfer, 0), shown?.eta], ["Waits for a person", "waits for a person"], transfer.kind);
    assert.ok(is(transfer).includes("hold") && shown?.stops.some((stop) => stop.is === "hold"), transfer.kind);
    assert.match(whereOf(transfer).next ?? "", /A person at Purser/);
    // Its next event shows that it goes on.
    const goesOn = transfer.payout ? ofPayout({ ...transfer.payout, needs_operator: undefined, status: "in-process" } as never) : ofWithdrawal({ ...transfer.withdrawal, needs_operator: undefined } as never);
    delete (goesOn.payout ?? goesOn.withdrawal)?.needs_operator;
    assert.equal(troubleWord(updated(transfer, goesOn), 0), null, transfer.kind);
  }
});

test("payouts and withdrawals wait, move, end and come back", () => {
  const payout = (status: string, product: string) => ofPayout({ payout_id: "po_1", status, product, amount: 25, currency: "EUR", payment_id: "pay_1", ...times } as never);
  assert.deepEqual(is(payout("awaiting-details", "push_to_card")), ["done", "hold", "next", "next"]);
  assert.deepEqual(is(payout("queued", "push_to_card")), ["done", "done", "now", "next"]);
  assert.deepEqual(is(payout("in-process", "push_to_card")), ["done", "done", "done", "now"]);
  assert.deepEqual(is(payout("complete", "push_to_card")), ["done", "done", "done", "done"]);
  assert.deepEqual(is(payout("queued", "bank_payment")), ["done", "now", "next"]);
  assert.deepEqual(is(payout("complete", "app_payment")), ["done", "done", "done"]);
  assert.deepEqual(is(payout("returned", "bank_payment")), ["done", "fail", "done"]);
  const names = (product: string) => stopsOf({ ...payout("complete", product), payout: { ...payout("complete", product).payout, platform: "venmo" } as never }, new Map()).map((stop) => stop.name);
  assert.deepEqual(names("app_payment"), ["Paid", "Accepted by Venmo", "On their account"]);
  assert.deepEqual(names("bank_payment"), ["Paid", "Accepted by the bank", "On their bank account"]);
  const withdrawal = (state: string) => ofWithdrawal({ id: "wd_1", state, amount: 1, asset: "USDC", network: "base", address: "0x", ...times } as never);
  assert.deepEqual([is(withdrawal("pending")), is(withdrawal("sent")), is(withdrawal("complete"))], [["done", "now", "next"], ["done", "done", "now"], ["done", "done", "done"]]);
  assert.deepEqual([isOpen(withdrawal("sent")), isOpen(withdrawal("failed"))], [true, false]);
  const card = ofWithdrawal({ id: "wd_2", source: "card_balance", state: "pending", status: "claimed", amount: 3, network: "solana", ...times } as never);
  assert.deepEqual([card.kind, is(card)], ["card_withdrawal", ["done", "done", "now", "next"]]);
});

test("links to explorers are of real chains only, and links of providers are web addresses", () => {
  frame.sandbox.value = true;
  assert.equal(explorerUrl("0x1", "base"), null);
  frame.sandbox.value = false;
  assert.equal(explorerUrl("0x1", "eip155:8453"), "https://basescan.org/tx/0x1");
  assert.equal(explorerUrl("0x1", "eip155:84532"), "https://sepolia.basescan.org/tx/0x1");
  assert.equal(explorerUrl("abc", "solana"), "https://explorer.solana.com/tx/abc");
  assert.equal(webAddress("javascript:alert(1)"), null);
  assert.equal(webAddress("https://shop.example/r"), "https://shop.example/r");
  for (const good of ["https://check.example/r", "/sandbox/identity-check?token=1"]) assert.equal(checkAddress(good), good);
  for (const wrong of [null, "", "/", "//check.example", "/\\check.example", "javascript:alert(1)", "check"]) assert.equal(checkAddress(wrong), null);
  assert.equal(productWords("gift_marche_lumiere_fr"), "Marche Lumiere");
});

test("a transfer in each of its states says where the money is, and what is next until it is over", () => {
  const at = { created_at: "2026-11-27T10:00:00.000Z", last_updated_at: "2026-11-27T10:00:05.000Z" };
  const all = [
    ...["paid", "bridging", "delivered", "credited", "failed"].flatMap((status) => ["base", "solana"].map((payment_network) => ofTopUp({ ...at, status, payment_network, top_up_id: "top_1", funded_usd: 25, legs: [], payment_id: "pay_1" } as never))),
    ...["awaiting-details", "queued", "in-process", "complete", "failed", "cancelled", "expired", "returned"].flatMap((status) =>
      ["push_to_card", "bank_payment", "app_payment"].map((product) => ofPayout({ ...at, status, product, platform: "venmo", payout_id: "po_1", amount: 25, currency: "EUR", charged_usd_amount: 28.74, payment_id: "pay_1", credited_amount: status === "returned" ? 27 : 28.74 } as never)),
    ),
    ...["pending", "sent", "complete", "failed"].map((state) => ofWithdrawal({ ...at, state, id: "wd_1", amount: 25, network: "base", asset: "USDC", address: "0x1" } as never)),
    ...["pending", "queued", "claimed", "complete", "rejected", "failed"].map((status) => ofWithdrawal({ ...at, status, state: "pending", source: "card_balance", id: "wd_1", amount: 25, network: "base", asset: "USDC", address: "0x1" } as never)),
  ];
  for (const transfer of all) {
    const where = whereOf(transfer);
    const name = `${transfer.kind} ${transfer.status}`;
    assert.match(where.now, /^[A-Z$€].*\.$/s, `${name}: ${where.now}`);
    assert.ok(!/undefined|null|NaN|_/.test(where.now + (where.next ?? "")), `${name}: ${where.now}`);
    assert.equal(where.next !== null, isOpen(transfer), name);
    if (where.back) assert.match(where.now, /balance/, name);
    assert.equal(retryWords(transfer), null);
  }
  const burned = ofTopUp({ ...at, status: "bridging", payment_network: "solana", top_up_id: "top_1", funded_usd: 25, legs: [], payment_id: "pay_1" } as never);
  assert.match(whereOf({ ...burned, progress: { signed_again: 1, signed_at_most: 3, attested: true } }).next ?? "", /has attested/);
  assert.match(retryWords({ ...burned, progress: { signed_again: 2, signed_at_most: 3, attested: false } }) ?? "", /again 2 times.*3 times/s);
});

test("what is in another currency has the rate that it was bought at", () => {
  assert.equal(worthWords(25, "EUR", "28.74", "1.63"), "€25.00 for $27.11, at about 1.0844 USD for 1 EUR");
  assert.equal(worthWords("25.00", "USD", "26.50", "1.50"), "$25.00");
  assert.equal(worthWords("1000", "MXN", "57.1", 0), `${money("1000", "MXN")} for $57.10, at about 0.0571 USD for 1 MXN`);
});

test("a payment that the chain took back says so in the timeline of what it bought", () => {
  const payment = { payment_id: "pay_1", status: "fulfilled", amount: "13.06", asset: "USDC", network: "base", transaction: "0x1", ...times };
  const words = (status: string) => paidLines({ ...payment, status } as never).map((one) => `${one.text} ${one.at}`);
  assert.deepEqual(words("fulfilled"), [`Paid ${money("13.06", "USDC", { places: 6 })} on Base ${times.created_at}`]);
  assert.deepEqual(words("reversed"), [`Base took the payment of ${money("13.06", "USDC")} back ${times.last_updated_at}`, ...words("fulfilled")]);
});

test("an error below a field does not name the parameter of the API", () => {
  const wrong = (message: string, param: string) => new ApiFailure("parameter_invalid", message, undefined, param, 400);
  assert.deepEqual(fieldErrors(wrong("`address` is not an address on Base or Solana.", "address"), ["amount", "address"]), { address: "This is not an address on Base or Solana." });
  assert.deepEqual(fieldErrors(wrong("Too much.", "other"), ["amount"]), { form: "Too much." });
});

test("an approval names what it buys", () => {
  const bought = { route: "/order-gift-card", amount: "10.00", currency: null };
  assert.equal(boughtWords({ ...bought, product_id: "gift_quietshield_vpn_fr" }, "11.12"), "buy a Quietshield Vpn gift card for $11.12");
  assert.equal(boughtWords(bought, "11.12"), "buy a gift card for $11.12");
});

test("what a purchase cost in the end is exact and never below nothing", () => {
  assert.equal(costInTheEnd("51.50", "51.50"), "0.00");
  assert.equal(costInTheEnd(41.2, "1.203", "4.99"), "35.007");
  assert.equal(costInTheEnd("5.00", null, undefined), "5.00");
  assert.equal(costInTheEnd("5.00", "5.01"), "0");
});
