// Transactions on their chains: the hash, and where anybody can look it up.

import { Id, OutLink, frame } from "../parts";

const NAMES: Record<string, string> = { base: "Base", solana: "Solana" };

/** `base`, `solana` or a CAIP-2 name as one of our two chains. */
export function chainOf(network: string): "base" | "solana" | null {
  if (network === "base" || network.startsWith("eip155:")) return "base";
  if (network === "solana" || network.startsWith("solana:")) return "solana";
  return null;
}

export function chainName(network: string): string {
  const chain = chainOf(network);
  return chain ? (NAMES[chain] ?? network) : network;
}

const SOLANA_MAINNET = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";

/** The explorer's page of a transaction. None for chains that exist only in this service. */
export function explorerUrl(transaction: string, network: string): string | null {
  if (frame.sandbox.value) return null;
  const id = encodeURIComponent(transaction);
  switch (chainOf(network)) {
    case "base":
      return `https://${network === "eip155:84532" ? "sepolia." : ""}basescan.org/tx/${id}`;
    case "solana":
      return `https://explorer.solana.com/tx/${id}${network.startsWith("solana:") && network !== SOLANA_MAINNET ? "?cluster=devnet" : ""}`;
    default:
      return null;
  }
}

/** An address of another site, if it is one: what a provider names must not run in this page. */
export const webAddress = (url: string | null | undefined): string | null => (url && /^https?:\/\//i.test(url) ? url : null);

/** The same, or a page of this service: in the sandbox, identity is checked there. */
export const checkAddress = (url: string | null | undefined): string | null => webAddress(url) ?? (url && /^\/[^/\\]/.test(url) ? url : null);

export interface TransactionProps {
  hash: string;
  network: string;
}

/** A transaction's hash, with a link to the explorer of its chain. */
export function Transaction({ hash, network }: TransactionProps) {
  const url = explorerUrl(hash, network);
  return (
    <span class="row wrap transaction">
      <Id value={hash} what="transaction hash" />
      {url ? <OutLink href={url}>See it on {chainName(network)}</OutLink> : <span class="small quiet">sandbox chain, no explorer</span>}
    </span>
  );
}
