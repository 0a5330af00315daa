// One transfer: its stops as they happen, its legs with their transactions, and its details.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Amount, Button, CopyLine, Empty, Id, KeyValue, Log, type LogLine, confirmIt, Note, PageHead, type PageProps, Panel, Route, Shell, Skeleton, Status, type Stop, StatusTag, Table, Time, type Tone, actorOf, byWords, now, money, span } from "../parts";
import { type Paid as Payment, readPayment } from "./data/cards";
import { type PastEvent, readEvents } from "./data/events";
import { useLoad } from "./data/load";
import { readNames } from "./data/people";
import { type RouteStop, stopsOf, timesOf } from "./data/route";
import { dayLink } from "./data/statement";
import { NOT_THERE, TRANSFER_EVENTS, type Transfer, KIND_WORDS, amountWords, appName, isOpen, named, needsOperator, ofEvent, railName, readTransfer, statusKind, troubleWord, updated } from "./data/transfers";
import { retryWords, whereOf } from "./data/where";
import { HELD_WORDS, reasonSentence } from "./data/words";
import { Receipt, paidLines, worthWords } from "./receipt";
import { Transaction, chainName } from "./chain";
import { LoadError } from "./pager";
import { took } from "./transfers";
import { mayAct } from "./account";

const ID_FIELDS = ["top_up_id", "payout_id", "id", "withdrawal_id", "transaction_id"];

const isAbout = (id: string) => (object: Record<string, unknown>) => ID_FIELDS.some((field) => object[field] === id);

export default function TransferPage({ params }: PageProps) {
  const id = params.id ?? "";
  const transfer = useLoad(`transfer ${id}`, () => readTransfer(id), {
    types: TRANSFER_EVENTS,
    after: (shown, event) => {
      if (!isAbout(id)(event.data.object)) return shown;
      const next = ofEvent(event.type, event.data.object);
      return next ? updated(shown, next) : shown;
    },
  });
  const shown = transfer.data;
  const title = shown ? KIND_WORDS[shown.kind] : "Transfer";
  return (
    <Shell app="holder" page="transfers" title={title} crumbs={[{ text: "Transfers", href: "/dashboard/transfers" }, { text: title }]}>
      {shown ? (
        <Loaded key={id} transfer={shown} reload={transfer.reload} />
      ) : transfer.error ? (
        <>
          <PageHead title="Transfer" />
          {NOT_THERE.includes(transfer.error.code) ? (
            <Panel>
              <Empty icon="route" title="This transfer is not yours, or does not exist" actions={<Button href="/dashboard/transfers">All transfers</Button>}>
                Check the address, or open it from the list.
              </Empty>
            </Panel>
          ) : (
            <LoadError error={transfer.error} what="this transfer" retry={transfer.reload} />
          )}
        </>
      ) : (
        <>
          <PageHead title="Transfer" />
          <Panel>
            <Skeleton rows={5} label="Loading the transfer" />
          </Panel>
        </>
      )}
    </Shell>
  );
}

/** Between two looks at a transfer that is under way. */
const LOOK_AGAIN_MS = 10_000;

const PREFIX = { top_up: "top_up", payout: "payout", withdrawal: "withdrawal", card_withdrawal: "card_withdrawal", bank_transfer: "bank_transfer" } as const;

function Loaded({ transfer, reload }: { transfer: Transfer; reload: () => void }) {
  const about = isAbout(transfer.id);
  const types = [`${PREFIX[transfer.kind]}.*`];
  const events = useLoad<PastEvent[]>(`events ${transfer.id}`, () => readEvents({ types, since: transfer.createdAt, about }), {
    types,
    after: (lines, event) => (about(event.data.object) && !lines.some((one) => one.seq === event.seq) ? [{ ...event, fresh: true }, ...lines] : lines),
  });
  const payment = useLoad<Payment | null>(`payment ${transfer.paymentId}`, () => (transfer.paymentId ? readPayment(transfer.paymentId) : Promise.resolve(null)), {
    types: ["payment.*", "refund.*"],
    after: (shown, event) => (event.data.object.payment_id === transfer.paymentId ? "reload" : shown),
  });
  const stops = stopsOf(transfer, timesOf(transfer, events.data ?? []));
  const names = useLoad("names", () => (transfer.payout ? readNames() : Promise.resolve(new Map<string, string>())));
  const trouble = troubleWord(transfer, now.value);
  const [title, text] = headline(transfer, names.data, trouble !== null);
  const failed = transfer.status === "failed" || transfer.status === "rejected";
  const where = whereOf(transfer);
  const first = (events.data ?? []).at(-1);
  const begun = first && ["wallet", "payment", "api_key", "passkey"].includes(first.actor?.type ?? "") ? actorOf(first) : null;
  // Attestations, new signatures and the end of all attempts are no events.
  const isRunning = isOpen(transfer) && transfer.status !== "awaiting-details";
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") reload();
    }, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isRunning]);

  return (
    <>
      <PageHead
        title={
          <span class="row wrap">
            {title}
            {trouble ? (
              <StatusTag tone="wait" tag>
                {trouble}
              </StatusTag>
            ) : isOpen(transfer) || failed ? (
              <Status kind={statusKind(transfer)} value={transfer.status} tag />
            ) : ["complete", "credited"].includes(transfer.status) ? (
              <StatusTag tone="done" tag>
                in {took(transfer)}
              </StatusTag>
            ) : (
              <Status kind={statusKind(transfer)} value={transfer.status} tag />
            )}
          </span>
        }
        actions={<span class="sum">{amountWords(transfer)}</span>}
      >
        {text}
      </PageHead>
      <div class="stack">
        <Panel padded class="route-panel">
          <Route stops={stops.map((stop, index) => shownStop(stop, stops[index - 1], index === 0 ? payment.data : null))} label={`Steps of this ${KIND_WORDS[transfer.kind].toLowerCase()}`} />
        </Panel>
        <WhereItIs transfer={transfer} where={where} />
        {transfer.held && (
          <Note tone="wait" title="It waits">
            {HELD_WORDS[transfer.held] ?? reasonSentence(transfer.held)}
          </Note>
        )}
        {transfer.payout?.status === "awaiting-details" && !transfer.payout.redemption_url && mayAct.value && (
          <Panel tone="ask" title="The recipient needs a link" padded>
            <div class="stack">
              <p class="small soft">Whoever has the link can take the {amountWords(transfer)}, so it is shown after you confirm that it is you.</p>
              <div>
                <Button
                  onClick={async () => {
                    if (await confirmIt("Show the recipient’s link?", "Send it only to the person you mean.")) reload();
                  }}
                >
                  Show the link
                </Button>
              </div>
            </div>
          </Panel>
        )}
        {transfer.payout?.redemption_url && (
          <Panel tone="ask" title="Send this link to the recipient" padded>
            <div class="stack">
              <CopyLine text={transfer.payout.redemption_url} what="Link for the recipient" />
              <p class="small soft">
                Anybody who has the link can take the {amountWords(transfer)}. Send it only to the person you mean. After 30 days without a card, the full price of {money(transfer.payout.charged_usd_amount)} is back on your balance.
              </p>
            </div>
          </Panel>
        )}
        <div class="columns wide-narrow">
          <div class="stack">
            <Legs transfer={transfer} payment={payment.data ?? null} stops={stops} />
            <Panel title="Timeline" padded>
              <Log label="What happened, the newest first" lines={timeline(transfer, events.data ?? [], payment.data ?? null)} />
            </Panel>
          </div>
          <div class="stack">
            <Details transfer={transfer} begun={payment.data?.agent ?? begun} />
            <Price transfer={transfer} payment={payment.data ?? null} />
          </div>
        </div>
        {isOpen(transfer) && (
          <Note tone="info" title="If a step takes long">
            {needsOperator(transfer)
              ? "Nothing more is tried by itself. Once a person at Purser has found out what happened, this page says how it ended."
              : transfer.kind === "top_up"
                ? "It is tried again by itself. What cannot be delivered is credited to your balance in full. What the issuer does not credit within an hour waits for a person at Purser, and this page says so then."
                : transfer.kind === "card_withdrawal"
                  ? "An operator pays it out, once. What cannot be paid is on your card balance again. You can close this page."
                  : "It is tried again by itself, and never sent twice. What definitely cannot be paid goes back to where it came from. You can close this page."}
          </Note>
        )}
      </div>
    </>
  );
}

const LONGER = "It takes longer than usual; you can close this page.";

function headline(transfer: Transfer, names: Map<string, string> | undefined, isTroubled: boolean): [string, ComponentChildren] {
  const back = "The full price is on your balance and can be spent or withdrawn.";
  const reason = reasonSentence(transfer.payout?.failure_reason ?? transfer.topUp?.failure_code ?? transfer.withdrawal?.failure_reason ?? transfer.bank?.failureReason);
  const why = reason ? `${reason} ` : "";
  switch (transfer.kind) {
    case "top_up": {
      const from = chainName(transfer.topUp?.payment_network ?? "base");
      if (transfer.status === "failed") return [`Top-up failed, ${amountWords(transfer)} is back`, `${why}${back}`];
      if (transfer.status === "credited") return ["Top-up credited", "It is on your card balance at the issuer."];
      if (isTroubled) return ["Top-up not credited yet", `From ${from} to your card balance at the issuer. ${LONGER}`];
      return ["Top-up on its way", `From ${from} to your card balance at the issuer. Usually under a minute; you can close this page.`];
    }
    case "payout": {
      const credited = transfer.payout?.credited_amount;
      switch (transfer.status) {
        case "awaiting-details":
          return ["Payout waits for its recipient", "They open the link and enter the debit card that gets the money."];
        case "complete":
          return ["Paid out", `${named(transfer, names)}.`];
        case "returned":
          return ["Payout came back", `${why}${credited ? `${money(credited)} is on your balance.` : back}`];
        case "failed":
        case "cancelled":
        case "expired":
          return ["Payout ended, and its price is back", `${why}${credited ? `${money(credited)} is on your balance.` : back}`];
        default:
          return isTroubled ? ["Payout not paid out yet", `${named(transfer, names)}. ${LONGER}`] : ["Payout on its way", `${named(transfer, names)}. You can close this page.`];
      }
    }
    case "withdrawal":
      if (transfer.status === "failed") return ["Withdrawal failed, the amount is available again", why || "It can never settle on its chain, so the hold was released."];
      if (transfer.status === "complete") return ["Withdrawal arrived", `USDC on ${chainName(transfer.withdrawal?.network ?? "base")}.`];
      return isTroubled ? ["Withdrawal not arrived yet", LONGER] : ["Withdrawal on its way", "It usually arrives within seconds."];
    case "card_withdrawal":
      if (transfer.status === "failed" || transfer.status === "rejected") return ["Withdrawal ended without a payment", `${why}The amount is on your card balance again.`];
      if (transfer.status === "complete") return ["Withdrawal arrived", `USDC on ${chainName(transfer.withdrawal?.network ?? "base")}.`];
      return isTroubled ? ["Withdrawal not arrived yet", LONGER] : ["Withdrawal on its way", "A person pays it out, usually within a day. The issuer holds the amount until then."];
    case "bank_transfer":
      if (transfer.status === "failed") return ["Bank transfer rejected", `${why}${transfer.incoming ? "" : "The amount is on your balance again."}`];
      if (transfer.status === "returned") return ["Bank transfer came back", `${why}The amount is on your balance.`];
      return [transfer.what, transfer.status === "complete" ? "The bank carried it out." : "The bank carries it out. You can close this page."];
  }
}

function shownStop(stop: RouteStop, before: RouteStop | undefined, payment: Payment | null | undefined): Stop {
  const lines: ComponentChildren[] = [];
  if (stop.is === "done" || stop.is === "fail") {
    if (stop.at) lines.push(<Time at={stop.at} as="seconds" />);
    if (stop.at && before?.at) {
      const ms = Date.parse(stop.at) - Date.parse(before.at);
      if (ms >= 0) lines.push(<span>+{ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms / 1_000)}</span>);
    } else if (payment) lines.push(<span>{money(payment.amount, payment.asset)}</span>);
  } else if (stop.is === "now" || stop.is === "hold") {
    const began = stop.at ?? before?.at;
    if (began) lines.push(<span class="soft">{span((now.value - Date.parse(began)) / 1_000)} so far</span>);
  } else lines.push(<span>next</span>);
  if (stop.note) lines.push(<span>{stop.note}</span>);
  return { is: stop.is, name: stop.name, detail: lines };
}

/** Where the money is now, what is next, and what was tried again. Read aloud when it changes. */
function WhereItIs({ transfer, where }: { transfer: Transfer; where: ReturnType<typeof whereOf> }) {
  const failed = !isOpen(transfer) && !["complete", "credited"].includes(transfer.status);
  const retries = isOpen(transfer) ? retryWords(transfer) : null;
  return (
    <div aria-live="polite" id="where">
      <Note
        tone={failed || where.next ? "info" : "done"}
        title="Where the money is"
        actions={
          where.back && (
            <Button small href={dayLink(transfer.updatedAt, transfer.id)}>
              See it in the statement
            </Button>
          )
        }
      >
        {where.now}
        {where.next && (
          <>
            {" "}
            <b>Next:</b> {where.next}
          </>
        )}
        {retries && <> {retries}</>}
      </Note>
    </div>
  );
}

interface Leg {
  name: string;
  where: string;
  /** As in the steps above. */
  is: RouteStop["is"];
  hash: string | null;
  network: string;
  at: string | null;
  amount: number | string | null;
  asset: string;
}

const LEG_STATE: Record<RouteStop["is"], [Tone, string]> = { done: ["done", "Done"], now: ["move", "Happens now"], next: ["off", "Next"], hold: ["wait", "Waits"], fail: ["bad", "Failed"] };

/** Every leg: what happened, what happens now, what follows, and what came back. */
export function legsOf(transfer: Transfer, payment: Payment | null, stops: RouteStop[]): Leg[] {
  const { topUp, withdrawal } = transfer;
  const usdc = { amount: transfer.amount, asset: "USDC" };
  return stops.map((stop, index): Leg => {
    const at = stop.is === "done" || stop.is === "fail" ? (stop.at ?? null) : null;
    const plain = { name: stop.name, is: stop.is, where: "Purser", hash: null, network: "", at, amount: transfer.amount as number | string | null, asset: transfer.currency };
    const isBack = stop.is === "done" && stops.some((one, before) => one.is === "fail" && before < index);
    if (index === 0) {
      if (payment) return { ...plain, name: "Payment", where: chainName(payment.network), hash: payment.transaction, network: payment.network, at: transfer.createdAt, amount: payment.amount, asset: payment.asset };
      if (topUp) return { ...plain, where: chainName(topUp.payment_network) };
      return transfer.kind === "card_withdrawal" ? { ...plain, where: "Card issuer" } : { ...plain, where: transfer.incoming ? "Bank" : "Purser" };
    }
    if (isBack) {
      const toCards = transfer.kind === "card_withdrawal";
      const back = transfer.payout ? (transfer.payout.credited_amount ?? transfer.payout.charged_usd_amount) : topUp ? topUp.funded_usd : (transfer.bank?.returnedAmount ?? transfer.amount);
      // What a bank did not deliver was never here.
      return { ...plain, where: toCards ? "Card issuer" : "Purser", amount: transfer.bank && transfer.incoming ? null : back, asset: "USD" };
    }
    switch (transfer.kind) {
      case "top_up": {
        const kind = stop.leg;
        if (!kind) return { ...plain, where: "Card issuer", asset: "USD" };
        const sent = topUp?.legs.find((one) => one.leg === kind);
        const network = kind === "burn" ? "solana" : "base";
        return { ...plain, ...usdc, where: chainName(network), hash: sent?.tx_hash ?? null, network, at: sent?.at ?? at };
      }
      case "withdrawal": {
        const network = withdrawal?.network ?? "base";
        return { ...plain, ...usdc, where: chainName(network), hash: stop.is === "next" ? null : (withdrawal?.tx_hash ?? null), network };
      }
      case "card_withdrawal": {
        const last = index === stops.length - 1;
        const network = withdrawal?.network ?? "base";
        return last ? { ...plain, ...usdc, where: chainName(network), hash: withdrawal?.tx_hash ?? null, network } : { ...plain, where: index === 1 ? "Card issuer" : "Purser" };
      }
      case "payout":
        return { ...plain, where: transfer.payout?.product === "app_payment" ? appName(transfer.payout.platform ?? "Payment app") : index === 1 && stops.length === 4 ? "Recipient" : "Bank" };
      default:
        return { ...plain, where: index === stops.length - 1 && transfer.incoming ? "Purser" : "Bank" };
    }
  });
}

function Legs({ transfer, payment, stops }: { transfer: Transfer; payment: Payment | null; stops: RouteStop[] }) {
  return (
    <Panel title="Legs">
      <Table
        caption="Legs in their order, with their transactions"
        rows={legsOf(transfer, payment, stops)}
        rowKey={(leg, index) => `${index} ${leg.name}`}
        rowClass={(leg) => (leg.is === "next" ? "soft" : undefined)}
        columns={[
          {
            title: "Leg",
            class: "two-lines",
            cell: (leg) => (
              <>
                {leg.name}
                {!leg.name.endsWith(leg.where) && <div class="small quiet">{leg.where}</div>}
              </>
            ),
          },
          { title: "State", fold: "second", cell: (leg) => <StatusTag tone={LEG_STATE[leg.is][0]}>{LEG_STATE[leg.is][1]}</StatusTag> },
          { title: "Transaction", fold: "whole", cell: (leg) => (leg.hash ? <Transaction hash={leg.hash} network={leg.network} /> : <span class="small quiet">{leg.network === "" ? "not on a chain" : leg.is === "fail" ? "none" : "none yet"}</span>) },
          { title: "At", fold: "second-right", cell: (leg) => (leg.at ? <Time at={leg.at} as="seconds" class="quiet" /> : <span class="quiet">–</span>) },
          { title: "Amount", number: true, fold: "first-right", cell: (leg) => (leg.amount === null ? <span class="quiet">–</span> : <Amount value={leg.amount} currency={leg.asset} places={leg.asset === "USDC" ? 6 : 2} soft={leg.is === "next"} struck={leg.is === "fail"} />) },
        ]}
      />
    </Panel>
  );
}

/** What it cost, for what was bought. A withdrawal and a bank transfer cost what they move. */
function Price({ transfer, payment }: { transfer: Transfer; payment: Payment | null }) {
  const { payout, topUp } = transfer;
  if (payout) {
    const returned = payout.late_return?.credited_amount;
    return (
      <Receipt
        bought={{ name: "Recipient gets", value: worthWords(payout.amount, payout.currency, payout.charged_usd_amount, payout.fee_amount) }}
        price={payout.charged_usd_amount}
        fee={{ amount: payout.fee_amount, currency: payout.fee_currency }}
        payment={payment}
        credited={payout.credited_amount ?? returned ?? null}
        creditedAt={transfer.updatedAt}
        cause={payout.payout_id}
      />
    );
  }
  if (topUp) {
    return (
      <Receipt
        bought={{ name: "Card balance gets", value: money(topUp.funded_usd) }}
        price={topUp.funded_usd}
        fee={{ amount: 0, currency: "USD" }}
        payment={payment}
        credited={topUp.status === "failed" ? topUp.funded_usd : null}
        creditedAt={transfer.updatedAt}
        cause={topUp.top_up_id}
      />
    );
  }
  return null;
}

function Details({ transfer, begun }: { transfer: Transfer; begun: string | null }) {
  const { payout, topUp, withdrawal, bank } = transfer;
  return (
    <Panel title="Details" padded>
      <KeyValue
        rows={[
          { name: KIND_WORDS[transfer.kind].split(" ")[0] ?? "Transfer", value: <Id value={transfer.id} /> },
          { name: "Started", value: <Time at={transfer.createdAt} /> },
          begun !== null && { name: "By", value: begun },
          transfer.kind !== "card_withdrawal" && transfer.paymentId === null && { name: "Statement", value: <a href={dayLink(transfer.createdAt, transfer.id)}>Its lines</a> },
          topUp && { name: "Goes to", value: <Id value={topUp.deposit_address} what="deposit address" /> },
          payout?.destination && { name: "To", value: `${payout.destination.account_holder_name}, ${payout.destination.bank_name} •••• ${payout.destination.account_number_last4}` },
          payout?.platform && { name: "App", value: appName(payout.platform) },
          typeof payout?.card_last4 === "string" && { name: "Debit card", value: `•••• ${payout.card_last4}` },
          payout?.late_return && { name: "Came back late", value: <Status kind="late_return" value={payout.late_return.status} /> },
          withdrawal && { name: "Goes to", value: <Id value={withdrawal.address} what="address" /> },
          withdrawal && { name: "Chain", value: chainName(withdrawal.network) },
          typeof bank?.note === "string" && { name: "Note", value: bank.note },
          typeof bank?.reference === "string" && { name: "Reference", value: <span class="anywhere">{bank.reference}</span> },
        ]}
      />
    </Panel>
  );
}

const WORDS: Record<string, [Tone, string]> = {
  "top_up.paid": ["done", "Paid"],
  "top_up.bridging": ["move", "Burned on Solana, waits for the attestation"],
  "top_up.delivered": ["move", "Delivered to the deposit address on Base"],
  "top_up.credited": ["done", "Credited to your card balance"],
  "top_up.failed": ["off", "It could not be delivered. The full price is on your balance"],
  "payout.awaiting-details": ["wait", "Waits for the recipient’s card"],
  "payout.queued": ["move", "Ready to be sent"],
  "payout.in-process": ["move", "{rail} accepted it"],
  "payout.complete": ["done", "Paid out"],
  "payout.returned": ["off", "It came back, and was credited"],
  "payout.failed": ["off", "{rail} declined it. The price is on your balance"],
  "payout.cancelled": ["off", "{rail} stopped it. The price is on your balance"],
  "payout.expired": ["off", "No card was entered in 30 days. The price is on your balance"],
  "withdrawal.pending": ["move", "The amount is held"],
  "withdrawal.sent": ["move", "Sent on its chain"],
  "withdrawal.complete": ["done", "Arrived"],
  "withdrawal.failed": ["off", "It can never settle. The hold was released"],
  "card_withdrawal.pending": ["move", "Asked the issuer to hold the amount"],
  "card_withdrawal.queued": ["move", "Held. Waits for an operator"],
  "card_withdrawal.claimed": ["move", "An operator pays it"],
  "card_withdrawal.complete": ["done", "Paid"],
  "card_withdrawal.rejected": ["off", "An operator rejected it"],
  "card_withdrawal.failed": ["off", "The issuer declined it"],
  "card_withdrawal.hold_released": ["off", "The hold was released"],
  "bank_transfer.pending": ["move", "The bank carries it out"],
  "bank_transfer.complete": ["done", "Carried out"],
  "bank_transfer.failed": ["off", "The bank rejected it"],
  "bank_transfer.returned": ["off", "The bank sent it back"],
};

function timeline(transfer: Transfer, events: PastEvent[], payment: Payment | null): LogLine[] {
  const rail = railName(transfer).replace(/^the/, "The");
  const lines: (LogLine & { at: string })[] = events.flatMap((event, index) => {
    // The payment's own line says it better.
    if (event.type === "top_up.paid" && payment) return [];
    const [current, words] = WORDS[event.type] ?? [];
    if (!current || !words) return [];
    // What another event follows happens no more.
    const tone = index > 0 && (current === "move" || current === "wait") ? "done" : current;
    const text = words.replace("{rail}", rail);
    // The sentence names it already.
    const who = text === words ? (actorOf(event)?.replace("The payment app", rail) ?? null) : null;
    return [{ key: event.seq, tone, text, at: event.created_at, fresh: event.fresh === true, ...(who ? { sub: <span>{byWords(who)}</span> } : {}) }];
  });
  for (const leg of transfer.topUp?.legs ?? []) {
    const network = leg.leg === "burn" ? "solana" : "base";
    lines.push({ key: `leg ${leg.leg}`, tone: "done", icon: "arrow", text: `${money(transfer.amount, "USDC", { places: 6 })} ${{ burn: "burned on Solana", mint: "minted on Base", transfer: "delivered on Base" }[leg.leg]}`, at: leg.at, sub: <Transaction hash={leg.tx_hash} network={network} /> });
  }
  if (transfer.withdrawal?.tx_hash) {
    const done = lines.find((line) => line.text === "Arrived" || line.text === "Paid");
    if (done) done.sub = <Transaction hash={transfer.withdrawal.tx_hash} network={transfer.withdrawal.network} />;
  }
  if (payment) lines.push(...paidLines(payment, transfer.createdAt));
  // Beyond what events say: the state of now, for what is older than the service keeps events.
  if (lines.length === 0) lines.push({ key: "now", tone: "done", text: KIND_WORDS[transfer.kind], at: transfer.createdAt });
  return lines.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
}
