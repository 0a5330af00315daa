// What people did here. Each record has the hash of the one before, so none can be changed or lost unseen.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Avatar, Button, Empty, Icon, Id, Note, PageHead, Panel, Segments, Shell, Table, Time, api, complain, failure, short, toast, useLoaded, useRoute, withQuery } from "../parts";
import type { AuditLogEntry } from "../api/operator";
import { ListBar, ListState, csv, fits, save, usePaged } from "./lists";
import { useEvery } from "./live";
import { isMe } from "./session";
import { actArea, actSays } from "./acts";
import { Subject, idOf } from "./subject";

interface Page {
  entries: AuditLogEntry[];
  next_after: string | null;
  next_before: string | null;
}
interface Proof {
  intact: boolean;
  records: number;
  last_hash: string;
  broken_at: number | null;
  checked_at: string;
}

/** The hash of a record's predecessor must be the hash that the predecessor has. Counts from the first. */
function chained(records: AuditLogEntry[]): boolean {
  return records.every((record, index) => record.sequence === index + 1 && record.previous_hash === (records[index - 1]?.hash ?? "0".repeat(64)));
}

export default function Audit() {
  // The search leads here with a request id, which can be further back than the first page.
  const wanted = useRoute().query.get("q") ?? "";
  const filter = useSignal(wanted);
  const who = useSignal<"all" | "me">("all");
  const what = useSignal<"all" | "money" | "access">("all");
  const saving = useSignal(false);
  const proof = useLoaded("proof", () => api.get<Proof>("/admin/audit/verify"));
  const list = usePaged<AuditLogEntry>("audit", async (before) => {
    const page = await api.get<Page>(withQuery("/admin/audit", { order: "desc", before, limit: 100 }));
    return { rows: page.entries, next: page.next_before };
  });
  useEvery(20_000, () => list.reload());
  const shown = (list.rows ?? []).filter(
    (row) => (who.value === "all" || isMe(row.operator)) && (what.value === "all" || actArea(row.action) === what.value) && fits(filter.value, row.operator, row.subject, row.note, row.action, actSays(row.action), row.request_id, row.hash),
  );

  const goesOn = wanted !== "" && filter.value === wanted && list.rows !== undefined && shown.length === 0 && list.hasMore && !list.loading;
  useEffect(() => {
    if (goesOn) list.more();
  }, [goesOn]);

  const exportAll = async () => {
    saving.value = true;
    try {
      const all: AuditLogEntry[] = [];
      let after: string | null = null;
      for (;;) {
        const page: Page = await api.get<Page>(withQuery("/admin/audit", { after, limit: 1_000 }));
        all.push(...page.entries);
        after = page.next_after;
        if (page.entries.length < 1_000 || after === null) break;
      }
      const head = ["sequence", "at", "operator", "role", "action", "subject", "note", "request_id", "previous_hash", "hash"] as const;
      save(`audit-log-${new Date().toISOString().slice(0, 10)}.csv`, csv([...head], all.map((row) => head.map((name) => row[name]))));
      toast(chained(all) ? `${all.length.toLocaleString("en")} records saved. Each has the hash of the one before.` : "Saved, but the hashes do not chain. Tell an administrator.");
    } catch (thrown) {
      complain(failure(thrown).said);
    } finally {
      saving.value = false;
    }
  };

  return (
    <Shell app="desk" page="audit" title="Audit log">
      <PageHead
        title="Audit log"
        actions={
          <>
            <Button icon="shield" onClick={proof.reload}>
              Check again
            </Button>
            <Button icon="save" busy={saving.value} onClick={() => void exportAll()}>
              Export all
            </Button>
          </>
        }
      >
        What people did here. Each record has the hash of the one before, so none can be changed or lost unseen.
      </PageHead>
      <div class="stack">
        {proof.data &&
          (proof.data.intact ? (
            <Note tone="done" title="The chain holds.">
              {proof.data.records.toLocaleString("en")} records, checked <Time at={proof.data.checked_at} />. The last hash is <Id value={proof.data.last_hash} what="last hash" />: keep it elsewhere, and it proves later that nothing before was changed.
            </Note>
          ) : (
            <Note tone="bad" title={`The chain breaks at record ${proof.data.broken_at}.`}>
              Records up to {proof.data.records.toLocaleString("en")} are as they were written. Stop, and compare with a backup: `purser verify` names every problem.
            </Note>
          ))}
        {proof.error && (
          <Note tone="bad" title="The chain could not be checked">
            {proof.error.said}
          </Note>
        )}
        <Panel>
          <ListBar filter={filter.value} onFilter={(text) => (filter.value = text)} hint="operator, id, note, hash">
            <Segments
              label="Who"
              options={[
                { value: "all", text: "Everyone" },
                { value: "me", text: "Me" },
              ]}
              value={who.value}
              onChange={(value) => (who.value = value)}
            />
            <Segments
              label="What"
              options={[
                { value: "all", text: "All acts" },
                { value: "money", text: "Money" },
                { value: "access", text: "Access" },
              ]}
              value={what.value}
              onChange={(value) => (what.value = value)}
            />
          </ListBar>
          <ListState list={list} shown={shown.length} empty={<Empty icon="audit" title="Nobody has done anything yet" />}>
            <Table
              caption="Records, the newest first"
              rows={shown}
              rowKey={(row) => row.sequence}
              columns={[
                { title: "No.", number: true, cell: (row) => <span class="quiet">{row.sequence}</span>, fold: "hidden" },
                { title: "When", cell: (row) => <Time at={row.at} />, fold: "first-right" },
                {
                  title: "Who did what",
                  heads: true,
                  cell: (row) => (
                    <span class="row at-top">
                      <Avatar name={row.operator} />
                      <span>
                        <b>{row.operator}</b> {actSays(row.action)}
                        <span class="small quiet block anywhere">{row.note ? `“${row.note}”` : row.role}</span>
                      </span>
                    </span>
                  ),
                },
                {
                  title: "To",
                  cell: (row) => (
                    <span class="row wrap">
                      <Subject value={row.subject} action={row.action} />
                      {idOf(row.subject) && (
                        <a class="small" href={withQuery("/desk/customers", { q: idOf(row.subject) })}>
                          Open<span class="only-read"> {short(idOf(row.subject) ?? "")}</span>
                        </a>
                      )}
                    </span>
                  ),
                },
                { title: "Request", cell: (row) => <Id value={row.request_id} />, fold: "hidden" },
                {
                  title: "Hash",
                  cell: (row) => (
                    <span class="row">
                      <Icon name="link" />
                      <Id value={row.hash} what="hash" />
                    </span>
                  ),
                  fold: "hidden",
                },
              ]}
            />
          </ListState>
        </Panel>
      </div>
    </Shell>
  );
}
