// The pages that anybody can open. In work.

import "../parts/styles.css";
import { render } from "preact";
import { PublicFrame } from "../parts";

const root = document.getElementById("app");
if (root) {
  render(
    <PublicFrame title="Purser">
      <h1>Purser</h1>
    </PublicFrame>,
    root,
  );
}
