// The operator's desk: its pages, and signing in.

import "../parts/styles.css";
import "./desk.css";
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button, Empty, type PageRow, Pages, Shell, Skeleton, type ApiFailure, api, failure, frame, passkeyPaths, signedOut, startRouter, unauthorized } from "../parts";
import { startAnnouncing } from "./announce";
import { startLive, stopLive } from "./live";
import { hidePages, readMode } from "./mode";
import { operator, readSession } from "./session";

Object.assign(passkeyPaths, {
  signInOptions: "/desk/login/passkey/options",
  signIn: "/desk/login/passkey",
  addOptions: "/desk/passkeys/options",
  add: "/desk/passkeys",
  confirmOptions: "/desk/confirm/options",
  confirm: "/desk/confirm",
});

const PAGES: PageRow[] = [
  { path: "/desk", load: () => import("./home") },
  { path: "/desk/orders", load: () => import("./orders") },
  { path: "/desk/orders/withdrawals", load: () => import("./withdrawals") },
  { path: "/desk/orders/actions", load: () => import("./card-actions") },
  { path: "/desk/stuck", load: () => import("./stuck") },
  { path: "/desk/refunds", load: () => import("./refunds") },
  { path: "/desk/approvals", load: () => import("./approvals") },
  { path: "/desk/incoming", load: () => import("./incoming") },
  { path: "/desk/customers", load: () => import("./customers") },
  { path: "/desk/customers/:wallet", load: () => import("./customer") },
  { path: "/desk/reconciliation", load: () => import("./reconciliation") },
  { path: "/desk/audit", load: () => import("./audit") },
  { path: "/desk/webhooks", load: () => import("./webhooks") },
  { path: "/desk/supervision", load: () => import("./supervision") },
  { path: "/desk/operators", load: () => import("./operators") },
  { path: "/desk/lines", load: () => import("./lines") },
  { path: "/desk/me", load: () => import("./me") },
  { path: "/desk/sandbox", load: () => import("./sandbox") },
];

// At once, so that the page asks to sign in instead of showing an error.
unauthorized.run = () => {
  signedOut.value = true;
};

const broken = signal<ApiFailure | null>(null);

async function start(): Promise<void> {
  broken.value = null;
  try {
    await readSession();
    signedOut.value = false;
    if (operator.value && !operator.value.mustAddPasskey) startLive(operator.value.sessionId ?? operator.value.name);
  } catch (thrown) {
    if (!signedOut.value) broken.value = failure(thrown);
  }
}

frame.signOut.run = async () => {
  try {
    await api.post("/desk/sign-out");
  } finally {
    operator.value = null;
    stopLive();
    signedOut.value = true;
  }
};

function Loading() {
  return (
    <Shell app="desk" page="" title="Loading">
      <Skeleton rows={8} label="Loading" />
    </Shell>
  );
}

function Missing() {
  return (
    <Shell app="desk" page="" title="Not found">
      <h1 class="only-read">Not found</h1>
      <Empty icon="search" title="There is no such page" actions={<Button href="/desk">Home</Button>}>
        The address may be old. What you look for may be found by its id.
      </Empty>
    </Shell>
  );
}

/** Most visits have a session, so signing in is a file of its own. */
function SignIn({ first }: { first?: boolean }) {
  const [pages, setPages] = useState<typeof import("./sign-in") | null>(null);
  useEffect(() => {
    void import("./sign-in").then(setPages);
  }, []);
  if (!pages) return null;
  return first ? <pages.FirstPasskeyPage onDone={() => void start()} /> : <pages.SignInPage onDone={() => void start()} />;
}

function App() {
  if (signedOut.value) return <SignIn />;
  if (broken.value) {
    return (
      <Shell app="desk" page="" title="Not loaded">
        <h1 class="only-read">Not loaded</h1>
        <Empty
          icon="alert"
          title="The service does not answer"
          actions={
            <Button icon="again" onClick={() => void start()}>
              Try again
            </Button>
          }
        >
          {broken.value.said}
        </Empty>
      </Shell>
    );
  }
  if (!operator.value) return <Loading />;
  if (operator.value.mustAddPasskey) return <SignIn first />;
  return <Pages rows={PAGES} loading={Loading} missing={Missing} />;
}

startRouter("/desk");
startAnnouncing();
effect(() => {
  if (signedOut.value) stopLive();
});
effect(hidePages);
void readMode();
void start();
const root = document.getElementById("app");
if (root) render(<App />, root);
