// Amounts stay exact texts, and every event has a sentence.

import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, decimal, less, money, share, sum, units } from "../parts/money";

test("amounts keep all their figures", () => {
  assert.equal(money("1284.06"), "$1,284.06");
  assert.equal(money("0.0001"), "$0.0001");
  assert.equal(money("-3.5", "EUR"), "−€3.50");
  assert.equal(money("3.5", "USD", { sign: true }), "+$3.50");
  assert.equal(money("250", "USDC", { places: 6 }), "250.000000 USDC");
  assert.equal(money("9007199254740993.01"), "$9,007,199,254,740,993.01");
  assert.equal(money("not a number"), "not a number");
  assert.equal(money(undefined), "–");
});

test("sums are exact", () => {
  assert.equal(sum("0.1", "0.2"), "0.30");
  assert.equal(sum("1.000001", undefined, "x"), "1.000001");
  assert.equal(less("1", "2.5"), "-1.50");
  assert.equal(compare("10", "9.99"), 1);
  assert.equal(compare("1.0", "1"), 0);
  assert.equal(decimal(units("5") ?? 0n), "5.00");
  assert.equal(share("40", "200"), 0.2);
  assert.equal(share("1", "0"), 0);
});
