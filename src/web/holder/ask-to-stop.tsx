// The dialog before all agents are stopped.

import { useState } from "preact/hooks";
import { Button, Check, Confirm, Icon, Note, api, failure, hasPasskeys, money, sum, toast } from "../parts";
import { type AccountCard, account, loadAccount } from "./account";
import { AddPasskey } from "./add-passkey";
import { useLoad } from "./data/load";
import { KIND_WORDS, type Transfer, readOpen } from "./data/transfers";
import { count } from "./data/words";

/** What goes on after the stop: it is paid already. */
function goesOn(open: Transfer[] | undefined, orders: AccountCard[]): string {
  const ordered = orders.length === 0 ? [] : [`${orders.length === 1 ? "an international card" : count(orders.length, "international card")} (${money(sum(...orders.map((card) => card.charged_usd_amount)))})`];
  if (!open && ordered.length === 0) return "What is already paid goes on.";
  const named = [...ordered, ...(open ?? []).slice(0, 4).map((one) => `a ${KIND_WORDS[one.kind].toLowerCase()} (${money(one.amount, one.currency)})`)];
  if (named.length === 0) return "Nothing that was paid is on its way.";
  const more = (open ?? []).length - 4;
  return `What is already paid goes on: ${named.join(", ")}${more > 0 ? ` and ${count(more, "more", "more")}` : ""}.`;
}

export interface AskToStopProps {
  stop: () => Promise<void>;
  onClose: () => void;
}

/** Says what the stop does, and does it. */
export function AskToStop({ stop, onClose }: AskToStopProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [pause, setPause] = useState(false);
  const [adding, setAdding] = useState(false);
  // Only for the sentence: the stop does not wait for it.
  const open = useLoad("open for the stop", readOpen);
  const keys = account.value?.api_keys?.filter((key) => key.status !== "revoked").length ?? 0;
  const cards = (account.value?.cards ?? []).filter((card) => card.card_type === "Reloadable" && card.status === "open");
  const orders = (account.value?.cards ?? []).filter((card) => card.card_type === "Non-Reloadable International" && (card.status === "queued" || card.status === "claimed"));
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      await stop();
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
      return;
    }
    // After the stop, so that an issuer that does not answer cannot delay it.
    const paused = pause ? await Promise.allSettled(cards.map((card) => api.post("/pause-card", { card_id: card.card_id }))) : [];
    const failed = paused.filter((one) => one.status === "rejected").length;
    onClose();
    toast(failed > 0 ? `Your agents are stopped. ${count(failed, "card")} could not be paused.` : "Your agents are stopped");
  };
  if (adding) return <AddPasskey onClose={() => setAdding(false)} then={() => void loadAccount()} />;
  return (
    <Confirm
      title="Stop all your agents?"
      action="Stop my agents"
      danger
      busy={busy}
      error={error}
      onClose={onClose}
      onConfirm={() => void act()}
    >
      <p>At once, for every agent of this account:</p>
      <ul class="stack tight">
        {["No new purchases, payouts or paid calls", "No reading of card numbers", "Their sessions end", ...(keys > 0 ? ["API keys end: afterwards those agents need a new one"] : [])].map((text) => (
          <li class="row">
            <Icon name="hand" />
            <span>{text}</span>
          </li>
        ))}
      </ul>
      <p>{goesOn(open.data, orders)} Open cards still work in shops until you pause them. You stay signed in, and let your agents act again {account.value?.passkeys === 0 ? "by a new link or with a passkey" : "with your passkey"}.</p>
      {account.value?.passkeys === 0 && hasPasskeys() && (
        <Note
          tone="wait"
          title="This account has no passkey."
          actions={
            <Button small onClick={() => setAdding(true)}>
              Add one first
            </Button>
          }
        >
          An agent that has your wallet’s key could open this page by a link and undo the stop. With a passkey, only you can.
        </Note>
      )}
      {cards.length > 0 && (
        <Check checked={pause} onChange={setPause}>
          Pause {cards.length === 1 ? "the open reloadable card" : `the ${count(cards.length, "open reloadable card")}`} too
        </Check>
      )}
    </Confirm>
  );
}
