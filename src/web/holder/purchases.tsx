// All purchases of the account by period, whoever paid, as on Home’s spending; as a file and on paper.

import { useState } from "preact/hooks";
import { Amount, Empty, Panel, Skeleton, Status, Table, isZero, present, useRoute } from "../parts";
import { account, mayAct } from "./account";
import { walletOf } from "./data/agents";
import { Bought } from "./data/bought";
import { type Place, useLoad, usePages } from "./data/load";
import { type Purchase, exportPurchases, purchaseSumWords, purchasesSlice, readPurchaseSums } from "./data/purchases";
import { LoadError, Pager } from "./pager";
import { Day, NEWEST_ONLY, OF_PURCHASES, StatementBar, StatementPage, Sum, periodOf, usePaper } from "./statement-period";

const PAGE = 50;
const EVENTS = ["payment.*", "balance.*", "wallet_payment.settled"];

function What({ row }: { row: Purchase }) {
  return (
    <>
      {row.page ? (
        <a class="lead" href={row.page}>
          {row.words}
        </a>
      ) : (
        <b>{row.words}</b>
      )}
      <div class="small quiet row wrap">
        {row.agent && <span>by {row.agent}</span>}
        <span class="print-only mono anywhere">{row.transaction || (row.cause ?? row.id)}</span>
        {row.status && <Status kind={row.status[0]} value={row.status[1]} />}
        <span class="narrow-only no-print">
          <Day at={row.at} />
        </span>
      </div>
    </>
  );
}

export function Purchases() {
  const { query } = useRoute();
  const { shown, days } = periodOf(query);
  const { period } = shown;
  const isOver = period.until !== undefined && Date.parse(period.until) <= present();
  const addresses = mayAct.value ? walletOf(account.value)?.addresses : undefined;
  const wallet = addresses ? [addresses.base, addresses.solana] : [];
  const key = `${wallet.length} ${period.from} ${period.until}`;
  const types = isOver ? [] : EVENTS;
  const [bought] = useState(() => new Bought());
  const slice = (place: Place | undefined, limit: number) => purchasesSlice({ period, wallet, bought }, place, limit);
  const list = usePages<Purchase, Place>(`purchases ${key}`, (place) => slice(place, PAGE), { types, after: (rows, _event, page) => (page === 0 ? "reload" : rows) });
  const sums = useLoad(`purchase sums ${key}`, () => readPurchaseSums(period), { types, atMostEvery: 2_000 });
  const paper = usePaper<Purchase, Place>((place) => slice(place, 100));
  return (
    <StatementPage
      shown={shown}
      name="Statement of all purchases"
      text="Everything that was bought, from whichever wallet or balance it was paid, and what came back of it."
      file={{ title: `Purchases of ${shown.name}`, name: `purser-purchases-${shown.file}.csv`, read: (progress, stopped) => exportPurchases(period, wallet, progress, stopped) }}
      paper={paper}
    >
      <StatementBar shown={shown} days={days} of={OF_PURCHASES} />
      {sums.error && !sums.data && <LoadError error={sums.error} what="the sums" retry={sums.reload} />}
      {sums.data && (
        <dl class="sums">
          <Sum name="Paid" value={sums.data.spent} />
          <Sum name="Came back" value={sums.data.credited} />
          <Sum name="Spent" value={sums.data.inAll} />
        </dl>
      )}
      {list.error && <LoadError error={list.error} what="the purchases" retry={list.reload} />}
      <Panel>
        {list.data === undefined ? (
          !list.error && <Skeleton rows={8} label="Loading the purchases" />
        ) : list.data.length === 0 ? (
          <Empty icon="statement" title={`Nothing in ${days ? "these days" : shown.name}`}>
            Cards, gift cards, payouts, top-ups and paid calls appear here.
          </Empty>
        ) : (
          <Table
            caption="Purchases, the newest first"
            rows={paper.rows?.rows ?? list.data}
            rowKey={(row) => row.id}
            href={(row) => row.page}
            columns={[
              { title: "Date", fold: "hidden", cell: (row) => <Day at={row.at} /> },
              { title: "What", heads: true, fold: "first", class: "two-lines", cell: (row) => <What row={row} /> },
              { title: "Paid from", fold: "whole", cell: (row) => <span class="soft">{row.from.charAt(0).toUpperCase() + row.from.slice(1)}</span> },
              { title: "Amount", number: true, fold: "first-right", cell: (row) => (isZero(row.change) ? <Amount value={row.amount} struck /> : <Amount value={row.change} sign />) },
            ]}
          />
        )}
      </Panel>
      <Pager what="purchases" {...list} />
      {sums.data && <p class="small quiet">{purchaseSumWords(sums.data)} The same sums as the spending on Home. What came back counts when it came back. Times are in your time zone.{paper.rows?.next !== undefined && NEWEST_ONLY}</p>}
    </StatementPage>
  );
}
