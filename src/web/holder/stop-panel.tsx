// Stopping all agents at once, and letting them work again.

import { useState } from "preact/hooks";
import { Button, Check, Confirm, Icon, Note, Panel, Time, api, failure, money, toast } from "../parts";
import { account, loadAccount, mayAct } from "./account";
import { keysOf, resumeAgents, stopAgents } from "./data/agents";
import type { AnyCard } from "./data/cards";
import { useLoad } from "./data/load";
import { readOpen } from "./data/transfers";
import { count } from "./data/words";

/** What goes on after the stop: it is paid already. */
function goesOn(open: { kind: string; amount: number | string; currency: string }[]): string {
  if (open.length === 0) return "Nothing that was paid is on its way.";
  const shown = open.slice(0, 4).map((one) => `${{ top_up: "a top-up", payout: "a payout", withdrawal: "a withdrawal", card_withdrawal: "a withdrawal", bank_transfer: "a bank transfer" }[one.kind] ?? "a transfer"} (${money(one.amount, one.currency)})`);
  const more = open.length - shown.length;
  return `What is already paid goes on: ${shown.join(", ")}${more > 0 ? ` and ${count(more, "more", "more")}` : ""}.`;
}

const openReloadable = (card: AnyCard): boolean => card.card_type === "Reloadable" && card.status === "open";

export function StopDialog({ onClose, then }: { onClose: () => void; then: () => void }) {
  const keys = keysOf(account.value);
  const cards = ((account.value?.cards ?? []) as unknown as AnyCard[]).filter(openReloadable);
  const open = useLoad("open for the stop", readOpen);
  const [pause, setPause] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const stop = async () => {
    setBusy(true);
    setError(null);
    try {
      await stopAgents();
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
      return;
    }
    // After the stop, so that a card that does not answer cannot delay it.
    const paused = pause ? await Promise.allSettled(cards.map((card) => api.post("/pause-card", { card_id: card.card_id }))) : [];
    const failed = paused.filter((one) => one.status === "rejected").length;
    await loadAccount();
    onClose();
    toast(failed > 0 ? `Your agents are stopped. ${count(failed, "card")} could not be paused.` : "Your agents are stopped.");
    then();
  };
  return (
    <Confirm title="Stop all of your agents?" action="Stop my agents" danger busy={busy} error={error} onConfirm={() => void stop()} onClose={onClose}>
      <p>At once:</p>
      <ul class="does">
        <li class="ends">
          <Icon name="hand" />
          <span>No new purchases, payouts or paid calls</span>
        </li>
        <li class="ends">
          <Icon name="hand" />
          <span>No reading of card numbers</span>
        </li>
        <li class="ends">
          <Icon name="hand" />
          <span>{keys.length === 0 ? "All sessions of agents end" : `${keys.length === 1 ? "The API key" : `All ${count(keys.length, "API key")}`} and all sessions of agents end`}</span>
        </li>
      </ul>
      <p>{open.data ? goesOn(open.data) : "What is already paid goes on."} Open cards still work in shops until you pause them. You stay signed in.</p>
      {cards.length > 0 && (
        <Check checked={pause} onChange={setPause}>
          Pause {cards.length === 1 ? "the reloadable card" : `the ${count(cards.length, "reloadable card")}`} too
        </Check>
      )}
    </Confirm>
  );
}

/** The button that is never disabled by a stale page: it needs no figures to be right. */
export function StopPanel({ then }: { then: () => void }) {
  const [asking, setAsking] = useState(false);
  return (
    <Panel>
      <div class="stop-box">
        <div>
          <h2>Stop my agents</h2>
          <p class="soft">One press ends every key and session and lets nothing more be bought. What is already paid goes on.</p>
        </div>
        <Button kind="danger" icon="hand" disabled={!mayAct.value} onClick={() => setAsking(true)}>
          Stop my agents
        </Button>
      </div>
      {asking && <StopDialog onClose={() => setAsking(false)} then={then} />}
    </Panel>
  );
}

export function StoppedNote({ since, then }: { since: string; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  const resume = async () => {
    setBusy(true);
    setError(null);
    try {
      await resumeAgents();
      await loadAccount();
      toast("Your agents can work again.");
      setAsking(false);
      then();
    } catch (thrown) {
      setError(failure(thrown).said);
    }
    setBusy(false);
  };
  return (
    <>
      <Note
        tone="wait"
        title={
          <>
            Your agents are stopped, since <Time at={since} />.
          </>
        }
        actions={
          <Button decides disabled={!mayAct.value} onClick={() => setAsking(true)}>
            Let them work again…
          </Button>
        }
      >
        Their keys and sessions ended, and nothing can be bought. What was already paid goes on.
      </Note>
      {asking && (
        <Confirm title="Let your agents work again?" action="Let them work again" busy={busy} error={error} onConfirm={() => void resume()} onClose={() => setAsking(false)}>
          <p>Agents with a wallet of their own can sign in again by themselves. Agents with an API key need a new one: they ask you, and you say yes. Limits stay as they are.</p>
        </Confirm>
      )}
    </>
  );
}
