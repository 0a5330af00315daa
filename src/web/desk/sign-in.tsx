// Signing in to the desk: with a passkey, or the first time with an operator's token.

import { useSignal } from "@preact/signals";
import { Button, ErrorLine, Field, Icon, Note, PublicFrame, api, failure, hasPasskeys, signInWithPasskey } from "../parts";

export function SignInPage({ onDone }: { onDone: () => void }) {
  const token = useSignal("");
  const error = useSignal<string | null>(null);
  const busy = useSignal<"passkey" | "token" | null>(null);
  const withToken = useSignal(!hasPasskeys());

  const run = async (how: "passkey" | "token", act: () => Promise<unknown>) => {
    busy.value = how;
    error.value = null;
    try {
      await act();
      token.value = "";
      onDone();
    } catch (thrown) {
      const cancelled = thrown instanceof DOMException && thrown.name === "NotAllowedError";
      error.value = cancelled ? "The passkey was not used. Try again, or sign in with your token." : failure(thrown).said;
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
          {error.value && <ErrorLine>{error.value}</ErrorLine>}
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
                  error.value = "Enter your token. It begins with pop_.";
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
