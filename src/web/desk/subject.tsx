// What an act of an operator is about: ids, amounts and words. Its record has the words of the API.

import { Amount, Id } from "../parts";
import { approvalSays, isApproval, isJob, jobDoing } from "./words";

const ID = /^([a-z]+_[0-9a-f]{8,}|0x[0-9a-fA-F]{40,64}|[1-9A-HJ-NP-Za-km-z]{32,})$/;
const AMOUNT = /^\d+(\.\d{1,6})?$/;
/** Acts whose records have amounts. Other numbers are of blocks or leases. */
const WITH_AMOUNTS = /^(refund|approval|incoming|transfer|order)\./;

/** A word of a record, in words. */
export function subjectWord(word: string): string {
  if (word === "holder_keeps_product") return "the holder keeps what they bought";
  if (isApproval(word)) return approvalSays(word);
  if (isJob(word)) return jobDoing(word);
  return word.replaceAll("_", " ");
}

/** The id or wallet that the search finds, if a record names one. It knows no approvals, passkeys and sessions of the desk. */
export const idOf = (value: string): string | undefined => value.split(" ").find((part) => ID.test(part) && !/^(apr|pk|psk|dsk|ses|evt)_/.test(part));

export function Subject({ value, action = "" }: { value: string; action?: string }) {
  const parts = value.split(" ").filter((part) => part !== "");
  return (
    <span class="row wrap">
      {parts.map((part) =>
        ID.test(part) ? (
          <Id value={part} />
        ) : WITH_AMOUNTS.test(action) && AMOUNT.test(part) ? (
          <Amount value={part} />
        ) : (
          <span class="soft anywhere">{subjectWord(part)}</span>
        ),
      )}
    </span>
  );
}
