// Webhooks: the account's endpoints, their deliveries with every attempt, and sending again.

import { useState } from "preact/hooks";
import { Avatar, Button, Check, Confirm, CopyLine, Dialog, Empty, Field, Id, Note, Panel, Segments, Skeleton, Status, StatusTag, Table, Time, failure, fieldErrors, now, setQuery, span, toast, useRoute, present } from "../parts";
import type { Webhook, WebhookAttempt, WebhookDelivery } from "../api/public";
import { mayAct } from "./account";
import { useLoad, usePages } from "./data/load";
import { type DeliveryState, EVENT_GROUPS, deleteWebhook, deliveriesSlice, readWebhooks, redeliver, redeliverSince, registerWebhook } from "./data/webhooks";
import { count } from "./data/words";
import { LoadError, NoMatch, Pager } from "./pager";
import { type Tick, Ticks, answerText, isAccepted } from "../parts/attempts";

export function Webhooks() {
  const { query } = useRoute();
  const shown = query.get("endpoint");
  const hooks = useLoad("webhooks", readWebhooks, { types: ["webhook.*"] });
  const [adding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<Webhook | null>(null);
  return (
    <Panel
      id="webhooks"
      title="Webhooks"
      aside={
        <Button small icon="plus" decides disabled={!mayAct.value} onClick={() => setAdding(true)}>
          Add an endpoint
        </Button>
      }
    >
      {hooks.error && !hooks.data ? (
        <LoadError error={hooks.error} what="your webhooks" retry={hooks.reload} />
      ) : hooks.data === undefined ? (
        <Skeleton rows={2} label="Loading webhooks" />
      ) : hooks.data.length === 0 ? (
        <Empty icon="webhook" title="No endpoints">
          An endpoint is an address of your own server. Purser posts each event of the account to it, signed, and tries again for three days.
        </Empty>
      ) : (
        <ul class="list">
          {hooks.data.map((hook) => (
            <li key={hook.webhook_id}>
              <div class="cell ask">
                <Avatar name="webhook" icon="webhook" large />
                <div>
                  <b class="anywhere">{hook.url}</b>
                  <p class="small quiet">
                    {hook.types.length === 0 || hook.types.includes("*") ? "All events" : hook.types.join(", ")}
                    {hook.failing_since && (
                      <>
                        {" "}
                        · failing for {span((now.value - Date.parse(hook.failing_since)) / 1_000)}
                      </>
                    )}
                  </p>
                  <div class="row wrap">
                    <HookState hook={hook} />
                    <LastDeliveries hook={hook} />
                  </div>
                </div>
                <div class="acts">
                  <Button small pressed={shown === hook.webhook_id} onClick={() => setQuery({ endpoint: shown === hook.webhook_id ? undefined : hook.webhook_id })}>
                    Deliveries
                  </Button>
                  <Button small kind="danger" disabled={!mayAct.value} label={`Delete ${hook.url}`} onClick={() => setDeleting(hook)}>
                    Delete…
                  </Button>
                </div>
              </div>
              {shown === hook.webhook_id && <Deliveries hook={hook} />}
            </li>
          ))}
        </ul>
      )}
      {adding && <AddEndpoint onClose={() => setAdding(false)} then={hooks.reload} />}
      {deleting && <DeleteEndpoint hook={deleting} onClose={() => setDeleting(null)} then={hooks.reload} />}
    </Panel>
  );
}

function HookState({ hook }: { hook: Webhook }) {
  if (hook.status === "disabled") {
    return <StatusTag tone="bad">{hook.disabled_reason === "gone" ? "Off: it answered that it is gone" : "Off: it failed for five days"}</StatusTag>;
  }
  return hook.failing_since ? <StatusTag tone="wait">Failing, tried again</StatusTag> : <StatusTag tone="done">Delivering</StatusTag>;
}

const tickOf = ({ status }: WebhookDelivery): Tick => (status === "delivered" ? "done" : status === "pending" ? "wait" : "bad");

/** How many deliveries an endpoint shows. */
const LAST = 24;

/** How the last deliveries of an endpoint stand, and its last answer. */
function LastDeliveries({ hook }: { hook: Webhook }) {
  const last = useLoad(`last deliveries ${hook.webhook_id}`, () => deliveriesSlice(hook.webhook_id, "all", undefined, LAST), { types: ["webhook.*"] });
  const rows = last.data?.rows ?? [];
  if (rows.length === 0) return null;
  const ticks = rows.map(tickOf).reverse();
  const of = (tick: Tick) => ticks.filter((one) => one === tick).length;
  const answer = rows.flatMap((row) => row.attempts).reduce<WebhookAttempt | null>((newest, one) => (newest === null || one.at > newest.at ? one : newest), null);
  return (
    <>
      <Ticks ticks={ticks} label={`The last ${count(rows.length, "delivery", "deliveries")}: ${of("done")} delivered, ${of("wait")} tried again, ${of("bad")} not delivered`} />
      {answer && (
        <span class="small quiet">
          last answer {answerText(answer)}, <Time at={answer.at} />
        </span>
      )}
    </>
  );
}

function AddEndpoint({ onClose, then }: { onClose: () => void; then: () => void }) {
  const [url, setUrl] = useState("https://");
  const [all, setAll] = useState(true);
  const [groups, setGroups] = useState<string[]>([]);
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [secret, setSecret] = useState<string | null>(null);
  const add = async () => {
    if (!/^https?:\/\/[^/]+/.test(url.trim())) {
      setErrors({ url: "Enter an address that begins with https://." });
      return;
    }
    if (!all && groups.length === 0) {
      setErrors({ form: "Choose at least one kind of event, or all." });
      return;
    }
    setBusy(true);
    try {
      const made = await registerWebhook(url.trim(), all ? null : groups);
      then();
      if (made.secret) setSecret(made.secret);
      else onClose();
    } catch (thrown) {
      // Its message names a setting, which is nothing for the owner.
      const { code, hint } = failure(thrown);
      setErrors(code === "webhook_url_not_allowed" ? { url: `This service cannot call this URL. ${hint ?? ""}` } : fieldErrors(thrown, ["url", "types"]));
    }
    setBusy(false);
  };
  if (secret !== null) {
    return (
      <Dialog title="The endpoint is added" onClose={onClose} actions={<Button kind="primary" onClick={onClose}>I have stored it</Button>}>
        <p>This secret checks that an event is from Purser. It is shown only now. A test event is on its way.</p>
        <CopyLine text={secret} what="Secret" />
        <Note tone="info" title="If it gets lost">
          Add the same address again. It gets a new secret, and the old one works for another day.
        </Note>
      </Dialog>
    );
  }
  return (
    <Confirm title="Add an endpoint" action="Add endpoint" busy={busy} error={errors.form ?? errors.types ?? null} onConfirm={() => void add()} onClose={onClose}>
      <Field label="Address" type="url" value={url} onChange={(value) => { setUrl(value); setErrors({}); }} error={errors.url} hint="A public address. The same address again replaces its secret and its events." />
      <Check checked={all} onChange={setAll}>
        All events
      </Check>
      {!all && (
        <fieldset class="chips">
          <legend class="small quiet">Events</legend>
          {EVENT_GROUPS.map((group) => (
            <Check key={group} checked={groups.includes(group)} onChange={(on) => setGroups(on ? [...groups, group] : groups.filter((one) => one !== group))}>
              <span class="mono small">{group}</span>
            </Check>
          ))}
        </fieldset>
      )}
    </Confirm>
  );
}

function DeleteEndpoint({ hook, onClose, then }: { hook: Webhook; onClose: () => void; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const remove = async () => {
    setBusy(true);
    try {
      await deleteWebhook(hook.webhook_id);
      onClose();
      then();
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
  };
  return (
    <Confirm title="Delete this endpoint?" action="Delete endpoint" danger busy={busy} error={error} onConfirm={() => void remove()} onClose={onClose}>
      <p class="anywhere">{hook.url}</p>
      <p>Nothing more is posted to it, what waits is dropped, and its secret is destroyed. The address can be added again, with a new secret.</p>
    </Confirm>
  );
}

const STATES: { value: DeliveryState; text: string }[] = [
  { value: "all", text: "All" },
  { value: "pending", text: "Waiting" },
  { value: "delivered", text: "Delivered" },
  { value: "failed", text: "Gave up" },
  { value: "dropped", text: "Dropped" },
];

const PAGE = 20;

function Deliveries({ hook }: { hook: Webhook }) {
  const [state, setState] = useState<DeliveryState>("all");
  const [again, setAgain] = useState(false);
  const list = usePages<WebhookDelivery, string>(`deliveries ${hook.webhook_id} ${state}`, (after) => deliveriesSlice(hook.webhook_id, state, after, PAGE), { types: ["webhook.*"], after: () => "reload" });
  return (
    <section class="deliveries" aria-label={`Deliveries to ${hook.url}`}>
      <div class="row wrap between deliveries-head">
        <Segments label="State of the delivery" options={STATES} value={state} onChange={setState} />
        <span class="row wrap">
          <Button small icon="again" busy={list.loading && list.data !== undefined} onClick={list.reload}>
            Look again
          </Button>
          <Button small decides disabled={!mayAct.value} onClick={() => setAgain(true)}>
            Send missed events…
          </Button>
        </span>
      </div>
      {list.error && <LoadError error={list.error} what="the deliveries" retry={list.reload} />}
      {list.data === undefined ? (
        !list.error && <Skeleton rows={3} label="Loading deliveries" />
      ) : list.data.length === 0 ? (
        state === "all" ? (
          <Empty icon="inbox" title="Nothing delivered yet">
            The next event of a chosen kind is posted within a second.
          </Empty>
        ) : (
          <NoMatch clear={() => setState("all")}>No delivery is in this state.</NoMatch>
        )
      ) : (
        <ul class="list">
          {list.data.map((one) => (
            <DeliveryRow key={one.delivery_id} one={one} then={list.reload} />
          ))}
        </ul>
      )}
      <Pager what="deliveries" {...list} />
      {again && <SendSince hook={hook} onClose={() => setAgain(false)} then={list.reload} />}
    </section>
  );
}

const DROPPED: Record<string, string> = { endpoint_disabled: "the endpoint was off", endpoint_deleted: "the endpoint was deleted", event_expired: "the event was too old" };

function DeliveryRow({ one, then }: { one: WebhookDelivery; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    try {
      await redeliver(one);
      toast("It is sent again.");
      then();
    } catch (thrown) {
      toast(failure(thrown).said);
    }
    setBusy(false);
  };
  const last = one.attempts.at(-1);
  return (
    <li>
      <div class="cell delivery">
        <div>
          <b class="mono small">{one.type}</b>
          <p class="small quiet">
            <Time at={one.created_at} /> · {count(one.attempt_count, "attempt")}
            {last && `, last answer ${answerText(last)}`}
            {one.next_attempt_at && one.status === "pending" && (
              <>
                , next <Time at={one.next_attempt_at} />
              </>
            )}
            {one.dropped_reason && `, ${DROPPED[one.dropped_reason] ?? one.dropped_reason}`}
          </p>
        </div>
        {one.attempts.length > 0 && <Ticks ticks={one.attempts.map((attempt) => (isAccepted(attempt) ? "done" : "bad"))} label={`Answers: ${one.attempts.map(answerText).join(", ")}`} />}
        {one.status === "dropped" ? <StatusTag tone="off">Dropped</StatusTag> : <Status kind="delivery" value={one.status} />}
        <Button small icon="again" busy={busy} disabled={!mayAct.value} label={`Send ${one.type} again`} onClick={() => void send()} />
      </div>
      {one.attempts.length > 0 && (
        <details class="as-table attempts-box">
          <summary>Attempts</summary>
          <Table
            tight
            caption={`Attempts to deliver ${one.type}, the oldest first`}
            rows={one.attempts}
            rowKey={(attempt) => attempt.at}
            columns={[
              { title: "At", cell: (attempt) => <Time at={attempt.at} as="full" class="quiet" /> },
              {
                title: "Answer",
                fold: "whole",
                cell: (attempt) => (
                  <span class="anywhere">
                    <b>{answerText(attempt)}</b> {attempt.response_excerpt && <code class="soft">{attempt.response_excerpt}</code>}
                  </span>
                ),
              },
              { title: "Took", number: true, cell: (attempt) => <span class="quiet">{attempt.duration_ms.toLocaleString("en")} ms</span> },
            ]}
          />
          <p class="small quiet row wrap">
            <Id value={one.delivery_id} what="delivery id" />
            <Id value={one.event_id} />
          </p>
        </details>
      )}
    </li>
  );
}

function SendSince({ hook, onClose, then }: { hook: Webhook; onClose: () => void; then: () => void }) {
  const yesterday = new Date(present() - 86_400_000);
  const [day, setDay] = useState(`${yesterday.getFullYear()}-${String(yesterday.getMonth() + 1).padStart(2, "0")}-${String(yesterday.getDate()).padStart(2, "0")}`);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const send = async () => {
    const from = new Date(`${day}T00:00:00`);
    if (Number.isNaN(from.getTime())) {
      setError("Choose a day.");
      return;
    }
    setBusy(true);
    try {
      await redeliverSince(hook.webhook_id, from.toISOString());
      onClose();
      toast("What it missed is sent again.");
      then();
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
  };
  return (
    <Confirm title="Send missed events again" action="Send again" busy={busy} onConfirm={() => void send()} onClose={onClose}>
      <p>All events since the beginning of this day that the endpoint has not received: failed, dropped, or while it was off. What it has is not sent twice.</p>
      <Field label="Since" type="date" value={day} onChange={(value) => { setDay(value); setError(null); }} error={error} hint="Events are kept for 30 days." />
    </Confirm>
  );
}
