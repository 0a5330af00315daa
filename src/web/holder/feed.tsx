// What happened, in sentences, newest first. Pages of older events are loaded on demand; new ones arrive by the stream.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Amount, Button, type Charge, Empty, ErrorLine, type Said, Skeleton, StatusTag, type StreamEvent, Time, api, begunBy, classes, day, dayKey, failure, now, onEvent, onGap, sentence, thingOf, withBeginning, withQuery } from "../parts";
import { account, mayAct } from "./account";

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

const CHARGE = /\.(charged|charge_\w+)$/;
/** A burst of charges loads their shops once. */
const PAUSE_MS = 1_000;

/** The charges of the account's cards, once the list has an event of one. Events don't name the shop. */
function useCharges(events: StreamEvent[] | null): Charge[] {
  const charges = useSignal<Charge[]>([]);
  const newest = events?.find((event) => CHARGE.test(event.type))?.seq;
  useEffect(() => {
    if (newest === undefined) return undefined;
    const timer = setTimeout(
      () =>
        void api.get<{ transactions: Charge[] }>("/list-card-transactions?limit=100").then(
          (read) => {
            charges.value = read.transactions;
          },
          // Without it the lines say “A shop”.
          () => {},
        ),
      charges.peek().length === 0 ? 0 : PAUSE_MS,
    );
    return () => clearTimeout(timer);
  }, [newest]);
  return charges.value;
}

/** Names of those who were paid, once the list has a payout to somebody. Events have only ids. */
function useNames(events: StreamEvent[] | null): ReadonlyMap<string, string> | undefined {
  const names = useSignal<ReadonlyMap<string, string> | undefined>(undefined);
  const newest = events?.find(({ type, data: { object } }) => type.startsWith("payout.") && (object.destination_id || object.recipient_id))?.data.object;
  const payee = mayAct.value ? String(newest?.destination_id ?? newest?.recipient_id ?? "") : "";
  useEffect(() => {
    if (!payee || names.peek()?.has(payee)) return;
    void import("./data/people")
      .then((file) => file.readNames())
      .then(
        (read) => {
          names.value = read;
        },
        // Without it the lines name no recipient.
        () => {},
      );
  }, [payee]);
  return names.value;
}

/** The payments from the agents' wallet that bought something here: the line of what they bought has them. */
function ofPurchases(events: StreamEvent[]): Set<string> {
  const bought = new Set(events.filter((event) => event.type === "payment.fulfilled").map((event) => event.data.object.transaction));
  const found = new Set<string>();
  for (const event of events) {
    const { tx_hash, wallet_payment_id } = event.data.object;
    if (event.type === "wallet_payment.settled" && tx_hash && bought.has(tx_hash)) found.add(String(wallet_payment_id));
  }
  return found;
}

/** One line for each thing that happened: of the steps of one purchase, only the last is shown. */
export function lines(events: StreamEvent[], ours: string[] = [], charges: Charge[] = [], names?: ReadonlyMap<string, string>): Line[] {
  const seen = new Set<string>();
  const found: Line[] = [];
  const begun = begunBy(events, ours, charges, names);
  const told = ofPurchases(events);
  for (const event of events) {
    if (event.type.startsWith("wallet_payment.") && told.has(thingOf(event.data.object) ?? "")) continue;
    const said = sentence(withBeginning(event, begun));
    if (seen.has(said.thing)) continue;
    // A quiet step ends the earlier ones too: a settled payment is no longer unknown.
    seen.add(said.thing);
    if (!said.quiet) found.push({ event, said });
  }
  return found;
}

const readOut = ({ said }: Line): string => [said.who, said.text, said.then?.word].filter(Boolean).join(" ");

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
  const charges = useCharges(feed.events.value);
  const names = useNames(feed.events.value);
  const addresses = Object.values(account.value?.agent_wallet?.addresses ?? {}).join(" ");
  const found = useMemo(() => (feed.events.value ? lines(feed.events.value, addresses.split(" "), charges, names) : null), [feed.events.value, addresses, charges, names]);
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
      {/* Without it, what appears above is only seen. */}
      <p class="only-read" role="status">
        {visible[0] && feed.fresh.value.has(visible[0].event.seq) && readOut(visible[0])}
      </p>
      {hasMore && (
        <div class="panel-foot">
          <Button
            small
            kind="ghost"
            icon="down"
            busy={feed.busy.value}
            onClick={() => {
              shown.value += 30;
              if (shown.value > found.length && feed.before.value !== null) void feed.older();
            }}
          >
            Earlier
          </Button>
        </div>
      )}
    </>
  );
}
