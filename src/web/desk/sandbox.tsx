// Controls of the sandbox: faults, time, test money, shops and identity checks.

import { useSignal } from "@preact/signals";
import { Amount, Button, Empty, ErrorLine, Field, KeyValue, MoneyField, PageHead, Panel, Segments, Select, Shell, Skeleton, Table, amountProblem, api, complain, failure, frame, fullTime, span, toast, useLoaded } from "../parts";
import { Act } from "./act";
import { LoadError } from "./lists";
import { may, whyNot } from "./session";

const call = <T,>(path: string, body?: object): Promise<T> => api.post<T>("/admin/sandbox", body ? { path, body } : { path });

interface FaultRow {
  name: string;
  says: string;
  path: string;
  extra?: Record<string, unknown>;
  options: [fault: string, word: string][];
}

const FAULTS: FaultRow[] = [
  { name: "Card issuer", says: "US cards", path: "/sandbox/issuer", options: [["slow", "Slow"], ["unreachable", "Unreachable"], ["timeout", "Lose answer"], ["decline", "Decline"]] },
  { name: "Base", says: "Payments on Base", path: "/sandbox/chain", extra: { network: "base" }, options: [["slow", "Slow"], ["unreachable", "Unreachable"], ["lose_response", "Lose answer"], ["decline", "Decline"]] },
  { name: "Solana", says: "Payments on Solana", path: "/sandbox/chain", extra: { network: "solana" }, options: [["slow", "Slow"], ["unreachable", "Unreachable"], ["lose_response", "Lose answer"], ["decline", "Decline"]] },
  { name: "Bridge", says: "Attestations of top-ups from Solana", path: "/sandbox/bridge", extra: { operation: "attestation" }, options: [["slow", "Slow"], ["unreachable", "Unreachable"], ["stall", "Stall"], ["decline", "Decline"]] },
  { name: "Payout rails", says: "Cards, banks and apps", path: "/sandbox/payouts", options: [["slow", "Slow"], ["unreachable", "Unreachable"], ["timeout", "Lose answer"], ["decline", "Decline"]] },
  { name: "Gift cards", says: "The seller", path: "/sandbox/gift-cards", options: [["unreachable", "Unreachable"], ["timeout", "Lose answer"], ["decline", "Decline"]] },
  { name: "Bank", says: "Bank accounts of holders", path: "/sandbox/bank", options: [["slow", "Slow"], ["unreachable", "Unreachable"], ["lose_response", "Lose answer"], ["decline", "Decline"]] },
  { name: "Reloadable cards", says: "Cards on a card balance", path: "/sandbox/card-program", options: [["slow", "Slow"], ["unreachable", "Unreachable"], ["decline", "Decline"]] },
];
const TIMES = [
  { value: "1", text: "Next call" },
  { value: "10", text: "Next 10" },
  { value: "0", text: "Until cleared" },
];

function Faults() {
  const chosen = useSignal<Record<string, string>>({});
  const times = useSignal("10");
  const set = async (row: FaultRow, fault: string) => {
    try {
      await call(row.path, fault === "clear" ? { fault } : { fault, times: Number(times.value), ...row.extra });
      chosen.value = { ...chosen.value, [row.name]: fault };
      const word = row.options.find(([name]) => name === fault)?.[1];
      toast(fault === "clear" ? `${row.name} works again` : `${row.name}: ${word?.toLowerCase()}, ${TIMES.find((one) => one.value === times.value)?.text.toLowerCase()}`);
    } catch (thrown) {
      complain(failure(thrown).said);
    }
  };
  const all = async () => {
    for (const path of new Set(FAULTS.map((row) => row.path))) {
      try {
        await call(path, { fault: "clear" });
      } catch (thrown) {
        complain(failure(thrown).said);
        return;
      }
    }
    chosen.value = {};
    toast("Every fault is cleared");
  };
  return (
    <Panel
      title="Faults"
      class="tall-head"
      aside={
        <span class="row wrap">
          <Segments<string> label="How many calls" options={TIMES} value={times.value} onChange={(value) => (times.value = value)} />
          <Act small onClick={() => void all()}>
            All good again
          </Act>
        </span>
      }
    >
      <ul class="list">
        {FAULTS.map((row) => (
          <li key={row.name}>
            <div class="cell knob">
              <div>
                <b>{row.name}</b>
                <p class="small quiet">{row.says}</p>
              </div>
              <Segments<string>
                label={row.name}
                options={[{ value: "clear", text: "Good" }, ...row.options.map(([value, text]) => ({ value, text }))]}
                value={chosen.value[row.name] ?? "clear"}
                onChange={(value) => void set(row, value)}
              />
            </div>
          </li>
        ))}
      </ul>
      <div class="panel-foot">
        <span>What is shown here was chosen in this tab. Faults of a number of calls end by themselves.</span>
      </div>
    </Panel>
  );
}

interface Magic {
  applies_to: string;
  amount: string;
  effect: string;
}
const FOR: Record<string, string> = { card: "Card", payment: "Payment", top_up: "Top-up" };

function MagicAmounts() {
  const found = useLoaded("magic", () => call<Magic[]>("/sandbox/magic"));
  if (found.error) return <LoadError error={found.error} retry={found.reload} />;
  return (
    <Panel title="Amounts that decide">
      {!found.data ? (
        <Skeleton rows={5} />
      ) : (
        <Table
          tight
          caption="Amounts that force an outcome"
          rows={found.data}
          rowKey={(row) => `${row.applies_to} ${row.amount}`}
          columns={[
            { title: "Amount", cell: (row) => <b>{row.amount}</b> },
            { title: "For", cell: (row) => FOR[row.applies_to] ?? row.applies_to, fold: "first-right" },
            { title: "What happens", cell: (row) => row.effect, fold: "whole", class: "happens" },
          ]}
        />
      )}
    </Panel>
  );
}

function Clock() {
  const found = useLoaded("time", () => call<{ now: string; offset_seconds: number }>("/sandbox/time"));
  const busy = useSignal(false);
  const advance = async (seconds: number, words: string) => {
    busy.value = true;
    try {
      await call("/sandbox/time", { advance_seconds: seconds });
      toast(`Time moved ${words} on`);
      found.reload();
    } catch (thrown) {
      complain(failure(thrown).said);
    } finally {
      busy.value = false;
    }
  };
  return (
    <Panel title="Time" padded>
      <div class="stack">
        <div>
          <p class="sandbox-clock">{found.data ? fullTime(found.data.now).split(" · ")[0] : "…"}</p>
          <p class="small quiet">{found.data && (found.data.offset_seconds > 0 ? `Moved ${span(found.data.offset_seconds)} on so far.` : "Not moved so far.")} It never goes back. Chains and wallets keep their own time.</p>
        </div>
        <div class="row wrap">
          {([[3_600, "+1 hour", "an hour"], [86_400, "+24 hours", "a day"], [30 * 86_400, "+30 days", "30 days"]] as const).map(([seconds, text, words]) => (
            <Act key={seconds} small busy={busy.value} onClick={() => void advance(seconds, words)}>
              {text}
            </Act>
          ))}
        </div>
      </div>
    </Panel>
  );
}

function Money() {
  const wallet = useSignal("");
  const amount = useSignal("1000");
  const errors = useSignal<Record<string, string>>({});
  const busy = useSignal(false);
  const balance = useSignal<string | number | null>(null);
  const send = async () => {
    const wrong: Record<string, string> = {};
    if (!wallet.value.trim()) wrong.wallet = "Enter a wallet on Base or Solana.";
    const problem = amountProblem(amount.value);
    if (problem) wrong.amount = problem;
    errors.value = wrong;
    if (Object.keys(wrong).length > 0) return;
    busy.value = true;
    try {
      const given = await call<{ balance: string | number }>("/sandbox/faucet", { wallet: wallet.value.trim(), amount: amount.value.trim() });
      balance.value = given.balance;
      toast(`${amount.value} USDC given`);
    } catch (thrown) {
      errors.value = { form: failure(thrown).said };
    } finally {
      busy.value = false;
    }
  };
  return (
    <Panel title="Give test money" padded>
      <form
        class="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <Field label="Wallet" mono value={wallet.value} onChange={(text) => (wallet.value = text)} error={errors.value.wallet} />
        <MoneyField label="USDC" value={amount.value} onChange={(text) => (amount.value = text)} error={errors.value.amount} />
        {errors.value.form && <ErrorLine>{errors.value.form}</ErrorLine>}
        {balance.value !== null && <KeyValue rows={[{ name: "It has now", value: <Amount value={balance.value} currency="USDC" /> }]} />}
        <Act icon="plus" type="submit" busy={busy.value}>
          Give
        </Act>
      </form>
    </Panel>
  );
}

function Identity() {
  const wallet = useSignal("");
  const error = useSignal<string | null>(null);
  const decide = async (passed: boolean) => {
    if (!wallet.value.trim()) {
      error.value = "Enter the wallet of the account.";
      return;
    }
    error.value = null;
    try {
      await call("/sandbox/identity-result", { wallet: wallet.value.trim(), passed, begin: true });
      toast(passed ? "Verified" : "Refused");
    } catch (thrown) {
      error.value = failure(thrown).said;
    }
  };
  return (
    <Panel title="Identity check" padded>
      <div class="stack">
        <Field label="Wallet" mono value={wallet.value} onChange={(text) => (wallet.value = text)} error={error.value} hint="A check is started if none is open." />
        <div class="row wrap">
          <Act small onClick={() => void decide(true)}>
            Passes
          </Act>
          <Act small kind="danger" onClick={() => void decide(false)}>
            Fails
          </Act>
        </div>
      </div>
    </Panel>
  );
}

function Charge() {
  const card = useSignal("");
  const merchant = useSignal("Calanque Ferries");
  const amount = useSignal("6.60");
  const pending = useSignal("settled");
  const errors = useSignal<Record<string, string>>({});
  const busy = useSignal(false);
  const send = async () => {
    const wrong: Record<string, string> = {};
    if (!card.value.trim()) wrong.card = "Enter the id of a US or reloadable card.";
    const problem = amountProblem(amount.value);
    if (problem) wrong.amount = problem;
    errors.value = wrong;
    if (Object.keys(wrong).length > 0) return;
    busy.value = true;
    try {
      const made = await call<{ status: string; decline_reason?: string | null }>("/sandbox/charge", { card_id: card.value.trim(), merchant: merchant.value.trim(), amount: amount.value.trim(), pending: pending.value === "pending" });
      toast(made.decline_reason ? `Declined: ${made.decline_reason.replaceAll("_", " ")}` : `${merchant.value} charged the card`);
    } catch (thrown) {
      errors.value = { form: failure(thrown).said };
    } finally {
      busy.value = false;
    }
  };
  return (
    <Panel title="Charge a card" padded>
      <form
        class="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <Field label="Card" mono value={card.value} onChange={(text) => (card.value = text)} error={errors.value.card} placeholder="card_…" />
        <div class="twin">
          <Field label="Shop" value={merchant.value} onChange={(text) => (merchant.value = text)} maxLength={60} />
          <MoneyField label="Amount" value={amount.value} onChange={(text) => (amount.value = text)} error={errors.value.amount} />
        </div>
        <Select
          label="Then"
          value={pending.value}
          onChange={(value) => (pending.value = value)}
          options={[
            { value: "settled", text: "Settled at once" },
            { value: "pending", text: "Stays pending" },
          ]}
        />
        {errors.value.form && <ErrorLine>{errors.value.form}</ErrorLine>}
        <Act icon="card" type="submit" busy={busy.value}>
          Charge
        </Act>
      </form>
    </Panel>
  );
}

export default function Sandbox() {
  if (!frame.sandbox.value) {
    return (
      <Shell app="desk" page="sandbox" title="Sandbox">
        <h1 class="only-read">Sandbox</h1>
        <Empty icon="flask" title="This service is no sandbox" actions={<Button href="/desk">Home</Button>}>
          Production has none of these controls.
        </Empty>
      </Shell>
    );
  }
  if (!may("operate")) {
    return (
      <Shell app="desk" page="sandbox" title="Sandbox">
        <PageHead title="Sandbox">Make happen what is hard to meet by chance.</PageHead>
        <Panel>
          <Empty icon="lock" title="For operators">
            {whyNot("operate")}
          </Empty>
        </Panel>
      </Shell>
    );
  }
  return (
    <Shell app="desk" page="sandbox" title="Sandbox">
      <PageHead title="Sandbox">Make happen what is hard to meet by chance. Production has none of this.</PageHead>
      <div class="columns wide-narrow">
        <div class="stack">
          <Faults />
          <MagicAmounts />
        </div>
        <div class="stack">
          <Clock />
          <Money />
          <Charge />
          <Identity />
        </div>
      </div>
    </Shell>
  );
}
