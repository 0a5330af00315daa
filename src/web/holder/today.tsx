// What agents spent today, each beside its own limit. The limits of a day begin at midnight UTC, and so does this day.

import { type AmountValue, Avatar, Meter, Panel, api, isZero, money, present, useLoaded, withQuery } from "../parts";
import { type Account, type ApiKey, account } from "./account";

export interface Spender {
  name: string;
  icon?: "wallet";
  /** `undefined` if the service does not say it. */
  spent: AmountValue;
  /** After the amount. */
  of: string;
  /** The limit of a day. */
  day?: AmountValue;
}

const ofKey = ({ name, spent_today_usd: spent, limits, last_used_at }: ApiKey): Spender => {
  const day = limits?.per_day_usd;
  if (spent === undefined) return { name, spent, of: last_used_at ? "active" : "not used yet" };
  return { name, spent, day, of: day === null || day === undefined ? "" : ` of ${money(day)}` };
};

/** The agent that pays from a wallet of its own, if there is only one. */
function ownWallet(shown: Account): string | null {
  const agents = (shown.connected_agents ?? []) as { api_key_id?: string | null; agent?: { name?: string } | null }[];
  const names = new Set(agents.flatMap((one) => (!one.api_key_id && one.agent?.name ? [one.agent.name] : [])));
  return names.size === 1 ? [...names].join("") : null;
}

/** Who spent what: the agents’ wallet, each key, and what was paid from other wallets. */
export function spenders(shown: Account, own: AmountValue): Spender[] {
  const wallet = shown.agent_wallet;
  const found: Spender[] = [];
  if (wallet) {
    const day = wallet.limits?.per_day_usd;
    found.push({ name: "Agents’ wallet", icon: "wallet", spent: wallet.used_today_usd ?? "0", day, of: day === null || day === undefined ? ", no limit a day" : ` of ${money(day)}` });
  }
  found.push(...(shown.api_keys ?? []).filter((key) => key.status !== "revoked" || !isZero(key.spent_today_usd ?? 0)).map(ofKey));
  if (!isZero(own)) {
    const name = ownWallet(shown);
    found.push(name ? { name, spent: own, of: ", own wallet" } : { name: "Own wallets of agents", spent: own, of: "" });
  }
  return found;
}

const DAY_MS = 86_400_000;

export function AgentsToday() {
  const midnight = new Date(Math.floor(present() / DAY_MS) * DAY_MS).toISOString();
  const sums = useLoaded(`spent since ${midnight}`, () => api.get<{ sums: { from_own_wallets?: AmountValue }[] }>(withQuery("/account/spending-sums", { starts: midnight })), ["payment.fulfilled", "wallet_payment.settled"]);
  const shown = account.value;
  const list = shown ? spenders(shown, sums.data?.sums[0]?.from_own_wallets) : [];
  if (list.length === 0) return null;
  return (
    <Panel
      title="Agents today"
      aside={
        <a class="small" href="/dashboard/agents">
          Limits
        </a>
      }
    >
      <ul class="list spends">
        {list.map(({ name, icon, spent, of, day }) => (
          <li key={`${icon} ${name}`}>
            <div class="cell">
              <div class="row">
                <Avatar name={icon ?? name} {...(icon ? { icon } : {})} />
                <b class="grow">{name}</b>
                <span class="number small">
                  {spent !== undefined && <b>{money(spent)}</b>}
                  <span class="quiet">{of}</span>
                </span>
              </div>
              {day !== null && day !== undefined && <Meter value={String(spent)} max={String(day)} label={`${icon ? "The agents’ wallet" : name} has spent ${money(spent)} of ${money(day)} today`} />}
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
