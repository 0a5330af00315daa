// International orders: a card within 24 hours, made by hand.

import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import {
  Amount, Button, Empty, ErrorLine, Field, Id, KeyValue, Note, PageHead, Panel, Shell, StatusTag, Table, Tabs, addShortcuts, api, fieldErrors, navigate, now, present, setQuery, short, span, toast, useRoute, withQuery,
} from "../parts";
import type { Approval, OpenIntlOrder } from "../api/operator";
import { Act, Ask, aboveLimit, claimEnded, usd } from "./act";
import { AgeBar } from "./bars";
import { ClaimButton, ClaimHead, FrozenNote, With, hasEnded, isFree, isMine } from "./claim";
import { Export, ListBar, ListState, fits, usePaged } from "./lists";
import { countOf, useEvery, useOnChange } from "./live";
import { type CardEntry, MaskedNumber, addsUp } from "./masked";
import { PendingNote, PendingTag, usePending } from "./pending";
import { alone, may, readClock } from "./session";
import { Split } from "./split";

const DAY = 24 * 3_600;
const PAGE = 100;
const age = (order: OpenIntlOrder): number => Math.max(0, (now.value - Date.parse(order.created_at)) / 1_000);

export function OrderTabs({ page }: { page: "orders" | "withdrawals" | "actions" }) {
  // These pages count down: claims, and what is due.
  useEvery(15_000, () => void readClock());
  useOnChange(["intl_orders", "card_withdrawals", "card_actions"], () => void readClock());
  return (
    <Tabs
      label="Queues"
      links={[
        { href: "/desk/orders", text: "Orders", current: page === "orders", count: countOf("intl_orders") || undefined },
        { href: "/desk/orders/withdrawals", text: "Card withdrawals", current: page === "withdrawals", count: countOf("card_withdrawals") || undefined },
        { href: "/desk/orders/actions", text: "Card actions", current: page === "actions", count: countOf("card_actions") || undefined },
      ]}
    />
  );
}

/** The time left of the 24 hours. `whole` says so, where the time of a claim stands beside it. */
function Due({ order, whole }: { order: OpenIntlOrder; whole?: boolean }) {
  const left = DAY - age(order);
  const near = left < 6 * 3_600;
  const rest = whole ? " of 24 h" : "";
  return (
    <span class="due">
      {left <= 0 ? (
        <StatusTag tone="bad" icon="clock">
          {span(-left)} late
        </StatusTag>
      ) : near ? (
        <StatusTag tone="wait" icon="clock">
          {span(left)} left{rest}
        </StatusTag>
      ) : (
        <span class="small">
          {span(left)} left{rest}
        </span>
      )}
      <AgeBar age={age(order)} limit={DAY} label={`Waited ${span(age(order))} of 24 h`} />
    </span>
  );
}

/** The order that was just claimed here: its form takes the keyboard. */
const justClaimed = signal<string | null>(null);

/** The month of an expiry as cards and issuers write it: 12/31 or 12/2031. */
export const month = (text: string): { month: number; year: number } | null => {
  const match = /^(\d{1,2})\/(\d{2}|\d{4})$/.exec(text.trim());
  if (!match) return null;
  const year = Number(match[2]);
  return { month: Number(match[1]), year: year < 100 ? 2_000 + year : year };
};

/** Writes the zero and the slash of an expiry that is being typed. */
export const expiryText = (text: string): string => {
  const [, digits = "", slash = "", year = ""] = /^\D*(\d?\d?)(\D*)(.*)$/.exec(text) ?? [];
  const rest = year.replaceAll(/\D/g, "").slice(0, 4);
  const whole = digits.length === 1 && (/[2-9]/.test(digits) || (digits === "1" && slash !== "")) ? `0${digits}` : digits;
  return rest !== "" || slash.trim() !== "" ? `${whole}/${rest}` : whole;
};

/** A whole expiry with all digits of its year. */
export const wholeExpiry = (text: string): string => {
  const until = month(text);
  return until ? `${String(until.month).padStart(2, "0")}/${until.year}` : text;
};

interface Address {
  line1: string;
  city: string;
  state: string;
  postal_code: string;
  country: string;
}
const NO_ADDRESS: Address = { line1: "", city: "", state: "", postal_code: "", country: "US" };

function EntryForm({ order, onDone, onReject, onEnded }: { order: OpenIntlOrder; onDone: (last4: string) => void; onReject: () => void; onEnded: () => void }) {
  const card = useRef<CardEntry | null>(null);
  const expiry = useSignal("");
  // Not a password field: browsers offer to store what is in one.
  const cvv = useRef<CardEntry | null>(null);
  const address = useSignal<Address>(NO_ADDRESS);
  const errors = useSignal<Record<string, string>>({});
  const busy = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  // The list can show the claim before its answer is here.
  const takesKeyboard = justClaimed.value === order.card_id;
  // Until it has it: what is typed next must not go to the list, where Enter claims another order.
  useEffect(() => {
    if (!takesKeyboard) return;
    card.current?.focus();
    if (form.current?.contains(document.activeElement)) justClaimed.value = null;
  });
  const without = (name: string) => {
    if (!errors.value[name]) return;
    const { [name]: _, ...rest } = errors.value;
    errors.value = rest;
  };
  const set = (name: keyof Address) => (text: string) => {
    address.value = { ...address.value, [name]: text };
  };

  const problems = (): Record<string, string> => {
    const found: Record<string, string> = {};
    const digits = card.current?.digits() ?? "";
    if (digits.length < 12) found.card_number = "Enter the whole number, 12 to 19 digits.";
    else if (!addsUp(digits)) found.card_number = "A digit is wrong: the number does not add up.";
    const until = month(expiry.value);
    const today = new Date(present());
    if (!until || until.month < 1 || until.month > 12) found.exp = "Month and year, like 12/31 or 12/2031.";
    else if (until.year * 12 + until.month < today.getFullYear() * 12 + today.getMonth() + 1) found.exp = "This card has expired.";
    if (!/^\d{3,4}$/.test(cvv.current?.digits() ?? "")) found.cvv = "Three or four digits.";
    for (const [name, label] of [["line1", "the line"], ["city", "the city"], ["state", "the state"], ["postal_code", "the postal code"]] as const) {
      if (!address.value[name].trim()) found[name] = `Enter ${label} that the issuer gave.`;
    }
    if (!/^[A-Z]{2}$/.test(address.value.country)) found.country = "The two letters of the country, like US.";
    return found;
  };
  const send = async () => {
    errors.value = problems();
    if (Object.keys(errors.value).length > 0) {
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus());
      return;
    }
    const until = month(expiry.value);
    busy.value = true;
    try {
      const made = await api.post<{ last4: string }>("/admin/intl-orders/fulfil", {
        card_id: order.card_id,
        lease: order.lease,
        card_number: card.current?.digits() ?? "",
        exp_month: until?.month,
        exp_year: until?.year,
        cvv: cvv.current?.digits() ?? "",
        billing_address: { ...address.value },
      }, { confirm: { title: "Confirm that it is you", text: `You confirm the card for ${usd(order.usd_amount)}.` } });
      card.current?.clear();
      cvv.current?.clear();
      expiry.value = "";
      toast(`Card •••• ${made.last4} is with its holder`);
      onDone(made.last4);
    } catch (thrown) {
      const ended = claimEnded(thrown);
      if (ended) {
        toast(ended);
        errors.value = { form: ended };
        onEnded();
        return;
      }
      const at = fieldErrors(thrown, ["card_number", "exp_month", "exp_year", "cvv", "billing_address"]);
      const { exp_month, exp_year, billing_address, ...rest } = at;
      errors.value = { ...rest, ...(exp_month || exp_year ? { exp: exp_month ?? exp_year ?? "" } : {}), ...(billing_address ? { line1: billing_address } : {}) };
    } finally {
      busy.value = false;
    }
  };

  return (
    <form
      ref={form}
      class="stack entry"
      autocomplete="off"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <div>
        <h2>Enter the card for {usd(order.usd_amount)}</h2>
        <p class="small soft">
          {order.label && <>“{order.label}”, </>}for <a href={`/desk/customers/${encodeURIComponent(order.user_id)}`} class="mono">{short(order.user_id)}</a>. Load it with exactly {usd(order.usd_amount)}.
        </p>
      </div>
      <Due order={order} whole />
      <FrozenNote user={order.user_id}>Ask whoever froze it before a card is made for it.</FrozenNote>
      {order.in_doubt && (
        <Note tone="wait" title="This card may exist already.">
          {order.hint ?? "A restore may have lost that it was made. Look first; put the order back if there is none."}
        </Note>
      )}
      <MaskedNumber label="Card number" hint="Shown as dots while you type. Sealed when it is saved, and never shown here again." error={errors.value.card_number} entry={card} onChange={() => without("card_number")} />
      <div class="twin">
        <Field label="Expiry" mono inputMode="numeric" placeholder="MM/YY" maxLength={7} value={expiry.value} onChange={(text) => (expiry.value = expiryText(text))} onBlur={() => (expiry.value = wholeExpiry(expiry.value))} error={errors.value.exp} />
        <MaskedNumber label="CVV" code error={errors.value.cvv} entry={cvv} onChange={() => without("cvv")} />
      </div>
      <fieldset class="stack tight">
        <legend class="small">
          <b>Billing address</b> <span class="quiet">as the issuer gave it</span>
        </legend>
        <Field label="Line" value={address.value.line1} onChange={set("line1")} error={errors.value.line1} maxLength={100} />
        <div class="twin">
          <Field label="City" value={address.value.city} onChange={set("city")} error={errors.value.city} maxLength={100} />
          <Field label="State" value={address.value.state} onChange={set("state")} error={errors.value.state} maxLength={100} />
          <Field label="Postal code" value={address.value.postal_code} onChange={set("postal_code")} error={errors.value.postal_code} maxLength={100} />
          <Field label="Country" value={address.value.country} onChange={(text) => set("country")(text.trim().toUpperCase())} error={errors.value.country} maxLength={2} />
        </div>
      </fieldset>
      {errors.value.form && <ErrorLine>{errors.value.form}</ErrorLine>}
      <div class="row wrap between entry-acts">
        <Act kind="danger" onClick={onReject}>
          Refuse order…
        </Act>
        <Act kind="primary" icon="lock" type="submit" busy={busy.value}>
          Seal and deliver
        </Act>
      </div>
    </form>
  );
}

interface Made {
  id: string;
  last4: string;
}

interface SideProps {
  order: OpenIntlOrder | undefined;
  orders: OpenIntlOrder[];
  /** The order that was delivered last. */
  made: Made | null;
  setMade: (made: Made) => void;
  pending: Approval | undefined;
  reload: () => void;
}

function Side({ order, orders, made, setMade, pending, reload }: SideProps) {
  const [rejecting, setRejecting] = useState<OpenIntlOrder | null>(null);
  const mine = useRef<string | null>(null);
  if (order && isMine(order)) mine.current = order.card_id;
  const next = orders.find((one) => isFree(one) && one.card_id !== made?.id);
  const dialog = rejecting && (
    <Ask
      title="Refuse this order?"
      action="Refuse and credit"
      danger
      path="/admin/intl-orders/reject"
      // A request for a second operator outlasts the claim.
      body={{ card_id: rejecting.card_id, lease: isMine(rejecting) && aboveLimit(rejecting.charged_usd_amount, alone.value) === null ? rejecting.lease : null }}
      gives={rejecting.charged_usd_amount}
      fields={{ note: { name: "reason", label: "Reason", hint: "The holder and their agent read it. Like: “Our partner does not serve this country today.”", least: "Say why, in a sentence." } }}
      done="Refused. The whole charge is credited."
      confirm={{ title: "Confirm that it is you", text: `You refuse the order of ${usd(rejecting.usd_amount)} and credit ${usd(rejecting.charged_usd_amount)}.` }}
      onDone={reload}
      onClose={() => setRejecting(null)}
    >
      <p>
        <b>The whole charge goes back to the holder’s balance</b>, price and fee: {usd(rejecting.charged_usd_amount)}. It cannot be undone: the holder would have to order again.
      </p>
    </Ask>
  );
  if (made && !order) {
    return (
      <Panel>
        <Empty
          icon="check"
          title={`Card •••• ${made.last4} is delivered`}
          actions={
            <>
              {next && (
                <Button kind="primary" onClick={() => setQuery({ id: next.card_id })}>
                  Next: {usd(next.usd_amount)}, {span(Math.max(0, DAY - age(next)))} left
                </Button>
              )}
              <Button href={`/desk/customers?q=${made.id}`}>See the order</Button>
            </>
          }
        >
          Its holder saw it become ready just now. The number is sealed; nobody can read it here.
        </Empty>
      </Panel>
    );
  }
  if (!order) {
    return (
      <Panel>
        <Empty icon="globe" title="Claim an order to enter its card">
          A claim is yours alone for half an hour, and can be extended. The oldest order is due first.
        </Empty>
      </Panel>
    );
  }
  if (isMine(order)) {
    return (
      <>
        <Panel foot={!pending && <span>If your claim ends first, nothing is saved and the order waits for you or a colleague.</span>}>
          <ClaimHead leased={order} at="/admin/intl-orders" subject={{ card_id: order.card_id }} onChange={reload} released="Released: it is not made. Anyone can claim it." />
          <div class="panel-body">
            {pending ? (
              <PendingNote approval={pending} />
            ) : (
              <EntryForm
                key={order.card_id}
                order={order}
                onReject={() => setRejecting(order)}
                onEnded={reload}
                onDone={(last4) => {
                  setMade({ id: order.card_id, last4 });
                  setQuery({ id: undefined });
                  reload();
                }}
              />
            )}
          </div>
        </Panel>
        {dialog}
      </>
    );
  }
  return (
    <>
      <Panel title={`Order of ${usd(order.usd_amount)}`} padded>
        <div class="stack">
          <KeyValue
            rows={[
              { name: "For", value: <a href={`/desk/customers/${encodeURIComponent(order.user_id)}`} class="mono">{short(order.user_id)}</a> },
              { name: "Card", value: <Id value={order.card_id} /> },
              { name: "With", value: <With leased={order} /> },
              { name: "Due", value: <Due order={order} /> },
              order.label !== null && { name: "Label", value: `“${order.label}”` },
            ]}
          />
          {mine.current === order.card_id && hasEnded(order) && (
            <Note tone="wait" title="Your claim has ended.">
              What you entered was not saved. Claim the order again to go on.
            </Note>
          )}
          <FrozenNote user={order.user_id}>Ask whoever froze it before a card is made for it.</FrozenNote>
          {order.in_doubt && (
            <Note tone="wait" title="This card may exist already.">
              {order.hint}
            </Note>
          )}
          {pending ? (
            <PendingNote approval={pending} />
          ) : (
            <div class="row wrap between">
              <Act kind="danger" disabled={!isFree(order)} onClick={() => setRejecting(order)}>
                Refuse order…
              </Act>
              {isFree(order) && <ClaimButton at="/admin/intl-orders" subject={{ card_id: order.card_id }} what={`this ${usd(order.usd_amount)} order`} main onChange={reload} />}
            </div>
          )}
        </div>
      </Panel>
      {dialog}
    </>
  );
}

export default function Orders() {
  const { query } = useRoute();
  const filter = useSignal("");
  const [made, setMade] = useState<Made | null>(null);
  const list = usePaged<OpenIntlOrder>(
    "orders",
    async (after) => {
      const page = await api.get<{ orders: OpenIntlOrder[]; has_more: boolean }>(withQuery("/admin/intl-orders", { limit: PAGE, starting_after: after }));
      return { rows: page.orders, next: page.has_more ? (page.orders.at(-1)?.card_id ?? null) : null };
    },
    ["intl_orders"],
  );
  const pendingOf = usePending();
  const orders = list.rows ?? [];
  const shown = orders.filter((order) => fits(filter.value, order.user_id, order.card_id, order.label, order.usd_amount, order.leased_by));
  const wanted = query.get("id");
  const lastMine = useRef<string | null>(null);
  const selected = orders.find((order) => order.card_id === wanted) ?? orders.find((order) => isMine(order)) ?? orders.find((order) => order.card_id === lastMine.current && hasEnded(order));
  if (selected && isMine(selected)) lastMine.current = selected.card_id;
  const at = useRef(-1);
  useEffect(() => {
    const rows = () => [...document.querySelectorAll<HTMLElement>(".orders tbody tr")];
    const move = (step: number) => {
      const all = rows();
      at.current = Math.min(all.length - 1, Math.max(0, at.current + step));
      all[at.current]?.querySelector<HTMLElement>("a, button")?.focus();
    };
    return addShortcuts([
      { keys: "j", what: "Next order", run: () => move(1) },
      { keys: "k", what: "Previous order", run: () => move(-1) },
      { keys: "c", what: "Claim the order", run: () => rows()[at.current]?.querySelector<HTMLElement>(".claim-button")?.click() },
    ]);
  }, []);
  return (
    <Shell app="desk" page="orders" title="International orders">
      <PageHead title="International orders">A card within 24 hours, made by hand. Claim one, enter it, and it reaches its holder at once.</PageHead>
      <div class="stack">
        <OrderTabs page="orders" />
        <Split
          open={list.rows && (selected?.card_id ?? made?.id ?? null)}
          list={
            <Panel class="orders claims">
              <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="wallet, label, card">
                <Export
                  name="orders"
                  rows={list.all}
                  columns={[
                    ["card_id", (row) => row.card_id],
                    ["user_id", (row) => row.user_id],
                    ["usd_amount", (row) => String(row.usd_amount)],
                    ["label", (row) => row.label],
                    ["status", (row) => row.status],
                    ["created_at", (row) => row.created_at],
                    ["leased_by", (row) => row.leased_by],
                    ["leased_until", (row) => row.leased_until],
                  ]}
                />
              </ListBar>
              <ListState
                list={list}
                shown={shown.length}
                foot={
                  <span class="wide-only">
                    <kbd>j</kbd> <kbd>k</kbd> move, <kbd>c</kbd> claim
                  </span>
                }
                empty={
                  <Empty icon="check" title="No order waits">
                    A new one is announced here, in the title of this tab, and with a sound if you turn it on at Home.
                  </Empty>
                }
              >
                <Table
                  caption="Open orders, overdue ones first, then the oldest"
                  rows={shown}
                  rowKey={(row) => row.card_id}
                  selected={(row) => row.card_id === selected?.card_id}
                  onRow={(row) => setQuery({ id: row.card_id })}
                  columns={[
                    {
                      title: "Card",
                      cell: (row) => (
                        <span class="row order">
                          <i class="order-card" />
                          <span>
                            <a href={`/desk/orders?id=${row.card_id}`} class="lead">
                              <Amount value={row.usd_amount} />
                            </a>
                            <span class="small quiet block">{row.label ? `“${row.label}”` : "no label"}</span>
                            <PendingTag approval={pendingOf(row.card_id)} />
                          </span>
                        </span>
                      ),
                    },
                    { title: "For", fold: "hidden", cell: (row) => <a href={`/desk/customers/${encodeURIComponent(row.user_id)}`} class="mono small nowrap">{short(row.user_id)}</a> },
                    { title: "Due", fold: "whole", cell: (row) => <Due order={row} />, class: "due-cell" },
                    { title: "With", fold: "whole", cell: (row) => <With leased={row} hint="the card may be on its way" /> },
                    {
                      title: "Claim",
                      titleOnlyRead: true,
                      number: true,
                      fold: "right",
                      cell: (row) =>
                        isFree(row) &&
                        !pendingOf(row.card_id) &&
                        may("operate") && (
                          <ClaimButton
                            at="/admin/intl-orders"
                            subject={{ card_id: row.card_id }}
                            what={`the ${usd(row.usd_amount)} order of ${short(row.user_id)}`}
                            onChange={(lease) => {
                              if (lease !== null) justClaimed.value = row.card_id;
                              if (lease !== null) navigate(`/desk/orders?id=${row.card_id}`);
                              list.reload();
                            }}
                          />
                        ),
                    },
                  ]}
                />
              </ListState>
            </Panel>
          }
          item={<Side order={selected} orders={orders} made={made} setMade={setMade} pending={selected && pendingOf(selected.card_id)} reload={list.reload} />}
        />
      </div>
    </Shell>
  );
}

