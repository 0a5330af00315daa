// Agents and limits: who may spend, how much, what waits for the owner, and stopping all of them.

import { useEffect, useState } from "preact/hooks";
import { Amount, Avatar, Button, Confirm, CopyLine, Dialog, Empty, ErrorLine, Field, Icon, Id, KeyValue, Menu, Meter, MoneyField, PageHead, Panel, Shell, Skeleton, Status, Table, Time, failure, fieldErrors, frame, money, toast, units } from "../parts";
import { account, agentsStopped, loadAccount, mayAct, serviceUrl } from "./account";
import { type Approval, waits } from "./approvals";
import { FromBalance, Merchants, Spending, amountError, asText } from "./limits";
import { LookNote } from "./look-note";
import { PastApprovals, WaitingApprovals } from "./waiting-approvals";
import { type AgentKey, type Cap, type ManagedWallet, balanceLimitsOf, capsOf, keysOf, readApprovals, readWallet, revokeKey, setCaps, setKeyLimits, walletOf } from "./data/agents";
import { isAbsent, useLoad } from "./data/load";
import type { Session } from "./data/settings";
import { EndSession, Sessions } from "./sessions";
import { StopAgentsDialog } from "./stop-agents";
import { StopPanel } from "./stop-panel";
import { WalletPayments } from "./wallet-payments";

export default function Agents() {
  const stopped = agentsStopped.value;
  const keys = keysOf(account.value);
  const wallet = walletOf(account.value);
  const caps = capsOf(account.value);
  // Agents with a key are listed by their key, however often they signed in.
  const wallets = ((account.value?.connected_agents ?? []) as Session[]).filter((one) => !one.api_key_id && one.agent?.name);
  const approvals = useLoad<Approval[]>("approvals", readApprovals, { types: ["approval.*", "api_key.*"] });
  const [letting, setLetting] = useState(false);
  const asked = approvals.data?.filter((one) => waits(one, account.value?.api_keys));
  const waiting = asked?.length ?? 0;
  const known = approvals.data !== undefined;
  useEffect(() => {
    if (known) frame.counts.value = { ...frame.counts.peek(), agents: { n: waiting, tone: "ask", said: waiting === 1 ? "needs you" : "need you" } };
  }, [waiting, known]);

  return (
    <Shell app="holder" page="agents" title="Agents and limits">
      <PageHead
        title="Agents and limits"
        actions={
          <Button icon="plus" {...(stopped ? {} : { kind: "primary" as const })} onClick={() => setLetting(true)}>
            Let an agent in
          </Button>
        }
      >
        Who may spend your money, and how much without asking you.
      </PageHead>
      <div class="stack">
        <LookNote />
        {!stopped && mayAct.value && <StopPanel />}
        {!stopped && <WaitingApprovals approvals={asked} failed={approvals.error !== undefined} reload={approvals.reload} />}
        {approvals.error && !isAbsent(approvals.error) && approvals.error.code !== "sign_in_required" && <ErrorLine>{approvals.error.said}</ErrorLine>}
        <Panel title="Agents">
          {account.value === null ? (
            <Skeleton rows={2} label="Loading agents" />
          ) : keys.length + wallets.length === 0 ? (
            <Empty
              icon="agent"
              title={account.value.api_keys?.length ? "No agent has access now" : "No agents yet"}
              actions={
                <Button small onClick={() => setLetting(true)}>
                  Let an agent in
                </Button>
              }
            >
              An agent without a wallet asks for a key and shows you a code; you say yes here, and it starts with the limits below. An agent with a wallet of its own needs no key.
            </Empty>
          ) : (
            <AgentTable keys={keys} wallets={wallets} />
          )}
        </Panel>
        <div class="columns narrow-wide">
          <div class="stack">
            {wallet ? <Spending wallet={wallet} /> : <NoWallet />}
            <FromBalance limits={balanceLimitsOf(account.value)} />
          </div>
          <div class="stack">
            {wallet && <Merchants wallet={wallet} />}
            {caps.length > 0 && <Caps caps={caps} />}
          </div>
        </div>
        {wallet && <Wallet wallet={wallet} />}
        {wallet && <WalletPayments />}
        <Sessions title="Signed in now" />
        <PastApprovals />
      </div>
      <StopAgentsDialog />
      {letting && <LetIn onClose={() => setLetting(false)} />}
    </Shell>
  );
}

function LetIn({ onClose }: { onClose: () => void }) {
  const [link, setLink] = useState("");
  const [error, setError] = useState<string | null>(null);
  const open = () => {
    let url: URL;
    try {
      url = new URL(link.trim(), location.origin);
    } catch {
      setError("That is no link.");
      return;
    }
    if (url.origin !== location.origin || url.pathname !== "/claim") {
      setError(`The link begins with ${location.origin}/claim.`);
      return;
    }
    location.assign(url.href);
  };
  return (
    <Dialog
      title="Let an agent in"
      onClose={onClose}
      onSubmit={open}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" disabled={link.trim() === ""} onClick={open}>
            Open the link
          </Button>
        </>
      }
    >
      <p>Tell your agent to ask for access. It shows you a link and a code.</p>
      <CopyLine text={`curl -X POST ${serviceUrl.value}/signup`} />
      <Field label="Link from the agent" type="url" mono value={link} onChange={(value) => { setLink(value); setError(null); }} error={error} placeholder={`${location.origin}/claim?signup=…`} hint="Compare the code on the page that opens with the one that your agent shows." />
      <p>An agent with a wallet of its own needs nothing from you: it pays for what it buys.</p>
    </Dialog>
  );
}

type Row = { id: string; name: string; key: AgentKey } | { id: string; name: string; session: Session };

function LastSignIn({ row, words }: { row: Row; words?: string }) {
  const at = "key" in row ? row.key.last_used_at : (row.session.last_used_at ?? row.session.created_at);
  if (!at) return <Status kind="api_key" value={"key" in row ? row.key.status : "active"} />;
  return (
    <>
      {words}
      <Time at={at} class="quiet" />
    </>
  );
}

function AgentTable({ keys, wallets }: { keys: AgentKey[]; wallets: Session[] }) {
  const [limiting, setLimiting] = useState<AgentKey | null>(null);
  const [revoking, setRevoking] = useState<AgentKey | null>(null);
  const [ending, setEnding] = useState<Session | null>(null);
  const rows: Row[] = [
    ...keys.map((key) => ({ id: key.api_key_id, name: key.name, key })),
    ...wallets.map((session) => ({ id: session.session_id, name: session.agent?.name ?? "An agent", session })),
  ];
  return (
    <>
      <Table
        caption="Agents with access"
        rows={rows}
        rowKey={(row) => row.id}
        columns={[
          {
            title: "Agent",
            class: "two-lines",
            cell: (row) => (
              <div class="row">
                <Avatar name={row.name} large />
                <div class="grow">
                  <b class="anywhere">{row.name}</b>
                  <div class="small quiet narrow-only">
                    {"key" in row ? "API key" : "Its own wallet"} · <LastSignIn row={row} words="signed in " />
                  </div>
                  <div class="small quiet wide-only">
                    {"session" in row && row.session.agent?.client ? `${row.session.agent.client} ${row.session.agent.version ?? ""}`.trim() : <>since <Time at={"key" in row ? row.key.created_at : row.session.created_at} /></>}
                  </div>
                </div>
              </div>
            ),
          },
          {
            title: "Comes with",
            fold: "hidden",
            cell: (row) =>
              "key" in row ? (
                <span>
                  API key{" "}
                  <span class="mono small soft">
                    {row.key.prefix ?? ""}…{row.key.last4 ?? ""}
                  </span>
                </span>
              ) : (
                "Its own wallet"
              ),
          },
          {
            title: "Last sign-in",
            fold: "hidden",
            cell: (row) => <LastSignIn row={row} />,
          },
          { title: "Spent today", fold: "whole", class: "under-name", cell: (row) => ("key" in row ? <SpentToday agentKey={row.key} /> : <span class="quiet">from its own wallet</span>) },
          {
            title: "Actions",
            titleOnlyRead: true,
            fold: "first-right",
            number: true,
            cell: (row) => (
              <Menu label={`More for ${row.name}`} triggerClass="button ghost only-icon" align="end" trigger={<Icon name="more" />}>
                {"key" in row && row.key.limits && (
                  <button type="button" disabled={!mayAct.value} onClick={() => setLimiting(row.key)}>
                    <Icon name="settings" />
                    Change limits
                  </button>
                )}
                {"key" in row ? (
                  <button type="button" disabled={!mayAct.value} onClick={() => setRevoking(row.key)}>
                    <Icon name="key" />
                    Revoke key…
                  </button>
                ) : (
                  <button type="button" disabled={!mayAct.value} onClick={() => setEnding(row.session)}>
                    <Icon name="leave" />
                    Sign out…
                  </button>
                )}
              </Menu>
            ),
          },
        ]}
      />
      {limiting && <KeyLimits agentKey={limiting} onClose={() => setLimiting(null)} />}
      {revoking && <Revoke agentKey={revoking} onClose={() => setRevoking(null)} />}
      {ending && <EndSession session={ending} onClose={() => setEnding(null)} then={() => void loadAccount()} />}
    </>
  );
}

function SpentToday({ agentKey }: { agentKey: AgentKey }) {
  const spent = agentKey.spent_today_usd;
  const day = agentKey.limits?.per_day_usd;
  const call = agentKey.limits?.per_call_usd;
  if (spent === undefined) return <span class="quiet">within the wallet’s limits</span>;
  return (
    <div class="used">
      <span class="small">
        <b>{money(spent)}</b>
        <span class="quiet">{day !== null && day !== undefined ? ` of ${money(day)}` : ", no limit of its own"}</span>
      </span>
      {day !== null && day !== undefined && <Meter value={String(spent)} max={String(day)} label={`${agentKey.name} has spent ${money(spent)} of ${money(day)} today`} />}
      {call !== null && call !== undefined && <span class="tiny quiet">{money(call)} a payment</span>}
    </div>
  );
}

function KeyLimits({ agentKey, onClose }: { agentKey: AgentKey; onClose: () => void }) {
  const [call, setCall] = useState(asText(agentKey.limits?.per_call_usd));
  const [day, setDay] = useState(asText(agentKey.limits?.per_day_usd));
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const save = async () => {
    const wrong: Record<string, string> = {};
    const callError = amountError(call);
    const dayError = amountError(day);
    if (callError) wrong.per_call_usd = callError;
    if (dayError) wrong.per_day_usd = dayError;
    if (Object.keys(wrong).length > 0) {
      setErrors(wrong);
      return;
    }
    setBusy(true);
    try {
      await setKeyLimits(agentKey.api_key_id, call.trim(), day.trim());
      await loadAccount();
      onClose();
      toast(`Limits of ${agentKey.name} saved`);
    } catch (thrown) {
      setErrors(fieldErrors(thrown, ["per_call_usd", "per_day_usd"]));
      setBusy(false);
    }
  };
  return (
    <Confirm title={`Limits of ${agentKey.name}`} action="Save limits" busy={busy} error={errors.form ?? null} onConfirm={() => void save()} onClose={onClose}>
      <p>Besides the limits of all agents together. Empty means no limit of its own, 0 allows nothing.</p>
      <MoneyField label="In one payment" placeholder="no limit" value={call} onChange={(value) => { setCall(value); setErrors({}); }} error={errors.per_call_usd} />
      <MoneyField label="In a day" placeholder="no limit" value={day} onChange={(value) => { setDay(value); setErrors({}); }} error={errors.per_day_usd} hint="A day begins at midnight UTC." />
    </Confirm>
  );
}

function Revoke({ agentKey, onClose }: { agentKey: AgentKey; onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const revoke = async () => {
    setBusy(true);
    try {
      await revokeKey(agentKey.api_key_id);
      await loadAccount();
      onClose();
      toast(`${agentKey.name} is signed out`);
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
  };
  return (
    <Confirm title={`Revoke the key of ${agentKey.name}?`} action="Revoke key" danger busy={busy} error={error} onConfirm={() => void revoke()} onClose={onClose}>
      <p>{agentKey.name} is signed out everywhere at once and cannot come back with this key. To let it in again, approve a new sign-up.</p>
    </Confirm>
  );
}

function NoWallet() {
  return (
    <Panel title="What agents may spend">
      <Empty icon="wallet" title="No managed wallet yet">
        The first agent that signs in with a key, or asks for a wallet, makes one. Then you set here what agents may spend from it without asking you.
      </Empty>
    </Panel>
  );
}

const serviceWords = (cap: Cap): string => {
  const { count, usd } = cap.service;
  if (count === null && usd === null) return "Service: no limit";
  return `Service: ${[count !== null && `${count} a day`, usd !== null && money(usd)].filter(Boolean).join(", ")}`;
};

const usedWords = (cap: Cap): string | null => {
  const { count, usd } = cap.used;
  if (!count && (usd === null || units(usd) === 0n)) return null;
  return `Counted today: ${count ?? 0}, ${money(usd ?? 0)}`;
};

/** The owner's caps by product. The service's apply too. */
function Caps({ caps }: { caps: Cap[] }) {
  const initial = () => Object.fromEntries(caps.flatMap((cap) => [[`${cap.name}_count`, cap.own.count === null ? "" : String(cap.own.count)], [`${cap.name}_usd`, asText(cap.own.usd)]]));
  const [fields, setFields] = useState<Record<string, string>>(initial);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const saved = JSON.stringify(initial());
  useEffect(() => setFields(initial()), [saved]);
  const set = (name: string, value: string) => {
    setFields({ ...fields, [name]: value });
    const { [name]: _, ...rest } = errors;
    setErrors(rest);
  };
  const save = async () => {
    const wrong: Record<string, string> = {};
    for (const cap of caps) {
      const count = (fields[`${cap.name}_count`] ?? "").trim();
      const usd = fields[`${cap.name}_usd`] ?? "";
      if (!/^\d{0,9}$/.test(count)) wrong[`${cap.name}_count`] = "A whole number.";
      else if (count !== "" && cap.service.count !== null && Number(count) > cap.service.count) wrong[`${cap.name}_count`] = `The service allows ${cap.service.count}.`;
      const usdError = amountError(usd);
      if (usdError) wrong[`${cap.name}_usd`] = "Like 150 or 150.50.";
    }
    setErrors(wrong);
    if (Object.keys(wrong).length > 0) {
      requestAnimationFrame(() => document.querySelector<HTMLElement>(".limits [aria-invalid]")?.focus());
      return;
    }
    setBusy(true);
    try {
      await setCaps(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value.trim()])));
      await loadAccount();
      toast("Limits saved");
    } catch (thrown) {
      setErrors(fieldErrors(thrown, Object.keys(fields)));
    }
    setBusy(false);
  };
  return (
    <Panel
      title="What they may buy"
      foot={
        <>
          <span>Yours only tighten the service’s. Empty leaves it alone, 0 allows nothing.</span>
          <Button small kind="primary" decides busy={busy} disabled={!mayAct.value} label="Save what they may buy" onClick={() => void save()}>
            Save
          </Button>
        </>
      }
    >
      <div class="limits">
        <div class="limits-head" aria-hidden="true">
          <span>A day</span>
          <span class="number">Purchases</span>
          <span class="number">US dollars</span>
        </div>
        {caps.map((cap) => (
          <div key={cap.name} role="group" aria-label={cap.title}>
            <div>
              <b>{cap.title}</b>
              <p class="small quiet">
                {fields[`${cap.name}_count`] === "0" ? "Never" : serviceWords(cap)}
                {usedWords(cap) && ` · ${usedWords(cap)}`}
              </p>
            </div>
            <Field label={`${cap.title}: purchases a day`} labelOnlyRead inputMode="numeric" placeholder="any" value={fields[`${cap.name}_count`] ?? ""} onChange={(value) => set(`${cap.name}_count`, value)} error={errors[`${cap.name}_count`]} />
            <MoneyField label={`${cap.title}: US dollars a day`} labelOnlyRead placeholder="any" value={fields[`${cap.name}_usd`] ?? ""} onChange={(value) => set(`${cap.name}_usd`, value)} error={errors[`${cap.name}_usd`]} />
          </div>
        ))}
      </div>
      {errors.form && (
        <div class="panel-body">
          <ErrorLine>{errors.form}</ErrorLine>
        </div>
      )}
    </Panel>
  );
}

/** The managed wallet: where money is sent to, and what is in it. */
function Wallet({ wallet }: { wallet: ManagedWallet }) {
  const read = useLoad("agents’ wallet", readWallet, { types: ["wallet_payment.*", "agent_wallet.*"] });
  const balances = read.data?.balances;
  return (
    <Panel title="Agents’ wallet" padded>
      <div class="stack">
        <p class="small soft">Send USDC to it, on either chain. It is spendable as soon as the chain shows it. Other tokens sent here are not seen and cannot be sent back.</p>
        <KeyValue
          rows={(["base", "solana"] as const).map((chain) => ({
            name: chain === "base" ? "On Base" : "On Solana",
            value: (
              <span class="row wrap">
                {balances ? <Amount value={balances[chain].available} live /> : read.error ? <span class="quiet">the chain does not answer now</span> : <span class="quiet">…</span>}
                {balances && units(balances[chain].held) !== 0n && <span class="small quiet">{money(balances[chain].held)} held</span>}
                <Id value={wallet.addresses[chain]} what={`address on ${chain === "base" ? "Base" : "Solana"}`} />
              </span>
            ),
          }))}
        />
      </div>
    </Panel>
  );
}
