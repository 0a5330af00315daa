// Who is signed in: browsers and agents, each of which can be ended.

import { useState } from "preact/hooks";
import { Avatar, Button, Confirm, Empty, Id, Panel, Skeleton, Time, failure, toast } from "../parts";
import { mayAct } from "./account";
import { isAbsent, useLoad } from "./data/load";
import { type Session, endSession, readSessions } from "./data/settings";
import { LoadError } from "./pager";

const HOW: Record<string, string> = {
  wallet: "Signed in with the wallet",
  sign_in: "Signed in with the wallet",
  payment: "Came with a payment",
  api_key: "API key",
  link: "Opened by a link",
  login_link: "Opened by a link",
  page: "Opened by a link",
  passkey: "Opened with a passkey",
};

const kindOf = (session: Session): string => session.opened_by ?? session.amr ?? session.kind ?? (session.api_key_id ? "api_key" : "wallet");

const isBrowser = (session: Session): boolean => session.current === true || ["link", "login_link", "page", "passkey"].includes(kindOf(session));

export function sessionName(session: Session): string {
  if (session.current) return "This browser";
  if (session.agent?.name) return session.agent.name;
  if (session.api_key_name) return session.api_key_name;
  return isBrowser(session) ? "A browser" : "An agent";
}

export function Sessions({ title }: { title: string }) {
  const sessions = useLoad("sessions", readSessions, { types: ["session.*", "api_key.*"] });
  const [ending, setEnding] = useState<Session | null>(null);
  if (isAbsent(sessions.error)) return null;
  if (sessions.error?.code === "sign_in_required") return null;
  return (
    <Panel id="sessions" title={title}>
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
          {sessions.data.map((one) => (
            <li class="cell ask" key={one.session_id}>
              <Avatar name={sessionName(one)} {...(isBrowser(one) ? { icon: "globe" as const } : {})} large />
              <div>
                <b>{sessionName(one)}</b>
                {one.current && <span class="quiet"> · here</span>}
                <p class="small quiet row wrap">
                  <span>
                    {HOW[kindOf(one)] ?? "Signed in"}
                    {one.api_key_name && one.agent?.name ? ` ${one.api_key_name}` : ""}, since <Time at={one.created_at} />
                    {one.last_used_at && (
                      <>
                        , last seen <Time at={one.last_used_at} />
                      </>
                    )}
                  </span>
                  <Id value={one.session_id} />
                </p>
              </div>
              <div class="acts">
                {!one.current && (
                  <Button small disabled={!mayAct.value} label={`Sign out ${sessionName(one)}`} onClick={() => setEnding(one)}>
                    Sign out
                  </Button>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
      {ending && <End session={ending} onClose={() => setEnding(null)} then={sessions.reload} />}
    </Panel>
  );
}

function End({ session, onClose, then }: { session: Session; onClose: () => void; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
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
    </Confirm>
  );
}
