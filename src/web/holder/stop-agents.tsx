// “Stop my agents”: one button, which works while the page is not live too.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Button, Note, Time, addShortcuts, api, failure, lazy, toast } from "../parts";
import { agentsStopped, loadAccount, mayAct } from "./account";

// Opened by a press, so it is no part of the first screen.
const dialog = () => import("./ask-to-stop").then((file) => file.AskToStop);
const AskToStop = lazy(dialog);

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
  // It is there before it is needed, so that the stop works on a bad connection too.
  useEffect(() => {
    const timer = setTimeout(() => void dialog(), 1_000);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => addShortcuts([{ keys: "s", what: "Stop my agents", run: () => !agentsStopped.value && mayAct.value && askToStop() }]), []);
  return asking.value ? <AskToStop stop={stop} onClose={() => { asking.value = false; }} /> : null;
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
      They cannot buy, pay or read card numbers. What was already paid goes on. Once you let them, agents with a wallet of their own sign in again; those with an API key need a new one.
    </Note>
  );
}
