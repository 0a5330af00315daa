// Events of the past: the newest first, within what the service keeps.

import { type StreamEvent, api, begunBy, withQuery } from "../../parts";
import type { Paid } from "./cards";

export interface PastEvent extends StreamEvent {
  /** Arrived while the page was open. */
  fresh?: boolean;
}

interface EventPage {
  events: PastEvent[];
  has_more: boolean;
  next_before?: number | null;
}

/** Requests for one thing's history. Older events of a busy account stay unread. */
const MAX_PAGES = 5;

/** Events of these types about one thing, newest first, back to its creation. */
export async function readEvents({ types, since, about }: { types: string[]; since: string; about: (object: Record<string, unknown>) => boolean }): Promise<PastEvent[]> {
  const found: PastEvent[] = [];
  let before: number | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await api.get<EventPage>(withQuery("/events", { order: "desc", limit: 100, types: types.join(","), before }));
    found.push(...page.events.filter((event) => about(event.data.object)));
    const last = page.events.at(-1);
    if (!page.has_more || !page.next_before || (last && last.created_at < since)) break;
    before = page.next_before;
  }
  return found;
}

/** The agents’ wallet signs a payment before it is a payment of the account. */
const SIGNED_BEFORE_MS = 60_000;

/** Who made a payment from the agents’ wallet, as far back as the service keeps events. */
export async function readBuyer({ payment_id, created_at }: Paid): Promise<string | null> {
  const since = new Date(Date.parse(created_at) - SIGNED_BEFORE_MS).toISOString();
  const events = await readEvents({ types: ["wallet_payment.*", "payment.*"], since, about: () => true });
  return begunBy(events).who.get(payment_id) ?? null;
}
