// Why a page can change nothing: an agent's link opened it.

import { Note } from "../parts";
import { account, mayAct } from "./account";

export function LookNote() {
  if (mayAct.value) return null;
  return (
    <Note tone="info" title="You can look, not change.">
      An agent’s link opened this page. To change something, and to see all that waits for your yes, ask the agent to sign in with the wallet and send a new link
      {account.value?.passkeys ? ", or sign out and come back with your passkey" : ""}.
    </Note>
  );
}
