// The operator's desk: its pages, and signing in.

import "../parts/styles.css";
import { render } from "preact";
import { Empty, type PageRow, Pages, Shell, Skeleton, passkeyPaths, startRouter } from "../parts";

Object.assign(passkeyPaths, {
  signInOptions: "/desk/login/passkey/options",
  signIn: "/desk/login/passkey",
  addOptions: "/desk/passkeys/options",
  add: "/desk/passkeys",
  confirmOptions: "/desk/confirm/options",
  confirm: "/desk/confirm",
});

const PAGES: PageRow[] = [{ path: "/desk", load: () => import("./home") }];

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
      <Empty icon="search" title="There is no such page" />
    </Shell>
  );
}

function App() {
  return <Pages rows={PAGES} loading={Loading} missing={Missing} />;
}

startRouter("/desk");
const root = document.getElementById("app");
if (root) render(<App />, root);
