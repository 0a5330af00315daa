// What an act of an operator is about: an id, or an id with words, or words.

import { Id } from "../parts";

const ID = /^([a-z]+_[0-9a-f]{8,}|0x[0-9a-fA-F]{40,64}|[1-9A-HJ-NP-Za-km-z]{32,})$/;

export function Subject({ value }: { value: string }) {
  const parts = value.split(" ").filter((part) => part !== "");
  return (
    <span class="row wrap">
      {parts.map((part) => (ID.test(part) ? <Id value={part} /> : <span class="soft anywhere">{part}</span>))}
    </span>
  );
}
