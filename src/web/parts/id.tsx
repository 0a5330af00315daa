// Ids, addresses and hashes: shortened, and copied by a click.

import { useState } from "preact/hooks";
import { classes } from "./classes";
import { Icon } from "./icon";
import { toast } from "./toast";

const KINDS: Record<string, string> = {
  card: "card id", pay: "payment id", top: "top-up id", po: "payout id", wd: "withdrawal id", eff: "work id", job: "job id", req: "request id",
  key: "key id", ak: "key id", ses: "session id", evt: "event id", rf: "refund id", dlv: "delivery id", wh: "webhook id", wpay: "wallet payment id",
  cw: "card withdrawal id", lr: "late return id",
};

/** `card_2e6c…c423`, `0x30ef…a6c9`. */
export function short(value: string): string {
  const id = /^([a-z_]+_)([0-9a-zA-Z]{12,})$/.exec(value);
  if (id?.[1] && id[2]) return `${id[1]}${id[2].slice(0, 4)}…${id[2].slice(-4)}`;
  if (/^0x[0-9a-fA-F]{64}$/.test(value)) return `${value.slice(0, 8)}…${value.slice(-6)}`;
  if (/^0x[0-9a-fA-F]{12,}$/.test(value)) return `${value.slice(0, 6)}…${value.slice(-4)}`;
  return value.length > 22 ? `${value.slice(0, 4)}…${value.slice(-4)}` : value;
}

/** Copies a text, and says so. */
export async function copy(text: string, said = "Copied"): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    toast("This browser does not let the page copy. Select the text instead.");
    return false;
  }
  toast(said);
  return true;
}

export interface IdProps {
  value: string;
  /** What it is, for the label: `deposit address`. Known from the prefix otherwise. */
  what?: string;
  /** Not shortened. */
  whole?: boolean;
}

export function Id({ value, what, whole }: IdProps) {
  const [copied, setCopied] = useState(false);
  const kind = what ?? KINDS[value.split("_")[0] ?? ""] ?? (value.startsWith("0x") && value.length === 66 ? "transaction hash" : "address");
  const onClick = async (event: MouseEvent) => {
    event.preventDefault();
    event.stopPropagation();
    if (await copy(value, `Copied ${kind}`)) {
      setCopied(true);
      setTimeout(() => setCopied(false), 1_400);
    }
  };
  return (
    <button type="button" class={classes("id", copied && "copied")} title={value} aria-label={`Copy ${kind} ${short(value)}`} onClick={onClick}>
      <span class={whole ? "anywhere" : undefined}>{whole ? value : short(value)}</span>
      <Icon name={copied ? "check" : "copy"} />
    </button>
  );
}

/** A command, link or address with a button that copies it. */
export function CopyLine({ text, what = "Command" }: { text: string; what?: string }) {
  return (
    <div class="copy-line">
      <span>{text}</span>
      <button type="button" class="button ghost small only-icon" aria-label={`Copy ${what.toLowerCase()}`} title="Copy" onClick={() => void copy(text)}>
        <Icon name="copy" />
      </button>
    </div>
  );
}
