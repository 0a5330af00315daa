// A recovery that the wallet asked for: said on the first page and in the settings, and cancelled with a passkey.

import { useState } from "preact/hooks";
import { Button, Note, Time, api, failure, toast } from "../parts";
import { account, loadAccount, mayAct } from "./account";

const CANCEL = { title: "Cancel the recovery", text: "Your passkeys stay, and nothing else changes." };

export function RecoveryNote() {
  const [busy, setBusy] = useState(false);
  const recovery = account.value?.recovery;
  if (!recovery) return null;
  const cancel = async () => {
    setBusy(true);
    try {
      await api.post("/account/recovery/cancel", {}, { confirm: CANCEL });
      toast("The recovery is cancelled");
    } catch (thrown) {
      toast(failure(thrown).said);
    }
    await loadAccount();
    setBusy(false);
  };
  return (
    <Note
      tone="bad"
      title="Your wallet asked to recover this account."
      actions={
        mayAct.value && (
          <Button small busy={busy} onClick={() => void cancel()}>
            Cancel the recovery
          </Button>
        )
      }
    >
      {recovery.status === "waiting" ? (
        <>
          It can remove all your passkeys and open the account <Time at={recovery.ready_at} />.
        </>
      ) : (
        <>
          It can now remove all your passkeys and open the account. That ends <Time at={recovery.expires_at} />.
        </>
      )}{" "}
      If you did not ask for it, an agent that has your wallet’s key may have: cancel it with any passkey.
    </Note>
  );
}
