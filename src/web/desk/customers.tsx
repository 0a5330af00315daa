// Finding a customer by anything that somebody quotes.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Amount, Button, Empty, Icon, type IconName, Note, PageHead, Panel, Shell, Skeleton, Time, api, navigate, short, useLoaded, useRoute, withQuery } from "../parts";
import { Export, LoadError } from "./lists";
import { spaced, upper } from "./names";
import { kindName } from "./words";

export interface Hit {
  kind: string;
  id: string;
  status: string | null;
  wallet: string | null;
  amount: number | null;
  at: string | null;
  href: string;
}
interface Found {
  query: string;
  read_as: string;
  hits: Hit[];
  complete: boolean;
  next_after: string | null;
  not_searched: string[];
}

const READ_AS: Record<string, string> = {
  wallet: "a wallet", user_id: "a Solana wallet in lower case", transaction: "a transaction", request_id: "a request id", job_id: "the id of work", approval_id: "the id of an approval",
  id: "one of our ids", last4: "the last four of a card",
};
const ICONS: Record<string, IconName> = {
  account: "people", card: "card", intl_order: "globe", reloadable_card: "card", gift_card: "gift", payment: "wallet", payout: "send", top_up: "route", withdrawal: "out", card_withdrawal: "out",
  refund: "undo", session: "key", api_key: "key", webhook: "webhook", webhook_delivery: "webhook", job: "again", approval: "hand", transfer: "link", incoming_transfer: "inbox", discrepancy: "books",
};

/** The page of the desk that shows a hit. */
export function pageOfHit(hit: Hit): string {
  const wallet = hit.wallet && /^0x0+$/.test(hit.wallet) ? null : hit.wallet;
  if (hit.kind === "job") return `/desk/stuck?job=${hit.id}`;
  if (hit.kind === "approval") return "/desk/approvals";
  if (hit.kind === "incoming_transfer") return `/desk/incoming?id=${hit.id}`;
  if (hit.kind === "discrepancy") return "/desk/reconciliation";
  if (hit.kind === "line") return "/desk/lines";
  if (hit.kind === "intl_order" && (hit.status === "queued" || hit.status === "claimed")) return `/desk/orders?id=${hit.id}`;
  if (!wallet) return "/desk/customers";
  return hit.kind === "account" || hit.kind === "transfer" ? `/desk/customers/${wallet}` : `/desk/customers/${wallet}?id=${hit.id}`;
}

const KEY = "purser-desk-customers";

/** Wallets looked at in this tab. They are gone with it. */
function lastSeen(): string[] {
  try {
    const list: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(list) ? list.filter((one): one is string => typeof one === "string") : [];
  } catch {
    return [];
  }
}

export function remember(wallet: string): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([wallet, ...lastSeen().filter((one) => one !== wallet)].slice(0, 8)));
  } catch {
    // Without storage nothing is remembered.
  }
}

function SearchBox({ value }: { value: string }) {
  const text = useSignal(value);
  useEffect(() => {
    text.value = value;
  }, [value]);
  return (
    <form
      class="find-big"
      role="search"
      aria-label="Customers"
      onSubmit={(event) => {
        event.preventDefault();
        navigate(withQuery("/desk/customers", { q: text.value.trim() }));
      }}
    >
      <Icon name="search" large />
      <label class="only-read" for="find-big">
        Wallet, id, last four, transaction or request id
      </label>
      <input id="find-big" type="search" class="input" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} placeholder="Wallet, id, last four, hash, request id" autocomplete="off" spellcheck={false} />
      <Button kind="primary" type="submit">
        Find
      </Button>
    </form>
  );
}

function Results({ q }: { q: string }) {
  const after = useSignal<string | null>(null);
  const earlier = useSignal<Hit[]>([]);
  const found = useLoaded(`search ${q} ${after.value ?? ""}`, () => api.get<Found>(withQuery("/admin/search", { q, after: after.value })));
  const result = found.data;
  // One hit that can mean only one page is opened at once.
  useEffect(() => {
    if (!result || !result.complete || earlier.value.length > 0) return;
    const accounts = new Set(result.hits.map((hit) => hit.wallet));
    const first = result.hits[0];
    if (first && (result.hits.length === 1 || (accounts.size === 1 && result.read_as === "wallet"))) {
      const page = pageOfHit(first);
      navigate(`${page}${page.includes("?") ? "&" : "?"}${new URLSearchParams({ by: result.read_as })}`, { replace: true });
    }
  }, [result]);
  if (found.error) return <LoadError error={found.error} retry={found.reload} />;
  if (!result) return <Skeleton rows={4} label="Searching" />;
  const hits = [...earlier.value, ...result.hits];
  return (
    <>
      <Panel title={hits.length === 0 ? `Nothing known as “${q}”` : `${hits.length} found`} aside={
          <span class="row wrap">
            {result.read_as !== "other" && <>Read as {READ_AS[result.read_as] ?? result.read_as}</>}
            {hits.length > 0 && (
              <Export
                name="search"
                rows={() => hits}
                columns={[
                  ["kind", (row) => row.kind],
                  ["id", (row) => row.id],
                  ["wallet", (row) => row.wallet],
                  ["status", (row) => row.status],
                  ["amount", (row) => (row.amount === null ? null : String(row.amount))],
                  ["at", (row) => row.at],
                ]}
              />
            )}
          </span>
        }
      >
        {hits.length === 0 ? (
          <Empty
            icon="search"
            actions={
              /^(req|apr)_/.test(q) && (
                <Button icon="audit" href={withQuery("/desk/audit", { q })}>
                  Look in the audit log
                </Button>
              )
            }
            title={result.complete ? "Only whole texts are found" : "Not in the part that was searched"}
          >
            It must be a whole wallet, one of our ids, a transaction, a Request-Id, or the last four digits of a card.
          </Empty>
        ) : (
          <ul class="list">
            {hits.map((hit) => (
              <li key={`${hit.kind} ${hit.id}`}>
                <a class="cell hit-cell" href={pageOfHit(hit)}>
                  <Icon name={ICONS[hit.kind] ?? "file"} />
                  <span>
                    <b>{kindName(hit.kind)}</b> <span class="mono small">{short(hit.id)}</span>
                    <span class="small quiet block">
                      {hit.wallet && hit.kind !== "account" && <>of {short(hit.wallet)} </>}
                      {hit.at && <Time at={hit.at} />}
                    </span>
                  </span>
                  <span class="number small">
                    {hit.amount !== null && <Amount value={hit.amount} currency="USDC" />} {hit.status && <span class="soft">{upper(spaced(hit.status))}</span>}
                  </span>
                </a>
              </li>
            ))}
          </ul>
        )}
        {!result.complete && (
          <div class="panel-foot">
            <span>Only a part was searched.</span>
            <Button
              small
              icon="search"
              onClick={() => {
                earlier.value = hits;
                after.value = result.next_after;
              }}
            >
              Search on
            </Button>
          </div>
        )}
      </Panel>
      {result.not_searched.length > 0 && result.read_as !== "other" && (
        <Note tone="info" title="What this search cannot find">
          {result.not_searched.join(" ")}
        </Note>
      )}
    </>
  );
}

export default function Customers() {
  const { query } = useRoute();
  const q = (query.get("q") ?? "").trim().replace(/^0X/, "0x");
  const seen = lastSeen();
  return (
    <Shell app="desk" page="customers" title="Customers">
      <PageHead title="Customers">Whatever somebody quotes finds them.</PageHead>
      <div class="stack">
        <SearchBox value={q} />
        {q ? (
          <Results key={q} q={q} />
        ) : seen.length > 0 ? (
          <Panel title="Last looked at" aside="in this tab">
            <ul class="list">
              {seen.map((wallet) => (
                <li key={wallet}>
                  <a class="cell" href={`/desk/customers/${wallet}`}>
                    <span class="mono">{short(wallet)}</span>
                  </a>
                </li>
              ))}
            </ul>
          </Panel>
        ) : (
          <Panel>
            <Empty icon="people" title="Nobody looked at yet">
              Ask for anything that names them: the wallet that pays, a card’s last four digits, the id in an error, a transaction on Base or Solana.<span class="wide-only"> Press <kbd>/</kbd> anywhere to search.</span>
            </Empty>
          </Panel>
        )}
      </div>
    </Shell>
  );
}

