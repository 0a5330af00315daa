// Whether this is a sandbox, as each answer says: for pages that have no account to read it from.

import { frame } from "../parts";

export function readMode(answer: Response): void {
  frame.sandbox.value = answer.headers.get("X-Service-Mode") === "sandbox";
}
