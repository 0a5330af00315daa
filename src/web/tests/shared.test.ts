// One tab has the connection: another gets it when that one closes or no longer answers.

import "./browser";
import assert from "node:assert/strict";
import { test } from "node:test";

interface Request {
  held: () => Promise<void>;
  fail: (why: Error) => void;
}

/** Locks of one name, as browsers have them. */
class FakeLocks {
  holder: Request | null = null;
  waiting: Request[] = [];

  request(_name: string, { steal }: { steal: boolean }, held: () => Promise<void>): Promise<void> {
    return new Promise((done, fail) => {
      const request = {
        held: () => held().then(() => {
          done();
          if (this.holder === request) this.next();
        }),
        fail,
      };
      if (steal) {
        const before = this.holder;
        this.hold(request);
        before?.fail(new Error("stolen"));
      } else if (this.holder) this.waiting.push(request);
      else this.hold(request);
    });
  }

  hold(request: Request): void {
    this.holder = request;
    void request.held();
  }

  next(): void {
    this.holder = null;
    const next = this.waiting.shift();
    if (next) this.hold(next);
  }
}

Object.defineProperty(globalThis, "navigator", { value: { locks: new FakeLocks() }, configurable: true });
const { share } = await import("../desk/shared");
const pause = (ms = 20) => new Promise((done) => setTimeout(done, ms));

function tab(name: string, log: string[]) {
  return share("desk", {
    lead: () => log.push(`${name} leads`),
    resign: () => log.push(`${name} resigns`),
    hear: (message) => log.push(`${name} hears ${String(message)}`),
  });
}

test("one tab leads, and the next one when it closes or is silent", async () => {
  const log: string[] = [];
  const [first, second, third] = [tab("first", log), tab("second", log), tab("third", log)];
  await pause();
  assert.deepEqual(log.splice(0), ["first leads"]);
  first.send("news");
  await pause();
  assert.deepEqual(log.splice(0).sort(), ["second hears news", "third hears news"]);
  first.close();
  await pause();
  assert.deepEqual(log.splice(0), ["second leads"]);
  assert.deepEqual([first.leads(), second.leads(), third.leads()], [false, true, false]);
  third.take();
  await pause();
  assert.deepEqual(log.splice(0).sort(), ["second resigns", "third leads"]);
  third.close();
  await pause();
  assert.ok(log.includes("second leads"));
  second.close();
  await pause();
});

test("a browser without locks has a connection in each tab", async () => {
  Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
  const log: string[] = [];
  const tabs = [tab("first", log), tab("second", log)];
  await pause();
  assert.deepEqual(log.sort(), ["first leads", "second leads"]);
  assert.ok(tabs.every((one) => one.leads()));
});
