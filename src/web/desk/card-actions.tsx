// What holders ask for their international cards, and what the issuer reports of them.

import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Amount, Button, Check, Dialog, Empty, ErrorLine, Id, MoneyField, PageHead, Panel, Segments, Shell, Status, Table, api, amountProblem, failure, now, short, span, toast, withQuery, Exact } from "../parts";
import type { QueuedCardAction } from "../api/operator";
import { Act } from "./act";
import { Export, ListBar, ListState, fits, usePaged } from "./lists";
import { OrderTabs } from "./orders";

const ASKS: Record<string, string> = { pause: "Pause it", resume: "Resume it", close: "Close it" };
const AFTER: Record<string, "ready" | "paused" | "closed"> = { pause: "paused", resume: "ready", close: "closed" };

function Report({ row, onClose, onDone }: { row: QueuedCardAction; onClose: () => void; onDone: () => void }) {
  const status = useSignal<"ready" | "paused" | "closed">(AFTER[row.requested ?? ""] ?? "ready");
  const available = useSignal(String(row.available_usd_amount));
  const released = useSignal("");
  const ends = useSignal(false);
  const error = useSignal<Record<string, string>>({});
  const busy = useSignal(false);
  const send = async () => {
    const wrong: Record<string, string> = {};
    const zero = (text: string) => /^0(\.0{1,2})?$/.test(text.trim());
    if (!zero(available.value)) {
      const problem = amountProblem(available.value);
      if (problem) wrong.available = problem;
    }
    if (released.value.trim() && !zero(released.value)) {
      const problem = amountProblem(released.value);
      if (problem) wrong.released = problem;
    }
    error.value = wrong;
    if (Object.keys(wrong).length > 0) return;
    busy.value = true;
    try {
      await api.post("/admin/intl-cards/report", {
        card_id: row.card_id,
        status: status.value,
        available_usd_amount: new Exact(available.value.trim()),
        ...(released.value.trim() ? { released_usd_amount: new Exact(released.value.trim()) } : {}),
        ends_request: ends.value,
      });
      toast("Reported. The holder sees it.");
      onDone();
      onClose();
    } catch (thrown) {
      error.value = { form: failure(thrown).said };
    } finally {
      busy.value = false;
    }
  };
  return (
    <Dialog
      title={`Card •••• ${row.last4 ?? ""}`}
      onClose={onClose}
      onSubmit={() => void send()}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" type="submit" busy={busy.value} decides>
            Report
          </Button>
        </>
      }
    >
      <p>Do it at the issuer first. Then report how the card is there: the holder sees exactly that.</p>
      <div class="field">
        <span class="small">
          <b>At the issuer it is now</b>
        </span>
        <Segments
          label="State at the issuer"
          options={[
            { value: "ready", text: "Open" },
            { value: "paused", text: "Paused" },
            { value: "closed", text: "Closed" },
          ]}
          value={status.value}
          onChange={(value) => (status.value = value)}
        />
      </div>
      <MoneyField label="Left on the card" value={available.value} onChange={(text) => (available.value = text)} error={error.value.available} />
      {status.value === "closed" && (
        <MoneyField
          label="Returned by the issuer"
          value={released.value}
          onChange={(text) => (released.value = text)}
          error={error.value.released}
          hint="In total so far. It is credited to the holder, and counts against what you may give alone."
        />
      )}
      <Check checked={ends.value} onChange={(value) => (ends.value = value)}>
        The request ends here, although it was not carried out.
      </Check>
      {error.value.form && <ErrorLine>{error.value.form}</ErrorLine>}
    </Dialog>
  );
}

export default function CardActions() {
  const [reporting, setReporting] = useState<QueuedCardAction | null>(null);
  const filter = useSignal("");
  const list = usePaged<QueuedCardAction>(
    "actions",
    async (after) => {
      const page = await api.get<{ cards: QueuedCardAction[]; has_more: boolean }>(withQuery("/admin/intl-cards", { limit: 100, starting_after: after }));
      return { rows: page.cards, next: page.has_more ? (page.cards.at(-1)?.card_id ?? null) : null };
    },
    ["card_actions"],
  );
  const shown = (list.rows ?? []).filter((row) => fits(filter.value, row.user_id, row.card_id, row.last4, row.requested));
  return (
    <Shell app="desk" page="orders" title="Card actions">
      <PageHead title="Card actions">Holders pause, resume and close their international cards here. You do it at the issuer and report it.</PageHead>
      <div class="stack">
        <OrderTabs page="actions" />
        <Panel>
          <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="wallet, card, last four">
            <Export
              name="card-actions"
              rows={list.all}
              columns={[
                ["card_id", (row) => row.card_id],
                ["user_id", (row) => row.user_id],
                ["last4", (row) => row.last4],
                ["requested", (row) => row.requested],
                ["requested_at", (row) => row.requested_at],
                ["status", (row) => row.status],
              ]}
            />
          </ListBar>
          <ListState list={list} shown={shown.length} empty={<Empty icon="check" title="No holder waits for a card action" />}>
            <Table
              caption="Requested card actions, the oldest first"
              rows={shown}
              rowKey={(row) => row.card_id}
              columns={[
                {
                  title: "Asked",
                  cell: (row) => (
                    <span>
                      <b>{ASKS[row.requested ?? ""] ?? "Report it"}</b>
                      <span class="small quiet block">{span((now.value - Date.parse(row.requested_at)) / 1_000)} ago</span>
                    </span>
                  ),
                },
                { title: "Card", cell: (row) => <span>•••• {row.last4}</span>, fold: "first-right" },
                { title: "Id", cell: (row) => <Id value={row.card_id} />, fold: "hidden" },
                { title: "For", cell: (row) => <a href={`/desk/customers/${encodeURIComponent(row.user_id)}`} class="mono small">{short(row.user_id)}</a> },
                { title: "Now", cell: (row) => <Status kind="intl_order" value={row.status} />, fold: "hidden" },
                { title: "Left", number: true, cell: (row) => <Amount value={row.available_usd_amount} />, fold: "hidden" },
                {
                  title: "Report",
                  titleOnlyRead: true,
                  number: true,
                  fold: "second-right",
                  cell: (row) => (
                    <Act small onClick={() => setReporting(row)}>
                      Report…
                    </Act>
                  ),
                },
              ]}
            />
          </ListState>
        </Panel>
      </div>
      {reporting && <Report row={reporting} onClose={() => setReporting(null)} onDone={list.reload} />}
    </Shell>
  );
}
