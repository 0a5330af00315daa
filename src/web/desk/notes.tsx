// Notes of operators on a customer. They are records of the audit log, so they stay as they were written.

import { useSignal } from "@preact/signals";
import { Avatar, Field, Panel, Skeleton, Time, api, failure, fieldErrors, toast, withQuery } from "../parts";
import { Act } from "./act";
import { Export, LoadError, usePaged } from "./lists";
import { useEvery } from "./live";
import { may } from "./session";

interface CustomerNote {
  sequence: number;
  at: string;
  operator: string;
  role: string;
  text: string;
  request_id: string;
}
interface Page {
  notes: CustomerNote[];
  next_before: number | null;
}

/** Characters of a note. */
const MOST = 2_000;

export function Notes({ wallet, onWritten }: { wallet: string; onWritten: () => void }) {
  const text = useSignal("");
  const error = useSignal<string | null>(null);
  const busy = useSignal(false);
  const list = usePaged<CustomerNote>(`notes ${wallet}`, async (before) => {
    const page = await api.get<Page>(withQuery("/admin/notes", { wallet, before, limit: 20 }));
    return { rows: page.notes, next: page.next_before === null ? null : String(page.next_before) };
  });
  useEvery(15_000, list.reload);
  const write = async () => {
    if (!text.value.trim()) {
      error.value = "Write something first.";
      return;
    }
    busy.value = true;
    try {
      await api.post("/admin/notes", { wallet, text: text.value.trim() });
      text.value = "";
      error.value = null;
      toast("Note written");
      list.reload();
      onWritten();
    } catch (thrown) {
      error.value = fieldErrors(thrown, ["text"]).text?.replace("`text`", "The note") ?? failure(thrown).said;
    } finally {
      busy.value = false;
    }
  };
  const notes = list.rows ?? [];
  return (
    <Panel
      title="Notes"
      aside={
        notes.length > 0 && (
          <Export
            name={`notes-${wallet.slice(0, 14)}`}
            rows={list.all}
            columns={[
              ["sequence", (row) => row.sequence],
              ["at", (row) => row.at],
              ["operator", (row) => row.operator],
              ["role", (row) => row.role],
              ["text", (row) => row.text],
              ["request_id", (row) => row.request_id],
            ]}
          />
        )
      }
    >
      {may("note") && (
        <form
          class="panel-body stack tight"
          onSubmit={(event) => {
            event.preventDefault();
            void write();
          }}
        >
          <Field
            label="New note"
            rows={3}
            value={text.value}
            onChange={(value) => {
              text.value = value;
              error.value = null;
            }}
            hint="Only operators see it, with your name. It can’t be changed or removed, so write no card numbers and no passwords."
            error={error.value}
            maxLength={MOST}
          />
          <div>
            <Act small needs="note" icon="edit" type="submit" busy={busy.value}>
              Write note
            </Act>
          </div>
        </form>
      )}
      {list.error && !list.rows ? (
        <LoadError error={list.error} retry={list.reload} />
      ) : !list.rows ? (
        <Skeleton rows={2} />
      ) : notes.length === 0 ? (
        <p class="nothing">No note yet.</p>
      ) : (
        <ul class="list" aria-label="Notes, the newest first">
          {notes.map((note) => (
            <li key={note.sequence} class="note-of-customer">
              <p class="small">
                <Avatar name={note.operator} /> <b>{note.operator}</b> <span class="quiet">{note.role}, <Time at={note.at} /></span>
              </p>
              <p class="note-words anywhere">{note.text}</p>
            </li>
          ))}
        </ul>
      )}
      {list.hasMore && (
        <div class="panel-foot">
          <button type="button" class="as-link" disabled={list.loading} onClick={list.more}>
            Older notes
          </button>
        </div>
      )}
    </Panel>
  );
}
