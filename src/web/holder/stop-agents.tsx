// “Stop my agents”: one button, which works while the page is not live too.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Button, Confirm, Icon, Note, Time, addShortcuts, api, failure, toast } from "../parts";
import { account, agentsStopped, loadAccount, mayAct } from "./account";

const asking = signal(false);

/** Opens the dialog that asks first. */
export function askToStop(): void {
  asking.value = true;
}

async function stop(): Promise<void> {
  await api.post("/account/stop-agents");
  await loadAccount();
}

export async function resumeAgents(): Promise<void> {
  await api.post("/account/resume-agents", {}, { confirm: { title: "Let your agents act again", text: "They can buy and pay again, within your limits." } });
  await loadAccount();
}

export function StopAgentsButton({ small }: { small?: boolean }) {
  if (agentsStopped.value || !mayAct.value) return null;
  return (
    <Button kind="danger" icon="hand" small={small === true} id="stop-agents" onClick={askToStop}>
      Stop my agents
    </Button>
  );
}

/** The dialog. Each page with the button has one. */
export function StopAgentsDialog() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => addShortcuts([{ keys: "s", what: "Stop my agents", run: () => !agentsStopped.value && mayAct.value && askToStop() }]), []);
  if (!asking.value) return null;
  const keys = account.value?.api_keys?.filter((key) => key.status !== "revoked").length ?? 0;
  return (
    <Confirm
      title="Stop all your agents?"
      action="Stop my agents"
      danger
      busy={busy}
      error={error}
      onClose={() => {
        asking.value = false;
        setError(null);
      }}
      onConfirm={() => {
        setBusy(true);
        setError(null);
        stop()
          .then(
            () => {
              asking.value = false;
              toast("Your agents are stopped");
            },
            (thrown) => setError(failure(thrown).said),
          )
          .finally(() => setBusy(false));
      }}
    >
      <p>At once, for every agent of this account{keys > 0 ? `, with ${keys === 1 ? "its API key" : `its ${keys} API keys`}` : ""}:</p>
      <ul class="stack tight">
        {["No new purchases, payouts or paid calls", "No reading of card numbers", "Their sessions end"].map((text) => (
          <li class="row">
            <Icon name="hand" />
            <span>{text}</span>
          </li>
        ))}
      </ul>
      <p>What is already paid goes on. Open cards still work in shops until you pause them. You can let your agents act again at any time.</p>
    </Confirm>
  );
}

/** Says that they are stopped, and lets them act again. */
export function StoppedNote() {
  const [busy, setBusy] = useState(false);
  const at = agentsStopped.value;
  if (!at) return null;
  return (
    <Note
      tone="bad"
      title={
        <>
          Your agents were stopped <Time at={at} />.
        </>
      }
      actions={
        mayAct.value && (
          <Button
            small
            decides
            busy={busy}
            onClick={() => {
              setBusy(true);
              resumeAgents()
                .then(
                  () => toast("Your agents may act again"),
                  (thrown) => toast(failure(thrown).said),
                )
                .finally(() => setBusy(false));
            }}
          >
            Let them act again
          </Button>
        )
      }
    >
      They cannot buy, pay or read card numbers. What was already paid goes on.
    </Note>
  );
}
