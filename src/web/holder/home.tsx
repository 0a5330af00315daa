// Home answers in order: what I have, what needs me, what happened, what is on its way.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import {
  Amount, type AmountValue, Avatar, BigAmount, Button, CopyLine, Empty, ErrorLine, type IconName, Panel, Route, Shade, Shell, Skeleton, api, clockSeconds, compare, connection, failure, hasPasskeys, isZero, lazy,
  now, since, sum, units, until, useLoaded,
} from "../parts";
import { account, loadAccount, mayAct, serviceUrl } from "./account";
import { type Approval, approvalAgent, approvalReason, approvalSays, approvalWords } from "./approvals";
import { checkAddress } from "./chain";
import { Feed, useFeed } from "./feed";
import { type LoadedTransfers, type OnWay, type Transfers, claimLeft, onWay, payoutWords, useTransfers } from "./in-flight";
import { LookNote } from "./look-note";
import { StopAgentsButton, StopAgentsDialog } from "./stop-agents";
import { loadWaiting, waiting } from "./waiting";

const SpendingPanel = lazy(
  () => import("./spending").then((file) => file.SpendingPanel),
  () => (
    <Panel title="Spending">
      <Skeleton rows={6} label="Loading your spending" />
    </Panel>
  ),
);
const AgentsToday = lazy(() => import("./today").then((file) => file.AgentsToday));
const AddMoneyDialog = lazy(() => import("./add-money").then((file) => file.AddMoneyDialog));
const PasskeyDialog = lazy(() => import("./add-passkey").then((file) => file.AddPasskey));
const WithdrawDialog = lazy(() => import("./withdraw-to").then((file) => file.Withdraw));
const ApprovalDialog = lazy(() => import("./approval-dialog").then((file) => file.ApprovalDialog));
const DeclineDialog = lazy(() => import("./approval-dialog").then((file) => file.DeclineDialog));

/** Of a balance outside the account's own: `undefined` if there is none, `null` if it cannot be read now. */
type Outside = string | number | null | undefined;

interface Balances {
  wallet: Outside;
  issuer: Outside;
}

/** What the one code means that says that there is no such balance. Any other failure: it is not known now. */
const absentWith = (code: string) => (error: unknown) => (failure(error).code === code ? undefined : null);

async function loadBalances(hasWallet: boolean, isLinked: boolean): Promise<Balances> {
  const wallet = hasWallet
    ? api.call<{ balances?: Record<string, { available?: string | number; usdc?: string | number } | string | number> }>("getAgentWallet", {}).then(
        (result) =>
          sum(
            ...Object.values(result.balances ?? {}).map((one) => (typeof one === "object" ? (one.available ?? one.usdc) : one)),
          ),
        absentWith("agent_wallet_not_found"),
      )
    : undefined;
  const issuer = isLinked
    ? api.get<{ balance?: string | number }>("/get-card-deposit-address").then(
        (answer) => answer.balance ?? null,
        absentWith("issuer_not_linked"),
      )
    : undefined;
  const [walletBalance, issuerBalance] = await Promise.all([wallet, issuer]);
  return { wallet: walletBalance, issuer: issuerBalance };
}

interface Pot {
  kind: "balance" | "wallet" | "issuer" | "cards" | "held" | "moving";
  name: string;
  /** `null` while it cannot be read, `undefined` until it is there. */
  value: AmountValue;
}

/** Where the money is, in one bar and in figures. */
function Pots({ pots }: { pots: Pot[] }) {
  const bar = useRef<HTMLDivElement>(null);
  // Proportions of a part would change with each that comes.
  const isKnown = pots.every((pot) => pot.value !== undefined);
  const filled = isKnown ? pots.filter((pot) => compare(pot.value, 0) > 0) : [];
  const parts = filled.map((pot) => String(units(pot.value) ?? 0n)).join();
  useEffect(() => {
    const whole = filled.reduce((total, pot) => total + (units(pot.value) ?? 0n), 0n);
    for (const [index, pot] of filled.entries()) {
      const piece = bar.current?.children[index];
      if (piece instanceof HTMLElement) piece.style.flexGrow = String(Number(((units(pot.value) ?? 0n) * 10_000n) / (whole || 1n)) / 100);
    }
  }, [parts]);
  return (
    <>
      {(filled.length > 0 || !isKnown) && (
        <div class="pots" ref={bar} aria-hidden="true">
          {isKnown ? filled.map((pot) => <i key={pot.kind} class={`pot-${pot.kind}`} />) : <Shade width="w-100" />}
        </div>
      )}
      <dl class="pot-names">
        {pots.map((pot) => (
          <div key={pot.kind}>
            <dt>
              <i class={`pot-${pot.kind}`} aria-hidden="true" />
              {pot.name}
            </dt>
            <dd>
              {pot.value === undefined ? <Shade width="w-48" /> : pot.value === null ? <span class="small quiet">not known now</span> : <Amount value={pot.value} live />}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

interface Ask {
  key: string;
  agent?: string;
  icon?: IconName;
  title: ComponentChildren;
  text: string;
  actions: ComponentChildren;
}

function NeedsYou({ asks }: { asks: Ask[] }) {
  if (asks.length === 0) return null;
  return (
    <Panel title="Needs you" tone="ask" aside={asks.length} id="needs-you">
      <ul class="list asks">
        {asks.map((ask) => (
          <li key={ask.key}>
            <div class="cell">
              {ask.agent ? <Avatar name={ask.agent} large /> : <Avatar name={ask.key} icon={ask.icon ?? "info"} large />}
              <div>
                <div>{ask.title}</div>
                <p class="small quiet">{ask.text}</p>
              </div>
              <div class="acts">{ask.actions}</div>
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function OnItsWay({ list, loaded }: { list: OnWay[]; loaded: LoadedTransfers }) {
  return (
    <Panel
      title="On its way"
      aside={
        <span class="row small">
          <a href="/dashboard/transfers">Transfers</a>
          {list.some((one) => one.href.startsWith("/dashboard/cards/")) && <a href="/dashboard/cards?state=waiting">Cards ordered</a>}
        </span>
      }
    >
      {loaded.error && (
        <div class="panel-body">
          <ErrorLine>What is on its way could not be loaded. {loaded.error.said}</ErrorLine>
          <Button small icon="again" onClick={loaded.reload}>
            Try again
          </Button>
        </div>
      )}
      {loaded.transfers === null && list.length === 0 ? (
        !loaded.error && <Skeleton rows={2} label="Loading what is on its way" />
      ) : list.length === 0 ? (
        <Empty icon="route" title="Nothing on its way">
          Top-ups, payouts and withdrawals show here with each step until they arrive.
        </Empty>
      ) : (
        <ul class="list on-way">
          {list.map((one) => (
            <li key={one.id}>
              <a class="cell" href={one.href}>
                <span>{one.text}</span>
                <span class="number">
                  <Amount value={one.amount} currency={one.currency} />
                </span>
                <Route mini stops={one.stops} />
                <span class="number small quiet">{one.eta}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Loading() {
  return (
    <Shell app="holder" page="home" title="Home">
      <div class="hero" aria-busy="true">
        <h1 class="only-read">Home</h1>
        <p class="only-read" role="status">
          Loading your account
        </p>
        <Shade width="w-12" />
        <Shade width="w-30" />
        <Shade width="w-100" />
        <Shade width="w-62" />
      </div>
      <div class="columns wide-narrow" aria-hidden="true">
        <Panel>
          <Skeleton rows={8} />
        </Panel>
        <Panel>
          <Skeleton rows={4} />
        </Panel>
      </div>
    </Shell>
  );
}

const SETUP: { icon: IconName; title: string; text: string; action: string; href: string }[] = [
  { icon: "passkey", title: "Add a passkey", text: "So that you can come back without a link.", action: "Add", href: "/dashboard/settings#passkeys" },
  { icon: "agent", title: "Say what agents may spend", text: "A limit a payment and a limit a day.", action: "Set limits", href: "/dashboard/agents" },
  { icon: "card", title: "Link the card issuer", text: "For reloadable cards and their balance.", action: "Link", href: "/dashboard/settings" },
];

function SetUp() {
  return (
    <Panel title="Set up">
      <ol class="list asks">
        {SETUP.filter((step) => step.icon !== "passkey" || account.value?.passkeys === 0).map((step) => (
          <li>
            <div class="cell">
              <Avatar name={step.title} icon={step.icon} large />
              <div>
                <b>{step.title}</b>
                <p class="small quiet">{step.text}</p>
              </div>
              <div class="acts">
                <Button small href={step.href}>
                  {step.action}
                </Button>
              </div>
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

const NONE: Transfers = { topUps: [], payouts: [], withdrawals: [], bank: [] };

export default function Home() {
  const shown = account.value;
  const feed = useFeed();
  const dialog = useSignal<"add" | "withdraw" | "passkey" | null>(null);
  const close = () => {
    dialog.value = null;
  };
  const looked = useSignal<Approval | null>(null);
  const declining = useSignal<Approval | null>(null);
  const hasWallet = shown?.agent_wallet !== null && shown?.agent_wallet !== undefined;
  const isLinked = shown?.issuer_link?.status === "linked";
  const loaded = useTransfers();
  const { transfers } = loaded;
  const balances = useLoaded(`balances ${hasWallet} ${isLinked}`, () => loadBalances(hasWallet, isLinked), ["wallet_payment.settled", "wallet_payment.sent", "wallet_payment.failed", "top_up.credited", "reloadable_card.*", "card_withdrawal.*"]);
  const isEmpty = feed.events.value !== null && feed.events.value.length === 0 && !feed.error.value;
  const asks = shown ? asksOf() : [];
  if (!shown) return <Loading />;

  const moving = onWay(transfers ?? NONE, shown.cards, now.peek());
  const cards = shown.cards.filter((card) => ["ready", "paused"].includes(card.status) && card.available_usd_amount !== undefined && card.available_usd_amount !== null);
  const pots: Pot[] = [
    { kind: "balance", name: "On your balance", value: shown.available },
    ...(hasWallet && !(balances.data && balances.data.wallet === undefined) ? [{ kind: "wallet" as const, name: "Agents’ wallet", value: balances.data?.wallet }] : []),
    ...(isLinked && !(balances.data && balances.data.issuer === undefined) ? [{ kind: "issuer" as const, name: "Card balance", value: balances.data?.issuer }] : []),
    { kind: "cards", name: "On open cards", value: sum(...cards.map((card) => card.available_usd_amount)) },
    { kind: "held", name: "Held", value: shown.held },
    { kind: "moving", name: "On its way", value: transfers || loaded.error ? sum(...moving.map((one) => one.usd)) : undefined },
  ];
  const isStale = connection.value === "stale" && since.value !== null;

  function asksOf(): Ask[] {
    const found: Ask[] = waiting.value.map((approval) => ({
      key: approval.approval_id,
      agent: approvalAgent(approval),
      title: (
        <>
          <b>{approvalAgent(approval)}</b> {approvalWords(approval)}
        </>
      ),
      text: `${approvalReason(approval)}${approval.expires_at ? ` Waits until ${until(approval.expires_at, now.peek())}.` : ""}`,
      actions: (
        <>
          <Button
            small
            decides
            label={`Decline: ${approvalSays(approval)}`}
            onClick={() => {
              declining.value = approval;
            }}
          >
            Decline
          </Button>
          <Button
            small
            kind="primary"
            decides
            label={`Look at it: ${approvalSays(approval)}`}
            onClick={() => {
              looked.value = approval;
            }}
          >
            Look at it
          </Button>
        </>
      ),
    }));
    // An empty account has the same offer among its first steps.
    if (mayAct.value && feed.events.value?.length && shown?.passkeys === 0 && hasPasskeys()) {
      const isLate = !(Date.parse(shown.confirmed_until ?? "") > now.peek());
      found.push({
        key: "passkey",
        icon: "passkey",
        title: <b>Add a passkey</b>,
        text: isLate ? "It works for ten minutes after a link of your wallet is opened. Ask your agent for a new one." : "Then you come back without a link, and only you can let agents act again after a stop.",
        actions: !isLate && (
          <Button
            small
            label="Add a passkey"
            onClick={() => {
              dialog.value = "passkey";
            }}
          >
            Add
          </Button>
        ),
      });
    }
    const identity = shown?.identity;
    if (mayAct.value && identity?.check_url) {
      found.push({
        key: "identity",
        icon: "shield",
        title: <b>Verify your identity</b>,
        text: "Payments to people need it once. It takes about three minutes.",
        actions: (
          <Button small href={checkAddress(identity.check_url) ?? "/dashboard/settings"}>
            Verify
          </Button>
        ),
      });
    }
    for (const payout of transfers?.payouts ?? []) {
      if (payout.status !== "awaiting-details") continue;
      found.push({
        key: payout.payout_id,
        icon: "send",
        title: <b>Send the {payoutWords(payout)} link to its recipient</b>,
        text: `The payout waits until they enter a debit card. ${claimLeft(payout, now.peek())}.`,
        actions: (
          <Button small href={`/dashboard/transfers/${payout.payout_id}`} label={`Show the link of ${payoutWords(payout)}`}>
            Show the link
          </Button>
        ),
      });
    }
    return found;
  }

  return (
    <Shell app="holder" page="home" title="Home">
      <div class="stack before-hero">
        <LookNote />
      </div>
      <div class="hero">
        <div class="page-head">
          <div class="grow">
            <h1 class="small quiet">Available{isStale && since.value !== null ? ` as of ${clockSeconds(since.value)}` : ""}</h1>
            <BigAmount value={shown.available} />
          </div>
          <div class="acts">
            <Button
              icon="plus"
              onClick={() => {
                dialog.value = "add";
              }}
            >
              Add money
            </Button>
            {mayAct.value && !(isEmpty && isZero(shown.available)) && (
              <Button
                icon="arrow"
                decides
                onClick={() => {
                  dialog.value = "withdraw";
                }}
              >
                Withdraw
              </Button>
            )}
            <StopAgentsButton />
          </div>
        </div>
        {!isEmpty && <Pots pots={pots} />}
      </div>
      <div class="columns wide-narrow">
        <div class="stack">
          <NeedsYou asks={asks} />
          <Panel
            title="What your agents did"
            id="happened"
            aside={
              <a class="small" href="/dashboard/statement">
                Statement
              </a>
            }
          >
            {isEmpty ? (
              <div class="panel-body">
                <Empty icon="agent" title="Nothing yet">
                  Your agent buys with one call. Give it this line; what it does appears here as it happens.
                </Empty>
                <CopyLine text={`purser pay '${serviceUrl.value}/get-card?amount=5' --wait`} />
              </div>
            ) : (
              <Feed feed={feed} empty={{ title: "Nothing yet", text: "What your agents do appears here as it happens." }} />
            )}
          </Panel>
        </div>
        <div class="stack">
          {isEmpty && mayAct.value && hasPasskeys() && <SetUp />}
          <OnItsWay list={moving} loaded={loaded} />
          {!isEmpty && <SpendingPanel />}
          <AgentsToday />
        </div>
      </div>
      {dialog.value === "add" && <AddMoneyDialog onClose={close} />}
      {dialog.value === "withdraw" && <WithdrawDialog onClose={close} />}
      {dialog.value === "passkey" && <PasskeyDialog onClose={close} then={() => void loadAccount()} />}
      {looked.value && (
        <ApprovalDialog
          approval={looked.value}
          now={now.peek()}
          onClose={() => {
            looked.value = null;
          }}
          onAnswered={() => void loadWaiting()}
        />
      )}
      {declining.value && (
        <DeclineDialog
          approval={declining.value}
          onClose={() => {
            declining.value = null;
          }}
          onAnswered={() => void loadWaiting()}
        />
      )}
      <StopAgentsDialog />
    </Shell>
  );
}
