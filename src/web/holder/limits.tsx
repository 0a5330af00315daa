// The limits of what agents spend: from the managed wallet by payment, day and merchant, and from the balances of the
// account. Each panel shows what is used of them today.

import { useEffect, useState } from "preact/hooks";
import { Button, Check, ErrorLine, Field, Icon, Meter, MoneyField, Note, Panel, Select, Skeleton, Time, compare, fieldErrors, money, onEvent, toast, units } from "../parts";
import { loadAccount, mayAct } from "./account";
import { OWN, merchantName } from "./approvals";
import { type BalanceLimits, type ManagedWallet, type MerchantToday, setBalanceLimits, setMerchants, setSpending } from "./data/agents";

const AMOUNT = /^\d+(\.\d{1,2})?$/;

export const amountError = (text: string, { empty = true }: { empty?: boolean } = {}): string | null => {
  const typed = text.trim();
  if (typed === "") return empty ? null : "Enter an amount like 200 or 200.50.";
  return AMOUNT.test(typed) ? null : "Enter an amount like 200 or 200.50.";
};

export const asText = (value: number | string | null | undefined): string => (value === null || value === undefined ? "" : money(value).replace(/[^0-9.]/g, ""));

function SaveButton({ what, busy, onClick }: { what: string; busy: boolean; onClick: () => void }) {
  return (
    <Button small kind="primary" decides busy={busy} disabled={!mayAct.value} label={`Save ${what}`} onClick={onClick}>
      Save
    </Button>
  );
}

/** What agents may spend from their wallet, in a payment and in a day. */
export function Spending({ wallet }: { wallet: ManagedWallet }) {
  const saved = { call: asText(wallet.limits.per_call_usd), day: asText(wallet.limits.per_day_usd), ask: wallet.limits.approvals };
  const [call, setCall] = useState(saved.call);
  const [day, setDay] = useState(saved.day);
  const [ask, setAsk] = useState(saved.ask === true);
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<Record<string, string>>({});
  // Another browser may have changed them.
  useEffect(() => {
    setCall(saved.call);
    setDay(saved.day);
    setAsk(saved.ask === true);
  }, [saved.call, saved.day, saved.ask]);
  const save = async () => {
    const wrong: Record<string, string> = {};
    const callError = amountError(call, { empty: false }) ?? (compare(call.trim(), "1") < 0 || compare(call.trim(), "50000") > 0 ? "Between $1.00 and $50,000.00." : null);
    const dayError = amountError(day);
    if (callError) wrong.per_call_usd = callError;
    if (dayError) wrong.per_day_usd = dayError;
    setErrors(wrong);
    if (Object.keys(wrong).length > 0) return;
    setBusy(true);
    try {
      await setSpending({ per_call_usd: call.trim(), per_day_usd: day.trim(), ...(saved.ask === undefined ? {} : { approvals: ask }) });
      await loadAccount();
      toast("Limits saved");
    } catch (thrown) {
      setErrors(fieldErrors(thrown, ["per_call_usd", "per_day_usd", "approvals"]));
    }
    setBusy(false);
  };
  const used = wallet.used_today_usd;
  const max = wallet.limits.per_day_usd;
  return (
    <Panel
      id="spending-limits"
      title="What agents may spend"
      padded
      foot={
        <>
          <span>A day begins at midnight UTC</span>
          <SaveButton what="what agents may spend" busy={busy} onClick={() => void save()} />
        </>
      }
    >
      <div class="stack">
        <p class="small soft">From the agents’ wallet, without asking you.</p>
        <MoneyField label="In one payment" value={call} onChange={(value) => { setCall(value); setErrors({}); }} error={errors.per_call_usd} hint="$1.00 to $50,000.00" />
        <MoneyField label="In a day, all agents together" placeholder="no limit" value={day} onChange={(value) => { setDay(value); setErrors({}); }} error={errors.per_day_usd} hint={`${money(used)} used today. Empty means no limit.`} />
        {max !== null && <Meter value={String(used)} max={String(max)} label={`${money(used)} of ${money(max)} used today`} />}
        {saved.ask !== undefined && (
          <Check checked={ask} onChange={setAsk} disabled={!mayAct.value}>
            Ask me about payments over a limit, instead of declining them
          </Check>
        )}
        {wallet.last_refused_spend && (
          <Note tone="wait" title={`Stopped by a limit: ${money(wallet.last_refused_spend.amount)}`}>
            {wallet.last_refused_spend.host && wallet.last_refused_spend.host !== OWN ? `To ${merchantName(wallet.last_refused_spend.host)}, ` : ""}
            <Time at={wallet.last_refused_spend.at} />. Nothing was taken.
          </Note>
        )}
        {errors.form && <ErrorLine>{errors.form}</ErrorLine>}
      </div>
    </Panel>
  );
}

interface MerchantRow {
  host: string;
  cap: string;
  /** This service, or a merchant of the list below: it is not typed. */
  known: boolean;
}

type Others = "any" | "capped" | "none";

const othersOf = (cap: number | string | null | undefined): Others => (cap === null || cap === undefined ? "any" : units(cap) === 0n ? "none" : "capped");

const OTHERS: { value: Others; text: string }[] = [
  { value: "any", text: "Any, within the limits of all agents" },
  { value: "capped", text: "At most an amount a day at each" },
  { value: "none", text: "No other merchants" },
];

/** What agents may pay each merchant in a day. */
export function Merchants({ wallet }: { wallet: ManagedWallet }) {
  const limits = wallet.limits.merchants;
  const today = wallet.merchants_today ?? [];
  const saved = JSON.stringify(limits ?? null);
  const initial = (): MerchantRow[] => (limits?.hosts ?? []).map((one) => ({ host: one.host, cap: asText(one.per_day_usd), known: one.host === OWN }));
  const [rows, setRows] = useState<MerchantRow[]>(initial);
  const [others, setOthers] = useState<Others>(othersOf(limits?.others_per_day_usd));
  const [othersCap, setOthersCap] = useState(asText(limits?.others_per_day_usd));
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setRows(initial());
    setOthers(othersOf(limits?.others_per_day_usd));
    setOthersCap(othersOf(limits?.others_per_day_usd) === "capped" ? asText(limits?.others_per_day_usd) : "");
    setErrors({});
  }, [saved]);
  const change = (at: number, part: Partial<MerchantRow>) => {
    setRows(rows.map((row, index) => (index === at ? { ...row, ...part } : row)));
    setErrors({});
  };
  const add = (host: string) => {
    setRows([...rows, { host, cap: "", known: host !== "" }]);
    setErrors({});
  };
  const save = async () => {
    const wrong: Record<string, string> = {};
    rows.forEach((row, at) => {
      if (row.host.trim() === "") wrong[`hosts[${at}].host`] = "Enter a host like api.example.com.";
      const capError = amountError(row.cap, { empty: false });
      if (capError) wrong[`hosts[${at}].per_day_usd`] = capError;
    });
    const othersError = others === "capped" ? amountError(othersCap, { empty: false }) : null;
    if (othersError) wrong.others_per_day_usd = othersError;
    setErrors(wrong);
    if (Object.keys(wrong).length > 0) return;
    setBusy(true);
    try {
      await setMerchants(
        rows.map((row) => ({ host: row.host.trim(), per_day_usd: row.cap.trim() })),
        others === "any" ? null : others === "none" ? "0" : othersCap.trim(),
      );
      await loadAccount();
      toast("Limits saved");
    } catch (thrown) {
      const fields = rows.flatMap((_, at) => [`hosts[${at}].host`, `hosts[${at}].per_day_usd`]);
      const found = fieldErrors(thrown, [...fields, "others_per_day_usd"]);
      setErrors(found);
    }
    setBusy(false);
  };
  const usedAt = (host: string): MerchantToday | undefined => today.find((one) => one.host === host.trim().toLowerCase());
  const unlisted = today.filter((one) => !rows.some((row) => row.host.trim().toLowerCase() === one.host));
  return (
    <Panel
      id="merchant-limits"
      title="Where they may spend it"
      padded
      foot={
        <>
          <span>A merchant is the server that an agent pays. Transfers to addresses have none.</span>
          <SaveButton what="limits by merchant" busy={busy} onClick={() => void save()} />
        </>
      }
    >
      <div class="stack">
        {rows.length === 0 && unlisted.length === 0 && <p class="small soft">No merchant has a limit of its own, and none was paid today.</p>}
        <ul class="merchants" aria-label="Limits by merchant">
          {rows.map((row, at) => {
            const used = usedAt(row.host)?.used_today_usd ?? "0";
            const name = merchantName(row.host.trim()) || "this merchant";
            return (
              <li key={at}>
                {row.known ? (
                  <b class="anywhere">{name}</b>
                ) : (
                  <Field label="Merchant" mono placeholder="api.example.com" value={row.host} onChange={(host) => change(at, { host })} error={errors[`hosts[${at}].host`]} disabled={!mayAct.value} />
                )}
                <MoneyField label={`In a day at ${name}`} value={row.cap} onChange={(cap) => change(at, { cap })} error={errors[`hosts[${at}].per_day_usd`]} disabled={!mayAct.value} />
                <Button small kind="ghost" icon="close" disabled={!mayAct.value} onClick={() => setRows(rows.filter((_, index) => index !== at))}>
                  <span class="only-read">Remove the limit of {name}</span>
                </Button>
                <div class="used whole">
                  <span class="small quiet">
                    {AMOUNT.test(row.cap.trim()) && units(row.cap.trim()) === 0n ? "Never. " : ""}
                    {money(used)} used today
                  </span>
                  {AMOUNT.test(row.cap.trim()) && <Meter value={String(used)} max={row.cap.trim()} label={`${money(used)} of ${money(row.cap.trim())} used today at ${name}`} />}
                </div>
              </li>
            );
          })}
          {unlisted.map((one) => (
            <li key={one.host}>
              <span class="whole row wrap">
                <b class="anywhere">{merchantName(one.host)}</b>
                <span class="small quiet grow">
                  {money(one.used_today_usd)} used today
                  {one.per_day_usd !== null && one.host !== OWN ? ` of ${money(one.per_day_usd)}` : ""}
                </span>
                <Button small disabled={!mayAct.value} onClick={() => add(one.host)}>
                  Set a limit<span class="only-read"> for {merchantName(one.host)}</span>
                </Button>
              </span>
            </li>
          ))}
        </ul>
        <Button small icon="plus" disabled={!mayAct.value} onClick={() => add("")}>
          Add a merchant
        </Button>
        <Select label="Every other merchant" value={others} onChange={(value) => { setOthers(value as Others); setErrors({}); }} options={OTHERS} />
        {others === "capped" && <MoneyField label="In a day at each other merchant" value={othersCap} onChange={(value) => { setOthersCap(value); setErrors({}); }} error={errors.others_per_day_usd} />}
        {(errors.form || errors.hosts) && <ErrorLine>{errors.form ?? errors.hosts}</ErrorLine>}
      </div>
    </Panel>
  );
}

/** What takes from a balance, and so counts toward these limits. */
const TAKEN = ["withdrawal.pending", "card_withdrawal.pending", "bank_transfer.pending", "payout.queued"];

/** What agents may take out of the balances of the account. */
export function FromBalance({ limits }: { limits: BalanceLimits | undefined }) {
  const saved = { call: asText(limits?.per_call_usd), day: asText(limits?.per_day_usd), ask: limits?.approvals === true };
  const [call, setCall] = useState(saved.call);
  const [day, setDay] = useState(saved.day);
  const [ask, setAsk] = useState(saved.ask);
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<Record<string, string>>({});
  useEffect(() => {
    setCall(saved.call);
    setDay(saved.day);
    setAsk(saved.ask);
  }, [saved.call, saved.day, saved.ask]);
  useEffect(() => onEvent(TAKEN, () => void loadAccount()), []);
  if (!limits) {
    return (
      <Panel title="What they may take out of your balance">
        <Skeleton rows={2} label="Loading limits" />
      </Panel>
    );
  }
  const save = async () => {
    const wrong: Record<string, string> = {};
    const callError = amountError(call);
    const dayError = amountError(day);
    if (callError) wrong.per_call_usd = callError;
    if (dayError) wrong.per_day_usd = dayError;
    setErrors(wrong);
    if (Object.keys(wrong).length > 0) return;
    setBusy(true);
    try {
      await setBalanceLimits({ per_call_usd: call.trim() || null, per_day_usd: day.trim() || null, approvals: ask });
      await loadAccount();
      toast("Limits saved");
    } catch (thrown) {
      setErrors(fieldErrors(thrown, ["per_call_usd", "per_day_usd", "approvals"]));
    }
    setBusy(false);
  };
  const taken = limits.taken_today_usd;
  const max = limits.per_day_usd;
  return (
    <Panel
      id="balance-limits"
      title="What they may take out of your balance"
      padded
      foot={
        <>
          <span>What you do on these pages is not limited</span>
          <SaveButton what="limits of the balance" busy={busy} onClick={() => void save()} />
        </>
      }
    >
      <div class="stack">
        <p class="small soft">Withdrawals from your balance and card balance, and payouts and transfers to banks.</p>
        <MoneyField label="In one withdrawal or payout" placeholder="no limit" value={call} onChange={(value) => { setCall(value); setErrors({}); }} error={errors.per_call_usd} hint="Empty means no limit, 0 allows nothing." />
        <MoneyField label="In a day, taken by all agents" placeholder="no limit" value={day} onChange={(value) => { setDay(value); setErrors({}); }} error={errors.per_day_usd} hint={`${money(taken)} taken today.`} />
        {max !== null && <Meter value={String(taken)} max={String(max)} label={`${money(taken)} of ${money(max)} taken today`} />}
        <Check checked={ask} onChange={setAsk} disabled={!mayAct.value}>
          Ask me about what is over a limit, instead of declining it
        </Check>
        {call.trim() === "" && day.trim() === "" && ask && (
          <p class="row small soft">
            <Icon name="info" />
            <span>Without a limit here, you are asked about the limits of API keys only.</span>
          </p>
        )}
        {errors.form && <ErrorLine>{errors.form}</ErrorLine>}
      </div>
    </Panel>
  );
}
