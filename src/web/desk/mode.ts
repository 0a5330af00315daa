// Whether this is a sandbox, as each response says, and the pages that the menu leaves out.

import { frame } from "../parts";
import { may } from "./session";

/** The sandbox's page is for operators of a sandbox, and who works at the desk is for administrators. */
export function hidePages(): void {
  frame.hidden.value = [...(frame.sandbox.value && may("operate") ? [] : ["sandbox"]), ...(may("tokens") ? [] : ["operators"])];
}

export async function readMode(): Promise<void> {
  try {
    const answer = await fetch("/admin/session", { credentials: "same-origin", cache: "no-store" });
    frame.sandbox.value = answer.headers.get("X-Service-Mode") === "sandbox";
  } catch {
    // The page says that the service does not answer.
  }
}
