// The operator's own passkeys and sessions.

import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Button, Confirm, Dialog, Empty, ErrorLine, Field, Id, PageHead, Panel, Shell, Skeleton, StatusTag, Table, Time, addPasskey, api, failure, hasPasskeys, toast, useLoaded } from "../parts";
import { Export, LoadError } from "./lists";
import { may, operator } from "./session";
import { deviceName } from "./sign-in";

interface Passkey {
  passkey_id: string;
  name: string;
  created_at: string;
  last_used_at?: string | null;
}
interface Session {
  session_id: string;
  operator?: string;
  created_at: string;
  expires_at: string;
  passkey_id?: string | null;
}

function Add({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const name = useSignal(deviceName());
  const error = useSignal<string | null>(null);
  const busy = useSignal(false);
  const add = async () => {
    busy.value = true;
    error.value = null;
    try {
      await addPasskey(name.value.trim() || deviceName());
      toast("Passkey added");
      onDone();
      onClose();
    } catch (thrown) {
      const cancelled = thrown instanceof DOMException && thrown.name === "NotAllowedError";
      error.value = cancelled ? "No passkey was made. Try again." : failure(thrown).said;
    } finally {
      busy.value = false;
    }
  };
  return (
    <Dialog
      title="Add a passkey"
      onClose={onClose}
      onSubmit={() => void add()}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" icon="passkey" type="submit" busy={busy.value}>
            Add passkey
          </Button>
        </>
      }
    >
      <p>A second device, or a security key, for the day on which the first is lost.</p>
      <Field label="Name" value={name.value} onChange={(text) => (name.value = text)} maxLength={60} />
      {error.value && <ErrorLine>{error.value}</ErrorLine>}
    </Dialog>
  );
}

/** This one first, then the newest. */
const newestFirst = (sessions: Session[]): Session[] =>
  sessions.toSorted((one, other) => Number(other.session_id === operator.value?.sessionId) - Number(one.session_id === operator.value?.sessionId) || Date.parse(other.created_at) - Date.parse(one.created_at));

export default function Me() {
  const [asking, setAsking] = useState<"add" | Passkey | Session | null>(null);
  const busy = useSignal(false);
  const error = useSignal<string | null>(null);
  const passkeys = useLoaded("passkeys", () => api.get<{ passkeys: Passkey[] }>("/desk/passkeys"));
  const sessions = useLoaded("sessions", () => api.get<{ sessions: Session[] }>("/desk/sessions"));
  const me = operator.value;
  const run = async (path: string, body: object, said: string, done: () => void) => {
    busy.value = true;
    error.value = null;
    try {
      await api.post(path, body, { confirm: { title: "Confirm that it is you", text: said } });
      toast("Done");
      setAsking(null);
      done();
    } catch (thrown) {
      error.value = failure(thrown).said;
    } finally {
      busy.value = false;
    }
  };
  const removing = asking && asking !== "add" && "passkey_id" in asking && !("session_id" in asking) ? asking : null;
  const ending = asking && asking !== "add" && "session_id" in asking ? asking : null;
  return (
    <Shell app="desk" page="" title="Passkeys and sessions" read>
      <PageHead title="Passkeys and sessions">
        You are {me?.name}.{" "}
        {me?.expiresAt && (
          <>
            This session ends <Time at={me.expiresAt} />.
          </>
        )}
        {may("tokens") && (
          <>
            {" "}
            Your colleagues are at <a href="/desk/operators">Operators</a>.
          </>
        )}
      </PageHead>
      <div class="stack">
        <Panel
          title="Passkeys"
          aside={
            <Button small icon="plus" disabled={!hasPasskeys() || !me?.passkeysAvailable} onClick={() => setAsking("add")}>
              Add
            </Button>
          }
        >
          {passkeys.error && !passkeys.data ? (
            <LoadError error={passkeys.error} retry={passkeys.reload} />
          ) : !passkeys.data ? (
            <Skeleton rows={2} />
          ) : passkeys.data.passkeys.length === 0 ? (
            <Empty icon="passkey" title="No passkey yet">
              With one you sign in without the token, and confirm what moves money.
            </Empty>
          ) : (
            <Table
              caption="Your passkeys"
              rows={passkeys.data.passkeys}
              rowKey={(row) => row.passkey_id}
              columns={[
                { title: "Name", cell: (row) => <b>{row.name}</b> },
                {
                  title: "Added",
                  fold: "second",
                  cell: (row) => (
                    <span>
                      <span class="narrow-only">added </span>
                      <Time at={row.created_at} />
                    </span>
                  ),
                },
                { title: "Last used", cell: (row) => (row.last_used_at ? <Time at={row.last_used_at} /> : <span class="quiet">not yet</span>), fold: "hidden" },
                {
                  title: "Remove",
                  titleOnlyRead: true,
                  number: true,
                  fold: "right",
                  cell: (row) => (
                    <Button small kind="danger" label={`Remove ${row.name}`} onClick={() => setAsking(row)}>
                      Remove…
                    </Button>
                  ),
                },
              ]}
            />
          )}
        </Panel>
        <Panel
          title="Sessions"
          aside={
            <Export
              name="desk-sessions"
              rows={() => sessions.data?.sessions ?? []}
              columns={[
                ["session_id", (row) => row.session_id],
                ["operator", (row) => row.operator ?? me?.name],
                ["created_at", (row) => row.created_at],
                ["expires_at", (row) => row.expires_at],
                ["passkey_id", (row) => row.passkey_id],
              ]}
            />
          }
        >
          {sessions.error && !sessions.data ? (
            <LoadError error={sessions.error} retry={sessions.reload} />
          ) : !sessions.data ? (
            <Skeleton rows={2} />
          ) : (
            <Table
              caption="Open sessions of the desk"
              rows={newestFirst(sessions.data.sessions)}
              rowKey={(row) => row.session_id}
              columns={[
                {
                  title: "Session",
                  cell: (row) => (
                    <span>
                      <b>{row.operator ?? me?.name}</b> {row.session_id === me?.sessionId && <StatusTag tone="done">this one</StatusTag>}
                      <span class="small block">
                        <Id value={row.session_id} what="session id" />
                      </span>
                    </span>
                  ),
                },
                {
                  title: "Opened",
                  fold: "second",
                  cell: (row) => (
                    <span>
                      <span class="narrow-only">opened </span>
                      <Time at={row.created_at} />
                    </span>
                  ),
                },
                { title: "Ends", cell: (row) => <Time at={row.expires_at} />, fold: "hidden" },
                {
                  title: "End",
                  titleOnlyRead: true,
                  number: true,
                  fold: "right",
                  cell: (row) => (
                    <Button small kind="danger" onClick={() => setAsking(row)}>
                      End…
                    </Button>
                  ),
                },
              ]}
            />
          )}
        </Panel>
      </div>
      {asking === "add" && <Add onClose={() => setAsking(null)} onDone={passkeys.reload} />}
      {removing && (
        <Confirm
          title={`Remove “${removing.name}”?`}
          action="Remove passkey"
          danger
          busy={busy.value}
          error={error.value}
          onConfirm={() => void run("/desk/passkeys/remove", { passkey_id: removing.passkey_id }, "A passkey is removed, with the sessions that it opened.", passkeys.reload)}
          onClose={() => setAsking(null)}
        >
          <p>It opens the desk no more, and the sessions that it opened end.</p>
        </Confirm>
      )}
      {ending && (
        <Confirm
          title="End this session?"
          action="End session"
          danger
          busy={busy.value}
          error={error.value}
          onConfirm={() => void run("/desk/sessions/end", { session_id: ending.session_id }, "A session of the desk is ended.", sessions.reload)}
          onClose={() => setAsking(null)}
        >
          <p>Its browser is signed out at once.</p>
        </Confirm>
      )}
    </Shell>
  );
}
