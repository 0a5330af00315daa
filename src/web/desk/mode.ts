// Whether this is a sandbox, as each response says.

import { frame } from "../parts";

export async function readMode(): Promise<void> {
  try {
    const answer = await fetch("/admin/session", { credentials: "same-origin", cache: "no-store" });
    frame.sandbox.value = answer.headers.get("X-Service-Mode") === "sandbox";
    frame.hidden.value = frame.sandbox.value ? [] : ["sandbox"];
  } catch {
    // The page says that the service does not answer.
  }
}
