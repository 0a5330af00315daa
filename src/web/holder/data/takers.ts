// Who took from the balance: the lines of the statement don't say it, and the events of withdrawals and payouts do.

import { type StreamEvent, actorOf, api, thingOf, withQuery } from "../../parts";
import type { Line } from "./statement";

const TAKEN = ["withdrawal.pending", "payout.queued", "bank_transfer.pending"];
/** An event and its line are written at once, but each with its own time. */
const BESIDE_MS = 60_000;

const isTaken = (line: Line): boolean => /^(wd|po|btr)_/.test(line.cause) && line.type !== "credited" && line.type !== "released";

/** By the id of the withdrawal, payout or transfer, as far back as the service keeps events. It remembers how far it has read. */
export class Takers {
  readonly #found = new Map<string, string>();
  #before: number | undefined;
  #oldest = Infinity;
  #ended = false;

  of(line: Line): string | undefined {
    return isTaken(line) ? this.#found.get(line.cause) : undefined;
  }

  async find(lines: Line[], ask: <T>(read: () => Promise<T>) => Promise<T>): Promise<void> {
    const since = Math.min(...lines.filter((line) => isTaken(line) && !this.#found.has(line.cause)).map((line) => Date.parse(line.created_at))) - BESIDE_MS;
    while (!this.#ended && since !== Infinity && this.#oldest > since) {
      const page = await ask(() => api.get<{ events: StreamEvent[]; next_before?: number | null }>(withQuery("/events", { order: "desc", limit: 100, types: TAKEN.join(","), before: this.#before })));
      for (const event of page.events) {
        const id = thingOf(event.data.object);
        const who = actorOf(event);
        if (id && who) this.#found.set(id, who);
      }
      const last = page.events.at(-1);
      this.#before = page.next_before ?? undefined;
      this.#oldest = last ? Date.parse(last.created_at) : this.#oldest;
      this.#ended = this.#before === undefined;
    }
  }
}
