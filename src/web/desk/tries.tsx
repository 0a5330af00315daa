// The last tries of an endpoint: a bar for each, and the same in words.

import { useEffect, useRef, useState } from "preact/hooks";
import { Shade, Table, Time, api, withQuery } from "../parts";
import { Ticks, answerText, isAccepted } from "../parts/attempts";
import type { WebhookAttempt, WebhookDelivery } from "../api/operator";

/** A try, and the event that it was to deliver. */
export interface Try extends WebhookAttempt {
  type: string;
  seq: number;
}

const SHOWN = 24;

/** The last tries of these deliveries, the oldest first. */
export function lastTries(deliveries: WebhookDelivery[]): Try[] {
  const all = deliveries.flatMap(({ attempts, type, seq }) => attempts.map((one) => ({ ...one, type, seq })));
  return all.sort((one, other) => Date.parse(one.at) - Date.parse(other.at)).slice(-SHOWN);
}

/** `All 24 accepted`, `None of 3 accepted`, `20 of 24 accepted`. */
export function triesText(tries: Try[]): string {
  if (tries.length === 0) return "Not tried yet";
  const accepted = tries.filter(isAccepted).length;
  if (tries.length === 1) return accepted === 1 ? "Accepted at the only try" : "The only try failed";
  if (accepted === tries.length) return `All ${tries.length} accepted`;
  return `${accepted === 0 ? "None" : accepted} of ${tries.length} accepted`;
}

/** How often a delivery was tried, and what came back at last: `3 tries, the last: 500`. */
export function triedText({ attempt_count: count, attempts }: Pick<WebhookDelivery, "attempt_count" | "attempts">): string {
  const last = attempts.at(-1);
  if (!last) return "not tried yet";
  return count === 1 ? `1 try: ${answerText(last)}` : `${count.toLocaleString("en")} tries, the last: ${answerText(last)}`;
}

/** The time within which half of the accepted tries were answered, in milliseconds. */
export function halfWithin(tries: Try[]): number | null {
  const times = tries.filter(isAccepted).map((one) => one.duration_ms).sort((one, other) => one - other);
  return times[Math.ceil(times.length / 2) - 1] ?? null;
}

/** The words are beside it. */
const Bars = ({ tries }: { tries: Try[] }) => <Ticks ticks={tries.map((one) => (isAccepted(one) ? "done" : "bad"))} />;

/** The bars of an endpoint of a list. They are asked for once its row is seen. `row` is another when the list was read again. */
export function Tries({ id, row }: { id: string; row: unknown }) {
  const place = useRef<HTMLSpanElement>(null);
  const [tries, setTries] = useState<Try[] | null | undefined>(undefined);
  useEffect(() => {
    let wanted = true;
    const ask = () =>
      api.get<{ deliveries: WebhookDelivery[] }>(withQuery("/admin/webhooks/deliveries", { webhook_id: id, limit: SHOWN })).then(
        (page) => wanted && setTries(lastTries(page.deliveries)),
        () => wanted && setTries(null),
      );
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      void ask();
    });
    if (place.current) seen.observe(place.current);
    return () => {
      wanted = false;
      seen.disconnect();
    };
  }, [id, row]);
  const last = tries?.at(-1);
  return (
    <span class="tries" ref={place}>
      {tries === undefined ? (
        <Shade width="w-70" />
      ) : tries === null ? (
        <span class="small quiet">not read</span>
      ) : (
        <>
          <Bars tries={tries} />
          <span class="small soft">
            {triesText(tries)}
            {last && <span class="quiet">, last{last.status === null ? ":" : " answer"} {answerText(last)}</span>}
          </span>
        </>
      )}
    </span>
  );
}

/** The bars of one endpoint, with each try as text. */
export function TriesOf({ deliveries }: { deliveries: WebhookDelivery[] }) {
  const tries = lastTries(deliveries);
  if (tries.length === 0) return null;
  const half = halfWithin(tries);
  return (
    <div class="panel-body">
      <span class="tries">
        <Bars tries={tries} />
        <span class="small soft">
          {triesText(tries)}
          {half !== null && `, half of them within ${half.toLocaleString("en")} ms`}. A high bar is a try that was accepted, a short one a try that failed.
        </span>
      </span>
      <details class="as-table below">
        <summary>
          Show as a table<span class="only-read">: last tries</span>
        </summary>
        <div class="as-table-box" tabIndex={0} role="region" aria-label="Last tries, as a table">
          <Table
            tight
            caption="Last tries, the newest first"
            rows={[...tries].reverse()}
            rowKey={(one) => `${one.at} ${one.seq}`}
            columns={[
              { title: "At", cell: (one) => <Time at={one.at} as="seconds" /> },
              { title: "Event", cell: (one) => <span class="mono small">{one.type}</span> },
              { title: "Answer", cell: (one) => <span class="anywhere">{`${isAccepted(one) ? "accepted, " : "failed, "}${answerText(one)}`}</span> },
              { title: "Took", number: true, cell: (one) => `${one.duration_ms.toLocaleString("en")} ms` },
            ]}
          />
        </div>
      </details>
    </div>
  );
}
