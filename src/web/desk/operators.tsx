// Who works at the desk: operator tokens, which an administrator makes for colleagues and ends.

import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Button, Confirm, CopyLine, Dialog, Empty, ErrorLine, Field, Note, PageHead, Panel, Select, Shell, StatusTag, Table, Time, api, failure, fieldErrors, toast, useLoaded } from "../parts";
import type { OperatorRole, OperatorToken } from "../api/operator";
import { Act } from "./act";
import { Export, ListBar, LoadError, fits } from "./lists";
import { isMe, may, whyNot } from "./session";

const ROLES: { value: OperatorRole; text: string }[] = [
  { value: "operator", text: "Operator: orders, accounts, stuck work, money" },
  { value: "support", text: "Support: reads, writes notes, freezes accounts" },
  { value: "read-only", text: "Read only" },
  { value: "administrator", text: "Administrator: everything, and who works here" },
];

function Add({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const name = useSignal("");
  const role = useSignal<OperatorRole>("operator");
  const errors = useSignal<Record<string, string>>({});
  const busy = useSignal(false);
  // Only in this dialog, and gone with it.
  const [token, setToken] = useState<string | null>(null);
  const add = async () => {
    if (!/^[\w.@-]{1,64}$/.test(name.value.trim())) {
      errors.value = { name: "Letters, digits and . - _ @, like ana or ana@example.com." };
      return;
    }
    busy.value = true;
    try {
      const made = await api.post<{ token: string }>("/admin/tokens", { name: name.value.trim(), role: role.value }, { confirm: { title: "Confirm that it is you", text: `${name.value.trim()} may sign in at the desk.` } });
      setToken(made.token);
      onDone();
    } catch (thrown) {
      errors.value = fieldErrors(thrown, ["name", "role"]);
    } finally {
      busy.value = false;
    }
  };
  if (token !== null) {
    return (
      <Dialog
        title={`The token of ${name.value.trim()}`}
        onClose={onClose}
        actions={
          <Button kind="primary" onClick={onClose}>
            I have passed it on
          </Button>
        }
      >
        <p>It is shown only now. Whoever has it can sign in: pass it on by a way that you trust. At the first sign-in your colleague adds a passkey.</p>
        <CopyLine text={token} what="Token" />
      </Dialog>
    );
  }
  return (
    <Dialog
      title="Add a colleague"
      onClose={onClose}
      onSubmit={() => void add()}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" icon="key" type="submit" busy={busy.value} decides>
            Make a token
          </Button>
        </>
      }
    >
      <Field label="Name" value={name.value} onChange={(text) => (name.value = text)} error={errors.value.name} hint="It is in the audit log, and is never given to another." maxLength={64} />
      <Select label="Role" value={role.value} onChange={(value) => (role.value = value as OperatorRole)} options={ROLES} error={errors.value.role} />
      {errors.value.form && <ErrorLine>{errors.value.form}</ErrorLine>}
    </Dialog>
  );
}

function Everyone() {
  const [asking, setAsking] = useState<"add" | OperatorToken | null>(null);
  const filter = useSignal("");
  const busy = useSignal(false);
  const error = useSignal<string | null>(null);
  const found = useLoaded("operators", () => api.get<{ tokens: OperatorToken[] }>("/admin/tokens"));
  const all = found.data?.tokens ?? [];
  const shown = all.filter((row) => fits(filter.value, row.name, row.role));
  const ending = asking !== null && asking !== "add" ? asking : null;
  // Nobody could add or end operators any more, and the service accepts no other way than its settings.
  const last = ending?.role === "administrator" && all.filter((row) => row.role === "administrator" && !row.revoked).length === 1;
  const end = async (row: OperatorToken) => {
    busy.value = true;
    error.value = null;
    try {
      await api.post("/admin/tokens/revoke", { name: row.name }, { confirm: { title: "Confirm that it is you", text: `${row.name} may not sign in any more.` } });
      toast("Ended");
      setAsking(null);
      found.reload();
    } catch (thrown) {
      error.value = failure(thrown).said;
    } finally {
      busy.value = false;
    }
  };
  return (
    <Panel
      title="Who may sign in"
      aside={
        <Act small needs="tokens" icon="plus" onClick={() => setAsking("add")}>
          Add a colleague…
        </Act>
      }
    >
      {found.error && !found.data ? (
        <LoadError error={found.error} retry={found.reload} />
      ) : (
        <>
          <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="name, role">
            <Export
              name="operators"
              rows={() => all}
              columns={[
                ["name", (row) => row.name],
                ["role", (row) => row.role],
                ["from", (row) => row.from],
                ["created_at", (row) => row.created_at],
                ["revoked", (row) => String(row.revoked)],
              ]}
            />
          </ListBar>
          <Table
            caption="Operators"
            rows={shown}
            rowKey={(row) => row.name}
            columns={[
              {
                title: "Name",
                cell: (row) => (
                  <span>
                    <b>{row.name}</b> {isMe(row.name) && <StatusTag tone="done">you</StatusTag>}
                  </span>
                ),
              },
              { title: "Role", cell: (row) => row.role, fold: "second" },
              { title: "Made", cell: (row) => (row.created_at ? <Time at={row.created_at} /> : <span class="quiet">in the settings</span>), fold: "hidden" },
              { title: "State", cell: (row) => <StatusTag tone={row.revoked ? "off" : "done"}>{row.revoked ? "Ended" : "May sign in"}</StatusTag>, fold: "whole" },
              {
                title: "End",
                titleOnlyRead: true,
                number: true,
                fold: "right",
                cell: (row) =>
                  !row.revoked &&
                  row.from !== "settings" && (
                    <Act small needs="tokens" kind="danger" label={`End ${row.name}`} onClick={() => setAsking(row)}>
                      End…
                    </Act>
                  ),
              },
            ]}
          />
        </>
      )}
      {asking === "add" && <Add onClose={() => setAsking(null)} onDone={found.reload} />}
      {ending && (
        <Confirm title={`End ${ending.name}?`} action="End it" danger busy={busy.value} error={error.value} disabled={last} onConfirm={() => void end(ending)} onClose={() => setAsking(null)}>
          {last && (
            <Note tone="bad" title={`${isMe(ending.name) ? "You are" : `${ending.name} is`} the only administrator.`}>
              Add another administrator first. Without one nobody can add or end operators, until a line in the settings of the service names one.
            </Note>
          )}
          <p>
            The token and the passkeys and sessions that it vouched for open nothing any more, and what {ending.name} asked for is taken back. The name is not given again.
            {isMe(ending.name) && <b> It is your own: you are signed out.</b>}
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

export default function Operators() {
  return (
    <Shell app="desk" page="operators" title="Operators">
      <PageHead title="Operators">Who works at the desk. A colleague signs in with the token that you make here, and adds a passkey.</PageHead>
      {may("tokens") ? (
        <Everyone />
      ) : (
        <Panel>
          <Empty icon="lock" title="For administrators">
            {whyNot("tokens")} Ask an administrator to add or end a colleague.
          </Empty>
        </Panel>
      )}
    </Shell>
  );
}
