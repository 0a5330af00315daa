// Signing in to the desk: with a passkey, or the first time with an operator's token.

import { useSignal } from "@preact/signals";
import { Button, ErrorLine, Field, Icon, Note, PublicFrame, addPasskey, api, failure, frame, hasPasskeys, signInWithPasskey } from "../parts";
import { operator } from "./session";

export function SignInPage({ onDone }: { onDone: () => void }) {
  const token = useSignal("");
  const errors = useSignal<{ passkey?: string; token?: string }>({});
  const busy = useSignal<"passkey" | "token" | null>(null);
  const withToken = useSignal(!hasPasskeys());

  const run = async (how: "passkey" | "token", act: () => Promise<unknown>) => {
    busy.value = how;
    errors.value = {};
    try {
      await act();
      token.value = "";
      onDone();
    } catch (thrown) {
      const cancelled = thrown instanceof DOMException && thrown.name === "NotAllowedError";
      errors.value = { [how]: cancelled ? "The passkey was not used. Try again, or sign in with your token." : failure(thrown).said };
    } finally {
      busy.value = null;
    }
  };

  return (
    <PublicFrame title="Sign in to the desk" foot={<span>The desk of this service, for its operators.</span>}>
      <div class="sheet">
        <div class="stack">
          <div>
            <h1>Sign in to the desk</h1>
            <p class="soft">For operators of this service. A session lasts 12 hours.</p>
          </div>
          <Button kind="primary" wide icon="passkey" busy={busy.value === "passkey"} disabled={!hasPasskeys()} onClick={() => void run("passkey", () => signInWithPasskey())}>
            Continue with passkey
          </Button>
          {!hasPasskeys() && <Note tone="info">This browser has no passkeys, so sign in with your token.</Note>}
          {errors.value.passkey && <ErrorLine>{errors.value.passkey}</ErrorLine>}
        </div>
        <div>
          <details class="plain-details" open={withToken.value} onToggle={(event) => (withToken.value = event.currentTarget.open)}>
            <summary>First time here, or no passkey on this device</summary>
            <form
              class="stack"
              autocomplete="off"
              onSubmit={(event) => {
                event.preventDefault();
                if (!token.value.trim()) {
                  errors.value = { token: "Enter your token. It begins with pop_." };
                  return;
                }
                void run("token", () => api.post("/desk/login", { token: token.value.trim() }));
              }}
            >
              <Field
                label="Operator's token"
                type="password"
                mono
                value={token.value}
                onChange={(text) => (token.value = text)}
                error={errors.value.token}
                autocomplete="off"
                hint="From an administrator, or the file operator.token of a new service. It is sent once and kept nowhere in this browser."
              />
              <Button type="submit" busy={busy.value === "token"}>
                <Icon name="key" />
                Sign in with token
              </Button>
            </form>
          </details>
        </div>
      </div>
    </PublicFrame>
  );
}

/** What to call the passkey of this device. */
export function deviceName(): string {
  const system = /iPhone|iPad|Android|Mac OS X|Windows|Linux|CrOS/.exec(navigator.userAgent)?.[0] ?? "This device";
  return system === "Mac OS X" ? "Mac" : system === "CrOS" ? "Chromebook" : system;
}

/** After the first sign-in with a token: from now on a passkey opens the desk. */
export function FirstPasskeyPage({ onDone }: { onDone: () => void }) {
  const name = useSignal(deviceName());
  const error = useSignal<string | null>(null);
  const busy = useSignal(false);
  const available = hasPasskeys() && operator.value?.passkeysAvailable === true;
  const add = async () => {
    busy.value = true;
    error.value = null;
    try {
      await addPasskey(name.value.trim() || deviceName());
      onDone();
    } catch (thrown) {
      const cancelled = thrown instanceof DOMException && thrown.name === "NotAllowedError";
      error.value = cancelled ? "No passkey was made. Try again." : failure(thrown).said;
    } finally {
      busy.value = false;
    }
  };
  const asLocalhost = `${location.protocol}//localhost${location.port ? `:${location.port}` : ""}/desk`;
  return (
    <PublicFrame title="Add your passkey" foot={<span>The desk of this service, for its operators.</span>}>
      <div class="sheet">
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void add();
          }}
        >
          <div>
            <h1>Add your passkey</h1>
            <p class="soft">
              You are {operator.value?.name}. From now on this device opens the desk with your fingerprint, face or PIN, and confirms what moves money. The token stays for the command line.
            </p>
          </div>
          {available ? (
            <Field label="Name of this passkey" value={name.value} onChange={(text) => (name.value = text)} maxLength={60} hint="So that you recognise it in the list." />
          ) : (
            <Note tone="wait" title="Browsers offer no passkeys at this address.">
              Passkeys belong to a name, not to a number. Open the desk as <a href={asLocalhost}>localhost</a>, through a tunnel if the service runs elsewhere.
            </Note>
          )}
          {error.value && <ErrorLine>{error.value}</ErrorLine>}
          <div class="row wrap between">
            <Button kind="ghost" onClick={() => void frame.signOut.run()}>
              Sign out
            </Button>
            <Button kind="primary" icon="passkey" type="submit" busy={busy.value} disabled={!available}>
              Add passkey
            </Button>
          </div>
        </form>
      </div>
    </PublicFrame>
  );
}
