// Amounts survive JSON to the last figure, in both directions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Exact, parseExact, writeExact } from "../parts/json";

test("amounts of an answer are texts, whole numbers stay numbers", () => {
  assert.deepEqual(parseExact('{"amount":6.66,"seq":1795773344946352,"usd":20,"name":"6.66"}'), { amount: "6.66", seq: 1795773344946352, usd: 20, name: "6.66" });
});

test("amounts of a body are the numbers that were typed", () => {
  assert.equal(writeExact({ amount: new Exact("25.50"), note: 'he said "0"' }), '{"amount":25.50,"note":"he said \\"0\\""}');
  assert.equal(writeExact({ amount: new Exact("007.10") }), '{"amount":7.10}');
  let refused = false;
  try {
    new Exact("1e9");
  } catch {
    refused = true;
  }
  assert.ok(refused);
});
