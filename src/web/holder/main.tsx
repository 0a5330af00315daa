// The holder's dashboard: its pages, and what is shown without a session or while the account is frozen.

import "../parts/styles.css";
import "./home.css";
import "./holder.css";
import { render } from "preact";
import { Button, Empty, type PageRow, Pages, Shell, Skeleton, frame, frozen, lazy, signedOut, startRouter } from "../parts";
import { account, accountError, agentsStopped, loadAccount, startAccount } from "./account";
import { StoppedNote } from "./stop-agents";
import { startWaiting } from "./waiting";

const PAGES: PageRow[] = [
  { path: "/dashboard", load: () => import("./home") },
  { path: "/dashboard/cards", load: () => import("./cards") },
  { path: "/dashboard/cards/:card_id", load: () => import("./card") },
  { path: "/dashboard/transfers", load: () => import("./transfers") },
  { path: "/dashboard/transfers/:id", load: () => import("./transfer") },
  { path: "/dashboard/payments/:id", load: () => import("./payment") },
  { path: "/dashboard/agents", load: () => import("./agents") },
  { path: "/dashboard/statement", load: () => import("./statement") },
  { path: "/dashboard/settings", load: () => import("./settings") },
];

// Shown instead of the pages, so they are no part of the first screen.
const FrozenPage = lazy(() => import("./frozen").then((file) => file.FrozenPage));
const SignInPage = lazy(() => import("./sign-in").then((file) => file.SignInPage));

const RecoveryNote = lazy(() => import("./recovery").then((file) => file.RecoveryNote));

function Notes() {
  const hasNote = account.value?.recovery || agentsStopped.value;
  if (!hasNote || frozen.value !== null) return null;
  return (
    <div class="stack before-hero">
      {account.value?.recovery && <RecoveryNote />}
      <StoppedNote />
    </div>
  );
}

function Loading() {
  return (
    <Shell app="holder" page="" title="Loading">
      <Skeleton rows={8} label="Loading your account" />
    </Shell>
  );
}

function Missing() {
  return (
    <Shell app="holder" page="" title="Not found">
      <h1 class="only-read">Not found</h1>
      <Empty icon="search" title="There is no such page" actions={<Button href="/dashboard">Home</Button>}>
        The address may be old. Everything of your account is reached from Home.
      </Empty>
    </Shell>
  );
}

function Failed() {
  return (
    <Shell app="holder" page="" title="Not loaded">
      <h1 class="only-read">Not loaded</h1>
      <Empty icon="alert" title="This page could not be loaded" actions={<Button icon="again" onClick={() => location.reload()}>Try again</Button>}>
        The service does not answer, or was updated meanwhile.
      </Empty>
    </Shell>
  );
}

function App() {
  if (frozen.value !== null) return <FrozenPage message={frozen.value} />;
  if (signedOut.value) return <SignInPage />;
  if (!account.value && accountError.value) {
    return (
      <Shell app="holder" page="" title="Not loaded">
        <h1 class="only-read">Not loaded</h1>
        <Empty icon="alert" title="Your account could not be loaded" actions={<Button icon="again" onClick={() => void loadAccount()}>Try again</Button>}>
          {accountError.value.said}
        </Empty>
      </Shell>
    );
  }
  return <Pages rows={PAGES} loading={Loading} missing={Missing} failed={Failed} />;
}

frame.notes.value = Notes;
startRouter("/dashboard");
startWaiting();
void startAccount();
const root = document.getElementById("app");
if (root) render(<App />, root);
