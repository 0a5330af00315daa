// What an owner does who has lost every passkey: the wallet signs for a recovery.

import { useEffect, useState } from "preact/hooks";
import { CopyLine } from "../parts";
import { Contact } from "./contact";

/**
 * Where programs call the service. The pages of a service on this computer are at `localhost`, and the service says in its
 * answer to a request without a signature where it is called. At other addresses, programs and pages share one.
 */
async function calledAt(): Promise<string> {
  if (location.hostname !== "localhost") return location.origin;
  try {
    const answer = await fetch("/recover-account", { method: "POST", credentials: "omit" });
    const { resource } = (await answer.json()) as { resource?: { url?: string } };
    return resource?.url ? new URL(resource.url).origin : location.origin;
  } catch {
    return location.origin;
  }
}

export function LostPasskeys() {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => void calledAt().then(setUrl), []);
  return (
    <>
      <h2>Recover the account with its wallet</h2>
      <p class="soft small">The wallet signs that its passkeys are lost: run this where the wallet is, or ask the agent that has it.</p>
      {url && <CopyLine text={`purser recover ${url}`} />}
      <p class="soft small">First the recovery waits for 24 hours. Every open page of the account shows it, and any passkey that you find can cancel it.</p>
      <p class="soft small">Then run it again, within 7 days. It removes all passkeys and prints a link that opens the account once. Add a new passkey there at once.</p>
      <p class="soft small">Without the wallet and without a passkey there is no proof that the account is yours. <Contact>and ask what can be done</Contact></p>
    </>
  );
}
