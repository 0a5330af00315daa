// Withdrawals from card balances, which operators pay by hand.

import { useSignal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { Amount, Empty, Id, KeyValue, Note, PageHead, Panel, Shell, Table, api, navigate, now, setQuery, short, span, useRoute, withQuery } from "../parts";
import type { Approval, OpenCardWithdrawal } from "../api/operator";
import { Act, Ask, usd } from "./act";
import { ClaimButton, ClaimHead, With, hasEnded, isFree, isMine } from "./claim";
import { Export, ListBar, ListState, fits, usePaged } from "./lists";
import { OrderTabs } from "./orders";
import { PendingNote, PendingTag, usePending } from "./pending";
import { may } from "./session";
import { providerName } from "./names";
import { Split } from "./split";

const waited = (row: OpenCardWithdrawal): number => Math.max(0, (now.value - Date.parse(row.created_at)) / 1_000);

function Side({ row, pending, reload }: { row: OpenCardWithdrawal | undefined; pending: Approval | undefined; reload: () => void }) {
  const [asking, setAsking] = useState<"pay" | "reject" | null>(null);
  const claimed = useRef<string | null>(null);
  if (!row) {
    return (
      <Panel>
        <Empty icon="wallet" title="Claim a withdrawal to pay it">
          Pay it from the issuer’s account to the address shown, then enter the transaction.
        </Empty>
      </Panel>
    );
  }
  const mine = isMine(row);
  if (mine) claimed.current = row.withdrawal_id;
  return (
    <>
      <Panel foot={<span>One transaction pays one withdrawal. If your claim ends first, look whether you paid before anybody claims again.</span>}>
        {mine && <ClaimHead leased={row} at="/admin/card-withdrawals" subject={{ withdrawal_id: row.withdrawal_id }} onChange={reload} released="Released: it is not paid. Anyone can claim it." />}
        <div class={mine ? "panel-body stack" : "panel-body stack first"}>
          <div>
            <h2>Pay {usd(row.amount)}</h2>
            <p class="small soft">
              For <a href={`/desk/customers/${encodeURIComponent(row.user_id)}`} class="mono">{short(row.user_id)}</a>, from their card balance.
            </p>
          </div>
          {claimed.current === row.withdrawal_id && hasEnded(row) && (
            <Note tone="wait" title="Your claim has ended.">
              If you have paid it, claim it again and record the transaction. If not, claim it again before you pay.
            </Note>
          )}
          {row.held && (
            <Note tone="bad" title="Do not pay it.">
              The account is frozen. It can be claimed once the account works again, or be refused.
            </Note>
          )}
          <KeyValue
            rows={[
              { name: "To", value: <Id value={row.address} what="address" whole /> },
              { name: "On", value: providerName(row.network) },
              { name: "Exactly", value: <Amount value={row.amount} currency="USDC" /> },
              { name: "With", value: <With leased={row} hint="it may have been paid" /> },
              { name: "Waited", value: span(waited(row)) },
              { name: "Id", value: <Id value={row.withdrawal_id} /> },
            ]}
          />
          {pending && <PendingNote approval={pending}>It is recorded under its claim: ask again if that ends, is extended or released first.</PendingNote>}
          {(!pending || isFree(row)) && (
            <div class="row wrap between">
              <Act kind="danger" onClick={() => setAsking("reject")}>
                Refuse…
              </Act>
              {mine ? (
                <Act kind="primary" icon="check" disabled={row.held !== undefined && row.held !== null} onClick={() => setAsking("pay")}>
                  I have paid it…
                </Act>
              ) : (
                isFree(row) && <ClaimButton at="/admin/card-withdrawals" subject={{ withdrawal_id: row.withdrawal_id }} what={`this withdrawal of ${usd(row.amount)}`} main onChange={reload} />
              )}
            </div>
          )}
        </div>
      </Panel>
      {asking === "pay" && (
        <Ask
          title={`Paid ${usd(row.amount)}?`}
          action="Record the payment"
          path="/admin/card-withdrawals/fulfil"
          body={{ withdrawal_id: row.withdrawal_id, lease: row.lease }}
          gives={row.amount}
          fields={{ reference: { name: "tx_hash", label: "Transaction", hint: "0x and 64 hex digits on Base, or a signature on Solana.", required: true } }}
          done="Recorded. The holder sees it as arrived."
          onDone={reload}
          onClose={() => setAsking(null)}
        >
          <p>The issuer takes the amount from the holder’s card balance for good.</p>
        </Ask>
      )}
      {asking === "reject" && (
        <Ask
          title="Refuse this withdrawal?"
          action="Refuse and release"
          danger
          path="/admin/card-withdrawals/reject"
          body={{ withdrawal_id: row.withdrawal_id, lease: mine ? row.lease : null }}
          fields={{ note: { name: "reason", label: "Reason", hint: "The holder reads it." } }}
          done="Refused. The amount is on the card balance again."
          onDone={reload}
          onClose={() => setAsking(null)}
        >
          <p>
            <b>{usd(row.amount)} stays on the holder’s card balance.</b> Refuse it only if it has not been paid.
          </p>
        </Ask>
      )}
    </>
  );
}

export default function Withdrawals() {
  const { query } = useRoute();
  const filter = useSignal("");
  const list = usePaged<OpenCardWithdrawal>(
    "withdrawals",
    async (after) => {
      const page = await api.get<{ withdrawals: OpenCardWithdrawal[]; has_more: boolean }>(withQuery("/admin/card-withdrawals", { limit: 100, starting_after: after }));
      return { rows: page.withdrawals, next: page.has_more ? (page.withdrawals.at(-1)?.withdrawal_id ?? null) : null };
    },
    ["card_withdrawals"],
  );
  const pendingOf = usePending();
  const rows = list.rows ?? [];
  const shown = rows.filter((row) => fits(filter.value, row.user_id, row.address, row.withdrawal_id, row.amount, row.leased_by));
  const lastMine = useRef<string | null>(null);
  const selected = rows.find((row) => row.withdrawal_id === query.get("id")) ?? rows.find((row) => isMine(row)) ?? rows.find((row) => row.withdrawal_id === lastMine.current && hasEnded(row));
  if (selected && isMine(selected)) lastMine.current = selected.withdrawal_id;
  return (
    <Shell app="desk" page="orders" title="Card withdrawals">
      <PageHead title="Card withdrawals">Money that holders take from their balance at the card issuer. You pay it, and record the transaction.</PageHead>
      <div class="stack">
        <OrderTabs page="withdrawals" />
        <Split
          open={list.rows && (selected?.withdrawal_id ?? null)}
          list={
            <Panel class="claims">
              <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="wallet, address, id">
                <Export
                  name="card-withdrawals"
                  rows={list.all}
                  columns={[
                    ["withdrawal_id", (row) => row.withdrawal_id],
                    ["user_id", (row) => row.user_id],
                    ["amount", (row) => String(row.amount)],
                    ["network", (row) => row.network],
                    ["address", (row) => row.address],
                    ["status", (row) => row.status],
                    ["created_at", (row) => row.created_at],
                    ["leased_by", (row) => row.leased_by],
                  ]}
                />
              </ListBar>
              <ListState list={list} shown={shown.length} empty={<Empty icon="check" title="No withdrawal waits" />}>
                <Table
                  caption="Open card withdrawals, the oldest first"
                  rows={shown}
                  rowKey={(row) => row.withdrawal_id}
                  selected={(row) => row.withdrawal_id === selected?.withdrawal_id}
                  onRow={(row) => setQuery({ id: row.withdrawal_id })}
                  columns={[
                    {
                      title: "Amount",
                      cell: (row) => (
                        <span>
                          <a href={`/desk/orders/withdrawals?id=${row.withdrawal_id}`} class="lead">
                            <Amount value={row.amount} />
                          </a>{" "}
                          <PendingTag approval={pendingOf(row.withdrawal_id)} />
                        </span>
                      ),
                    },
                    { title: "To", fold: "second", cell: (row) => <Id value={row.address} what="address" /> },
                    {
                      title: "Waited",
                      fold: "whole",
                      cell: (row) => (
                        <span>
                          <span class="narrow-only">waited </span>
                          {span(waited(row))}
                        </span>
                      ),
                    },
                    { title: "With", fold: "whole", cell: (row) => <With leased={row} /> },
                    {
                      title: "Claim",
                      titleOnlyRead: true,
                      number: true,
                      fold: "right",
                      cell: (row) =>
                        isFree(row) &&
                        may("operate") && (
                          <ClaimButton
                            at="/admin/card-withdrawals"
                            subject={{ withdrawal_id: row.withdrawal_id }}
                            what={`the withdrawal of ${usd(row.amount)}`}
                            onChange={() => {
                              navigate(`/desk/orders/withdrawals?id=${row.withdrawal_id}`);
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
          item={<Side row={selected} pending={selected && pendingOf(selected.withdrawal_id)} reload={list.reload} />}
        />
      </div>
    </Shell>
  );
}
