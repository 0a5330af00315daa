// The lower part of Home, which is loaded after the first screen: what is held and owed, and what operators did.

import type { ComponentChildren } from "preact";
import { Amount, Log, Panel, Skeleton, StatusTag, Time, api, decimal, units, useLoaded, withQuery } from "../parts";
import type { AuditLogEntry } from "../api/operator";
import { actIcon, actSays, actTone, ledgerName } from "./acts";
import { Export, LoadError } from "./lists";
import { type QueueName, useEvery, useOnChange } from "./live";
import { Subject } from "./subject";

export interface Sum {
  account: string;
  side: "debit" | "credit";
  amount: string | number;
}
export interface Money {
  complete: boolean;
  transactions: number;
  last_transaction_at: string | null;
  accounts: Sum[];
  debits: string | number;
  credits: string | number;
}

/** Fees, costs and what the business itself put in: the difference between what is held and what is owed. */
const OWN = /^(fee_revenue|operating_costs|network_fees|bridge_surplus|losses|operator_funds)$/;

interface Line {
  account: string;
  /** In millionths, as its part counts it. */
  value: bigint;
}

/** The accounts by what they are: held is owed and what is left, so a treasury below zero is not a debt. */
export function parts(accounts: readonly Sum[]): { hold: Line[]; owe: Line[]; own: Line[] } {
  const found: { hold: Line[]; owe: Line[]; own: Line[] } = { hold: [], owe: [], own: [] };
  for (const { account, side, amount } of accounts) {
    const size = units(amount) ?? 0n;
    const debit = side === "debit" ? size : -size;
    // A provider that was paid ahead owes us.
    if (account.startsWith("treasury_") || (account.startsWith("provider_") && debit > 0n)) found.hold.push({ account, value: debit });
    else (OWN.test(account) ? found.own : found.owe).push({ account, value: -debit });
  }
  return found;
}

const total = (lines: Line[]): bigint => lines.reduce((sum, line) => sum + line.value, 0n);
const HUNDREDTH = 10_000n;

function Figures({ value, places }: { value: bigint; places: number }) {
  return <Amount value={decimal(value)} places={places} live />;
}

function Part({ title, lines, places, children }: { title: string; lines: Line[]; places: number; children?: ComponentChildren }) {
  return (
    <tbody>
      <tr class="part">
        <th scope="rowgroup">{title}</th>
        <td class="number">
          <Figures value={total(lines)} places={places} />
        </td>
      </tr>
      {lines.map(({ account, value }) => (
        <tr key={account}>
          <th scope="row">
            {ledgerName(account)}
            {account.startsWith("provider_") && title === "We hold" && <span class="quiet">, paid ahead</span>}
          </th>
          <td class="number">
            <Figures value={value} places={places} />
          </td>
        </tr>
      ))}
      {children}
    </tbody>
  );
}

export function Held({ money }: { money: Money }) {
  const equal = units(money.debits) === units(money.credits);
  const { hold, owe, own } = parts(money.accounts);
  // All lines with as many places as the finest, so that the points stand below one another.
  const places = [...hold, ...owe, ...own].some((line) => line.value % HUNDREDTH !== 0n) ? 6 : 2;
  const below = hold.filter((line) => line.value < 0n);
  return (
    <Panel
      title="Money held and owed"
      aside={<StatusTag tone={!money.complete ? "move" : equal ? "done" : "bad"}>{!money.complete ? "Being added up" : equal ? "The ledger balances" : "The ledger differs"}</StatusTag>}
      foot={
        <>
          <span>
            {money.transactions.toLocaleString("en")} {money.transactions === 1 ? "transaction" : "transactions"}
            {money.last_transaction_at && (
              <>
                , the last <Time at={money.last_transaction_at} />
              </>
            )}
          </span>
          <span class="row">
            <Export name="ledger-balances" rows={() => money.accounts} columns={[["Account", (row) => ledgerName(row.account)], ["Side", (row) => row.side], ["USDC", (row) => String(row.amount)]]} />
            <a href="/desk/reconciliation">Reconciliation</a>
          </span>
        </>
      }
    >
      {money.accounts.length === 0 ? (
        <p class="nothing">Nothing is in the ledger yet.</p>
      ) : (
        <table class="table tight-rows ledger">
          <caption class="only-read">What is held is what is owed and what is our own, by ledger account</caption>
          <Part title="We hold" lines={hold} places={places}>
            {below.length > 0 && (
              <tr class="why">
                <td colSpan={2} class="small soft">
                  Below zero: more left {below.length === 1 ? `the ${ledgerName(below[0]?.account ?? "").replace(/^T/, "t")}` : "these treasuries"} than the ledger saw arrive. A bridge’s fee is paid from our own USDC, which is in the ledger once its transfer in is kept as <a href="/desk/incoming">own funds</a>.
                </td>
              </tr>
            )}
          </Part>
          <Part title="We owe" lines={owe} places={places} />
          <Part title="Our own" lines={own} places={places} />
          <tfoot>
            <tr>
              <th scope="row">{equal ? "Owed and our own: as much as we hold" : "Owed and our own: not what we hold"}</th>
              <td class="number">
                <Figures value={total(owe) + total(own)} places={places} />
              </td>
            </tr>
          </tfoot>
        </table>
      )}
    </Panel>
  );
}

export function JustNow({ watched }: { watched: QueueName[] }) {
  const acts = useLoaded("acts", () => api.get<{ entries: AuditLogEntry[] }>(withQuery("/admin/audit", { order: "desc", limit: 6 })));
  useOnChange(watched, acts.reload);
  useEvery(15_000, acts.reload);
  return (
    <Panel title="What operators did" aside={<a href="/desk/audit">Audit log</a>} padded>
      {acts.error && !acts.data ? (
        <LoadError error={acts.error} retry={acts.reload} />
      ) : !acts.data ? (
        <Skeleton rows={4} />
      ) : acts.data.entries.length === 0 ? (
        <p class="soft">Nobody has done anything yet.</p>
      ) : (
        <Log
          label="Latest actions of operators"
          lines={acts.data.entries.map((act) => ({
            key: act.sequence,
            icon: actIcon(act.action),
            tone: actTone(act.action),
            text: (
              <>
                <b>{act.operator}</b> {actSays(act.action)}
              </>
            ),
            at: act.at,
            sub: <Subject value={act.subject} action={act.action} />,
          }))}
        />
      )}
    </Panel>
  );
}

export function Below({ money, watched }: { money: Money; watched: QueueName[] }) {
  return (
    <div class="columns wide-narrow">
      <Held money={money} />
      <JustNow watched={watched} />
    </div>
  );
}
