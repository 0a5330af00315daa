// Events of the past: the newest first, within what the service keeps.

import { type StreamEvent, api, withQuery } from "../../parts";

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
