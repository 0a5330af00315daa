// Who is signed in: browsers and agents, each of which can be ended.

import { useState } from "preact/hooks";
import { Avatar, Button, Confirm, Empty, Id, Panel, Skeleton, Time, failure, short, toast } from "../parts";
import { account, mayAct } from "./account";
import { isAbsent, useLoad } from "./data/load";
import { type Session, endSession, readSessions } from "./data/settings";
import { count } from "./data/words";
import { LoadError } from "./pager";

/** How it began, in words. A browser session comes from the link of another session. */
function howWords(session: Session): string {
  if (session.opened_by === "passkey") return "Opened with a passkey";
  if (session.kind === "browser") return session.opened_by === "payment" ? "Opened by a link of a payment, can only look" : "Opened by a link";
  if (session.opened_by === "payment") return "Came with a payment";
  if (session.opened_by === "api_key") return "API key";
  return "Signed in with the wallet";
}

const isBrowser = (session: Session): boolean => session.kind === "browser";

const keyName = (session: Session): string | undefined => account.value?.api_keys?.find((key) => key.api_key_id === session.api_key_id)?.name;

export function sessionName(session: Session): string {
  if (session.current) return "This browser";
  if (session.agent?.name) return session.agent.name;
  return keyName(session) ?? (isBrowser(session) ? "A browser" : session.opened_by === "payment" ? "A payment" : "An agent");
}

/** This browser, other browsers, agents, and the sessions of payments, of which there can be many. */
const rank = (session: Session): number => (session.current ? 0 : isBrowser(session) ? 1 : session.opened_by === "payment" ? 3 : 2);

/** More than these are shown on demand. */
const FIRST = 6;

/** A purchase leaves a session with whoever made it. An hour of purchases has many, so they are shown on demand. */
const isOfPayment = (session: Session): boolean => session.opened_by === "payment" && !isBrowser(session) && !session.current;

export function Sessions({ title }: { title: string }) {
  const sessions = useLoad("sessions", readSessions, { types: ["session.*", "api_key.*"] });
  const [ending, setEnding] = useState<Session | null>(null);
  const [all, setAll] = useState(false);
  const sorted = [...(sessions.data ?? [])].sort((a, b) => rank(a) - rank(b));
  const ofPayments = sorted.filter(isOfPayment);
  const first = sorted.filter((one) => !isOfPayment(one)).slice(0, FIRST);
  const shown = all ? sorted : first;
  const [endingAll, setEndingAll] = useState(false);
  if (isAbsent(sessions.error)) return null;
  if (sessions.error?.code === "sign_in_required") return null;
  return (
    <Panel
      id="sessions"
      title={title}
      foot={
        sorted.length > first.length && (
          <>
            <Button small onClick={() => setAll(!all)}>
              {all ? "Show fewer" : `Show all ${sorted.length}`}
            </Button>
            {ofPayments.length > 1 && (
              <Button small kind="ghost" disabled={!mayAct.value} onClick={() => setEndingAll(true)}>
                Sign out {count(ofPayments.length, "payment")}
              </Button>
            )}
          </>
        )
      }
    >
      {sessions.error && !sessions.data ? (
        <LoadError error={sessions.error} what="the sessions" retry={sessions.reload} />
      ) : sessions.data === undefined ? (
        <Skeleton rows={3} label="Loading sessions" />
      ) : sessions.data.length === 0 ? (
        <Empty icon="people" title="Nobody else is signed in">
          Agents and browsers that sign in are listed here.
        </Empty>
      ) : (
        <ul class="list">
          {shown.map((one) => (
            <li class="cell ask" key={one.session_id}>
              <Avatar name={sessionName(one)} {...(isBrowser(one) ? { icon: "globe" as const } : {})} large />
              <div>
                {isOfPayment(one) && one.payment_id ? <a href={`/dashboard/payments/${one.payment_id}`}>{sessionName(one)}</a> : <b>{sessionName(one)}</b>}
                {one.current && <span class="quiet"> · here</span>}
                <p class="small quiet row wrap">
                  <span>
                    {howWords(one)}
                    {one.agent?.name && keyName(one) ? ` ${keyName(one)}` : ""}, since <Time at={one.created_at} />
                    {one.last_used_at && (
                      <>
                        , renewed <Time at={one.last_used_at} />
                      </>
                    )}
                  </span>
                  <Id value={one.session_id} />
                </p>
              </div>
              <div class="acts">
                {!one.current && (
                  <Button small disabled={!mayAct.value} label={`Sign out ${sessionName(one)}, ${short(one.session_id)}`} onClick={() => setEnding(one)}>
                    Sign out
                  </Button>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
      {ending && <EndSession session={ending} onClose={() => setEnding(null)} then={sessions.reload} />}
      {endingAll && <EndAll sessions={ofPayments} onClose={() => setEndingAll(false)} then={sessions.reload} />}
    </Panel>
  );
}

function EndAll({ sessions, onClose, then }: { sessions: Session[]; onClose: () => void; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const end = async () => {
    setBusy(true);
    try {
      for (const one of sessions) await endSession(one.session_id);
      onClose();
      toast(`${count(sessions.length, "payment")} signed out`);
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
    then();
  };
  return (
    <Confirm title={`Sign out ${count(sessions.length, "payment")}?`} action="Sign out" danger busy={busy} error={error} onConfirm={() => void end()} onClose={onClose}>
      <p>Each purchase let its program read what it bought. That ends at once. What was bought stays, and agents that signed in stay signed in.</p>
    </Confirm>
  );
}

export function EndSession({ session, onClose, then }: { session: Session; onClose: () => void; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  // A browser session ends with the session that made its link.
  const all = useLoad("sessions of the dialog", readSessions);
  const endsWithIt = (all.data ?? []).filter((one) => one.parent_session_id === session.session_id);
  const endsMine = endsWithIt.some((one) => one.current);
  const name = sessionName(session);
  const end = async () => {
    setBusy(true);
    try {
      await endSession(session.session_id);
      onClose();
      toast(`${name} is signed out`);
      then();
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
  };
  return (
    <Confirm title={`Sign out ${name}?`} action="Sign out" danger busy={busy} error={error} onConfirm={() => void end()} onClose={onClose}>
      <p>It ends at once: no more reading, buying or paying with it. {session.api_key_id ? "The API key stays, and can sign in again. To end that too, revoke the key." : isBrowser(session) ? "" : "An agent with a wallet of its own can sign in again."}</p>
      {endsWithIt.length > 0 && (
        <p>
          <b>{endsMine ? "Your session in this browser came from its link, so you are signed out too." : "Browser sessions that came from its link end too."}</b>
        </p>
      )}
    </Confirm>
  );
}
