// Passkeys: signing in, adding one, and saying yes to what matters.

import { signal } from "@preact/signals";
import { api, failure } from "./api";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { Note } from "./panel";

/** Where the service asks for passkeys. The desk has addresses of its own. */
export const passkeyPaths = {
  signInOptions: "/login/passkey/options",
  signIn: "/login/passkey",
  addOptions: "/account/passkeys/options",
  add: "/account/passkeys",
  confirmOptions: "/account/confirm/options",
  confirm: "/account/confirm",
};

interface Options {
  publicKey?: object;
}

/** Whether this browser can do it here at all: browsers bind no passkey to an IP address. */
export const hasPasskeys = (): boolean =>
  typeof PublicKeyCredential === "function" && typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function" && !/^(\[|[\d.]+$)/.test(location.hostname);

// Libraries put the options in `publicKey`; the standard's own JSON does not.
const inner = <T extends object>(options: Options): T => (options.publicKey ?? options) as T;

async function assertion(options: Options): Promise<unknown> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(inner<PublicKeyCredentialRequestOptionsJSON>(options));
  const credential = await navigator.credentials.get({ publicKey });
  return (credential as PublicKeyCredential).toJSON();
}

/** Signs in with a passkey of this device. Throws if the person cancels or the service refuses. */
export async function signInWithPasskey(): Promise<void> {
  const options = await api.post<Options>(passkeyPaths.signInOptions);
  const credential = await assertion(options);
  await api.post(passkeyPaths.signIn, { credential });
}

/** Adds a passkey of this device to the account. */
export async function addPasskey(name: string): Promise<void> {
  const options = await api.post<Options>(passkeyPaths.addOptions);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(inner<PublicKeyCredentialCreationOptionsJSON>(options));
  const credential = await navigator.credentials.create({ publicKey });
  await api.post(passkeyPaths.add, { name, credential: (credential as PublicKeyCredential).toJSON() });
}

async function confirmWithPasskey(): Promise<void> {
  const options = await api.post<Options>(passkeyPaths.confirmOptions);
  const credential = await assertion(options);
  await api.post(passkeyPaths.confirm, { credential });
}

interface Asked {
  title: string;
  text: string;
  answer: (yes: boolean) => void;
}

const asked = signal<Asked | null>(null);
const working = signal(false);
const refused = signal<string | null>(null);

/** Asks the person to prove to be there. True once the service accepted the passkey. */
export function confirmIt(title: string, text: string): Promise<boolean> {
  asked.value?.answer(false);
  refused.value = null;
  return new Promise((answer) => {
    asked.value = { title, text, answer };
  });
}

function settle(yes: boolean): void {
  const question = asked.value;
  asked.value = null;
  working.value = false;
  question?.answer(yes);
}

async function proceed(): Promise<void> {
  working.value = true;
  refused.value = null;
  try {
    await confirmWithPasskey();
    settle(true);
  } catch (error) {
    working.value = false;
    const cancelled = error instanceof DOMException && error.name === "NotAllowedError";
    refused.value = cancelled ? "The passkey was not used. Try again, or cancel." : failure(error).said;
  }
}

/** The dialog of [`confirmIt`]. Each app has one, in its shell. */
export function PasskeyStep() {
  const question = asked.value;
  if (!question) return null;
  return (
    <Dialog
      title={question.title}
      onClose={() => settle(false)}
      actions={
        <>
          <Button kind="ghost" onClick={() => settle(false)}>
            Cancel
          </Button>
          <Button kind="primary" icon="passkey" autoFocus busy={working.value} disabled={!hasPasskeys()} onClick={() => void proceed()}>
            Continue with passkey
          </Button>
        </>
      }
    >
      <p>{question.text}</p>
      {refused.value ? (
        <Note tone="bad" title="Not confirmed">
          {refused.value}
        </Note>
      ) : (
        <Note tone="info" title="Only a person may do this">
          Your device asks for your fingerprint, face or PIN. Is it on another device? Confirm there. If all are lost, sign out: the sign-in page says what to do.
        </Note>
      )}
    </Dialog>
  );
}
