// What happened, in sentences, newest first. Pages of older events are loaded on demand; new ones arrive by the stream.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Amount, Button, Empty, ErrorLine, type Said, Skeleton, StatusTag, type StreamEvent, Time, api, classes, day, dayKey, failure, now, onEvent, onGap, sentence, withQuery } from "../parts";

const PAGE = 60;
/** Events kept of a page that is open for long. Older ones are loaded again on demand. */
const KEPT = 2_000;

interface EventPage {
  events: StreamEvent[];
  next_before?: number | null;
}

/** The events of the account, or those of one resource type. */
export function useFeed({ types }: { types?: string } = {}) {
  const events = useSignal<StreamEvent[] | null>(null);
  const before = useSignal<number | null>(null);
  const fresh = useSignal<ReadonlySet<number>>(new Set());
  const error = useSignal<string | null>(null);
  const busy = useSignal(false);

  const load = async (older: boolean) => {
    busy.value = true;
    try {
      const page = await api.get<EventPage>(withQuery("/events", { order: "desc", limit: PAGE, types, before: older ? before.value : undefined }));
      const known = older ? (events.value ?? []) : [];
      events.value = [...known, ...page.events];
      before.value = page.next_before ?? null;
      error.value = null;
    } catch (thrown) {
      error.value = failure(thrown).said;
      events.value ??= [];
    } finally {
      busy.value = false;
    }
  };
  useEffect(() => {
    void load(false);
    const offEvent = onEvent(types ?? "*", (event) => {
      // Events come in order: one that is not newer than the newest is known.
      if (event.seq <= (events.value?.[0]?.seq ?? 0)) return;
      const kept = [event, ...(events.value ?? [])];
      if (kept.length > KEPT) {
        kept.length = KEPT;
        before.value = kept.at(-1)?.seq ?? null;
      }
      events.value = kept;
      fresh.value = new Set([event.seq, ...fresh.value].slice(0, PAGE));
    });
    const offGap = onGap(() => void load(false));
    return () => {
      offEvent();
      offGap();
    };
  }, [types]);
  return { events, before, fresh, error, busy, older: () => load(true) };
}

interface Line {
  event: StreamEvent;
  said: Said;
}

/** Sentences of events that are shown again each time another one arrives. */
const sentences = new WeakMap<StreamEvent, Said>();

function saidOf(event: StreamEvent): Said {
  let said = sentences.get(event);
  if (!said) {
    said = sentence(event);
    sentences.set(event, said);
  }
  return said;
}

/** One line for each thing that happened: of the steps of one purchase, only the last is shown. At most so many. */
export function lines(events: StreamEvent[], most: number): Line[] {
  const seen = new Set<string>();
  const found: Line[] = [];
  for (const event of events) {
    if (found.length === most) break;
    const said = saidOf(event);
    if (said.quiet || seen.has(said.thing)) continue;
    seen.add(said.thing);
    found.push({ event, said });
  }
  return found;
}

function LineRow({ line, isFresh }: { line: Line; isFresh: boolean }) {
  const { event, said } = line;
  return (
    <li class={classes(isFresh && "fresh")} data-type={event.type}>
      <div class="cell">
        <Time at={event.created_at} as="clock" class="at" />
        <div class="said">
          {said.who && <b>{said.who}</b>} {said.href ? <a href={said.href}>{said.text}</a> : said.text}
          {said.then && (
            <>
              {" "}
              <StatusTag tone={said.then.tone}>{said.then.word}</StatusTag>
            </>
          )}
        </div>
        <span class="number">
          {said.amount && (
            <Amount
              value={said.amount.moves === "out" ? `-${said.amount.value}` : said.amount.value}
              currency={said.amount.currency}
              sign={said.amount.moves === "in"}
              soft={said.amount.moves === "own"}
            />
          )}
        </span>
      </div>
    </li>
  );
}

export interface FeedProps {
  feed: ReturnType<typeof useFeed>;
  /** Lines at first. The button shows more. */
  first?: number;
  empty: { title: string; text: string };
}

export function Feed({ feed, first = 12, empty }: FeedProps) {
  const shown = useSignal(first);
  // One more than is shown tells whether there are more.
  const all = useComputed(() => (feed.events.value ? lines(feed.events.value, shown.value + 1) : null));
  const found = all.value;
  if (!found) return <Skeleton rows={7} label="Loading what happened" />;
  if (found.length === 0 && feed.error.value) {
    return (
      <div class="panel-body">
        <ErrorLine>{feed.error.value}</ErrorLine>
      </div>
    );
  }
  if (found.length === 0) {
    return (
      <Empty icon="agent" title={empty.title}>
        {empty.text}
      </Empty>
    );
  }
  const visible = found.slice(0, shown.value);
  const hasMore = found.length > visible.length || feed.before.value !== null;
  let last = "";
  return (
    <>
      <ol class="list feed">
        {visible.map((line) => {
          const key = dayKey(line.event.created_at);
          const heading = key === last ? null : day(line.event.created_at, now.peek());
          last = key;
          return (
            <>
              {heading && (
                <li class="day" key={`day ${key}`}>
                  <h3>{heading}</h3>
                </li>
              )}
              <LineRow key={line.said.thing} line={line} isFresh={feed.fresh.value.has(line.event.seq)} />
            </>
          );
        })}
      </ol>
      {hasMore && (
        <div class="panel-foot">
          <Button
            small
            kind="ghost"
            icon="down"
            busy={feed.busy.value}
            onClick={() => {
              shown.value += 30;
              if ((all.value?.length ?? 0) <= shown.value && feed.before.value !== null) void feed.older();
            }}
          >
            Earlier
          </Button>
        </div>
      )}
    </>
  );
}
