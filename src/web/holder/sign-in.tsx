// What the dashboard shows without a session.

import { useEffect, useState } from "preact/hooks";
import { Button, CopyLine, ErrorLine, PublicFrame, failure, hasPasskeys, lazy, signInWithPasskey } from "../parts";
import { restartAccount } from "./account";
import { readMode } from "./mode";

const LostPasskeys = lazy(() => import("./lost-passkeys").then((file) => file.LostPasskeys));

export function SignInPage() {
  const [busy, setBusy] = useState(false);
  const [lost, setLost] = useState(false);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    // Without an answer the page says so once somebody signs in.
    fetch(location.pathname, { method: "HEAD", cache: "no-store" }).then(readMode, () => {});
  }, []);
  const signIn = async () => {
    setBusy(true);
    setError(null);
    try {
      await signInWithPasskey();
      await restartAccount();
    } catch (thrown) {
      const cancelled = thrown instanceof DOMException && thrown.name === "NotAllowedError";
      setError(cancelled ? "No passkey was used. Try again, or ask your agent for a link." : failure(thrown).said);
    } finally {
      setBusy(false);
    }
  };
  return (
    <PublicFrame title="Sign in">
      <div class="sheet">
        <div class="stack">
          <h1>Sign in to your account</h1>
          <p class="soft">Here you watch what your agents buy and pay, set their limits and stop them.</p>
          <Button kind="primary" icon="passkey" wide busy={busy} disabled={!hasPasskeys()} onClick={() => void signIn()}>
            Sign in with a passkey
          </Button>
          {!hasPasskeys() && <p class="soft small">This browser offers no passkeys at this address.</p>}
          {error && <ErrorLine>{error}</ErrorLine>}
        </div>
        <div class="stack tight">
          <h2>No passkey yet?</h2>
          <p class="soft small">Ask your agent for a link. It opens this account once, within 15 minutes. After that you can add a passkey and come back without a link.</p>
          <CopyLine text="GET /get-auth-link" what="Call" />
        </div>
        <div class="stack tight">
          {lost ? (
            <LostPasskeys />
          ) : (
            <div>
              <Button kind="ghost" small onClick={() => setLost(true)}>
                I lost my passkeys
              </Button>
            </div>
          )}
        </div>
      </div>
    </PublicFrame>
  );
}
