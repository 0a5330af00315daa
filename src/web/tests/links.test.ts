// Addresses that providers and agents set lead to pages, and run nothing.

import "./browser";
import assert from "node:assert/strict";
import { test } from "node:test";
import { safeHref } from "../parts/button";

test("an address that would run a script is dropped", () => {
  for (const good of ["/dashboard/cards", "https://example.com/x?y=1", "mailto:help@example.com", "#main"]) assert.equal(safeHref(good), good);
  for (const bad of ["javascript:alert(1)", " javascript:alert(1)", "JAVASCRIPT:alert(1)", "data:text/html,<script>", "vbscript:x", "http://["]) assert.equal(safeHref(bad), undefined, bad);
});
