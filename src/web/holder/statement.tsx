// The statement of the balance or of the agents’ wallet: a month or any days, with a running balance, as a file and on
// paper.

import { useEffect, useState } from "preact/hooks";
import { Amount, type AmountValue, Empty, Id, Note, Panel, Segments, Skeleton, Table, byWords, compare, less, money, onEvent, setQuery, sum, useRoute, present } from "../parts";
import { readWallet } from "./data/agents";
import { Bought, type Thing } from "./data/bought";
import { type Slice, useLoad, usePages } from "./data/load";
import { type Line, type Show, type Shown, effectOf, effectText, exportCsv, linePage, lineWords, payeeOf, readSums, statementSlice, sumWords } from "./data/statement";
import { LoadError, NoMatch, Pager } from "./pager";
import { Purchases } from "./purchases";
import { Day, NEWEST_ONLY, OF_PURCHASES, OF_WALLET, StatementBar, StatementPage, Sum, periodOf, usePaper } from "./statement-period";

const PAGE = 50;

const CHOICES: { value: Show; text: string }[] = [
  { value: "all", text: "All" },
  { value: "in", text: "In" },
  { value: "out", text: "Out" },
  { value: "held", text: "Held" },
];

/** The line of a payment follows its event: a job tells the wallet. */
const LINE_AFTER_MS = 1_500;

export default function Statement() {
  const { query } = useRoute();
  return query.get("account") === OF_PURCHASES ? <Purchases /> : <Changes />;
}

/** The changes of the balance, or of the agents’ wallet. */
function Changes() {
  const { query } = useRoute();
  const { shown: span, days } = periodOf(query);
  const agents = query.get("account") === OF_WALLET;
  const shown: Shown = agents ? { ...span, period: { ...span.period, of: "agent_wallet" }, file: `agents-wallet-${span.file}` } : span;
  const show = CHOICES.find((one) => one.value === query.get("show"))?.value ?? "all";
  // A period that is over does not change.
  const isOver = shown.period.until !== undefined && Date.parse(shown.period.until) <= present();
  const types = isOver || agents ? [] : ["balance.*"];
  const key = `${agents} ${shown.period.from} ${shown.period.until}`;
  const [bought] = useState(() => new Bought());
  const withThings = async (slice: Promise<Slice<Line, string>>): Promise<Slice<Line, string>> => {
    await bought.find((await slice).rows);
    return slice;
  };
  const lines = usePages<Line, string>(`statement ${key} ${show}`, (after) => withThings(statementSlice(shown.period, show, after, PAGE)), {
    types,
    after: (rows, _event, page) => (page === 0 ? "reload" : rows),
  });
  const sums = useLoad(
    `sums ${key}`,
    async () => {
      // After the sums: the service has noted by then what the wallet received.
      const read = await readSums(shown.period);
      const chains = agents && !isOver ? await readChains() : undefined;
      return { ...read, held: chains?.held ?? read.held, available: chains?.available ?? read.available, chains };
    },
    { types, atMostEvery: 2_000 },
  );
  const { page, reload: reloadLines } = lines;
  const { reload: reloadSums } = sums;
  useEffect(() => {
    if (!agents || isOver) return undefined;
    let timer = 0;
    const off = onEvent("wallet_payment.settled", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        reloadSums();
        if (page === 0) reloadLines();
      }, LINE_AFTER_MS);
    });
    return () => {
      clearTimeout(timer);
      off();
    };
  }, [agents, isOver, page, reloadLines, reloadSums]);
  const paper = usePaper<Line, string>((after) => withThings(statementSlice(shown.period, show, after, 100)));
  const printed = paper.rows ?? { rows: lines.data, next: lines.hasNext ? "" : undefined };

  return (
    <StatementPage
      shown={shown}
      name={agents ? "Statement of the agents’ wallet" : "Statement of account"}
      text={
        agents
          ? "What your agents paid from their wallet, and what it received. Refunds of such purchases go to your balance."
          : "Every change of your balance. What agents pay from a wallet of their own is not part of it."
      }
      file={{ title: `Statement of ${shown.name}`, name: `purser-statement-${shown.file}.csv`, read: (progress, stopped) => exportCsv(shown.period, progress, stopped) }}
      paper={paper}
    >
      <StatementBar shown={shown} days={days} of={agents ? OF_WALLET : ""}>
        <Segments label="Show" options={agents ? CHOICES.filter((one) => one.value !== "held") : CHOICES} value={show} onChange={(value) => setQuery({ show: value === "all" ? undefined : value })} />
      </StatementBar>
      {sums.error && !sums.data && <LoadError error={sums.error} what="the sums" retry={sums.reload} />}
      {sums.data && (
        <dl class="sums">
          <Sum name="Opening" value={sums.data.opening} />
          <Sum name="In" value={sums.data.credited} />
          <Sum name="Out" value={sums.data.debited} out />
          <Sum name="Balance" value={sums.data.balance} />
          {sums.data.held !== undefined && <Sum name={isOver ? "Held" : "Held now"} value={sums.data.held} />}
          {sums.data.available !== undefined && <Sum name={isOver ? "Available" : "Available now"} value={sums.data.available} />}
        </dl>
      )}
      {sums.data && <OnChains chains={sums.data.chains} balance={sums.data.balance} />}
      {lines.error && <LoadError error={lines.error} what="the statement" retry={lines.reload} />}
      <Panel>
        {lines.data === undefined ? (
          !lines.error && <Skeleton rows={8} label="Loading the statement" />
        ) : lines.data.length === 0 ? (
          show === "all" ? (
            <Empty icon="statement" title={`Nothing in ${days ? "these days" : shown.name}`}>
              {agents
                ? "Paid calls and transfers from the agents’ wallet appear here, and what it receives."
                : "Credits, refunds, deposits and withdrawals appear here. A card that an agent pays for itself does not touch your balance."}
            </Empty>
          ) : (
            <NoMatch clear={() => setQuery({ show: undefined })}>No line of this kind is in {days ? "these days" : shown.name}.</NoMatch>
          )
        ) : (
          <Lines lines={printed.rows ?? lines.data} bought={bought} marked={query.get("of")} opening={sums.data && printed.next === undefined && show === "all" && shown.period.from ? { amount: sums.data.opening, at: shown.period.from } : undefined} />
        )}
      </Panel>
      <Pager what="lines" {...lines} />
      {sums.data && (
        <p class="small quiet">
          {sumWords(sums.data)} {agents && "What was received has the time at which it was noticed. "}Times are in your time zone, days of limits in UTC.
          {paper.rows?.next !== undefined && NEWEST_ONLY}
        </p>
      )}
    </StatementPage>
  );
}

/** What the wallet has on both chains now. */
interface OnBoth {
  balance: string;
  held: string;
  available: string;
}

/** Null if the chains can't be read. */
const readChains = (): Promise<OnBoth | null> =>
  readWallet().then(
    ({ balances: { base, solana } }) => ({ balance: sum(base.balance, solana.balance), held: sum(base.held, solana.held), available: sum(base.available, solana.available) }),
    () => null,
  );

/** What the lines do not say of what is on the chains. */
function OnChains({ chains, balance }: { chains: OnBoth | null | undefined; balance: AmountValue }) {
  if (chains === undefined) return null;
  if (chains === null) return <Note tone="wait">The chains cannot be read now. What the wallet received of late may be missing here.</Note>;
  const more = compare(chains.balance, balance);
  if (more === 0) return null;
  return (
    <Note tone="info">
      {money(chains.balance)} is on the chains now. {more > 0 ? `${money(less(chains.balance, balance))} of it has no line yet.` : `${money(less(balance, chains.balance))} of payments that are on their way have no line yet.`}
    </Note>
  );
}

function Held({ line }: { line: Line }) {
  if (effectOf(line) !== 0n) return null;
  return (
    <span class="quiet small">
      {money(line.amount)} {line.type === "released" ? "released" : "held"}
    </span>
  );
}

/** Of the agents’ wallet: to whom what was bought was paid, and by which agent. */
function PaidBy({ line, thing }: { line: Line; thing: Thing | undefined }) {
  if (line.type !== "debited" || !line.wallet_payment) return null;
  return (
    <span>
      {thing && `to ${payeeOf(line)}, `}by {line.api_key?.name ?? "an agent that signed in"}
    </span>
  );
}

function Lines({ lines, bought, opening, marked }: { lines: Line[]; bought: Bought; opening: { amount: AmountValue; at: string } | undefined; marked: string | null }) {
  return (
    <Table
      caption="Lines of the statement, the newest first"
      rows={lines}
      rowKey={(line) => line.entry_id}
      href={(line) => linePage(line, bought.of(line))}
      rowClass={(line) => (line.cause === marked ? "marked" : undefined)}
      columns={[
        { title: "Date", fold: "hidden", cell: (line) => <Day at={line.created_at} /> },
        {
          title: "What",
          heads: true,
          fold: "first",
          class: "two-lines",
          cell: (line) => {
            const thing = bought.of(line);
            const page = linePage(line, thing);
            return (
              <>
                {page ? (
                  <a class="lead" href={page}>
                    {lineWords(line, thing)}
                  </a>
                ) : (
                  <b>{lineWords(line, thing)}</b>
                )}
                <div class="small quiet row wrap">
                  <PaidBy line={line} thing={thing} />
                  {bought.by(line) && <span>{byWords(bought.by(line) ?? "")}</span>}
                  {line.wallet_payment?.note && <span class="anywhere">“{line.wallet_payment.note}”</span>}
                  <span class="no-print">
                    <Id value={line.wallet_payment?.tx_hash ?? line.cause} />
                  </span>
                  <span class="print-only mono anywhere">{line.wallet_payment?.tx_hash ?? line.cause}</span>
                  <span class="narrow-only no-print">
                    <Day at={line.created_at} />
                  </span>
                </div>
              </>
            );
          },
        },
        { title: "In", number: true, fold: "hidden", class: "in-or-out", cell: (line) => effectOf(line) > 0n && <Amount value={line.amount} /> },
        { title: "Out", number: true, fold: "hidden", class: "in-or-out", cell: (line) => (effectOf(line) < 0n ? <Amount value={line.amount} /> : <Held line={line} />) },
        { title: "Amount", number: true, fold: "first-right", class: "one-amount", cell: (line) => (effectOf(line) === 0n ? <Held line={line} /> : <Amount value={effectText(line)} sign />) },
        { title: "Balance", number: true, fold: "second-right", cell: (line) => <Amount value={line.balance} /> },
      ]}
      foot={
        opening && (
          <tr role="row">
            <td role="cell" class="fold-hidden" />
            <th role="rowheader" scope="row" class="fold-first">
              Opening balance, <Day at={opening.at} time={false} />
            </th>
            <td role="cell" class="fold-hidden in-or-out" />
            <td role="cell" class="fold-hidden in-or-out" />
            <td role="cell" class="fold-hidden one-amount" />
            <td role="cell" class="number fold-first-right">
              <Amount value={opening.amount} />
            </td>
          </tr>
        )
      }
    />
  );
}

