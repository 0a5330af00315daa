// Product lines: what is sold, what is not and why, and closing or opening one.

import { useState } from "preact/hooks";
import { Note, PageHead, Panel, Shell, Skeleton, StatusTag, Table, Time, type Tone, api, useLoaded } from "../parts";
import type { OperatorProductLine } from "../api/operator";
import { Act, Ask } from "./act";
import { Export, LoadError } from "./lists";
import { useOnChange } from "./live";
import { productName } from "./words";

const STATES: Record<string, readonly [Tone, string]> = {
  open: ["done", "Sold"],
  failing: ["bad", "Not sold: its provider fails"],
  closed: ["off", "Closed by an operator"],
};

export default function Lines() {
  const [asking, setAsking] = useState<OperatorProductLine | null>(null);
  const found = useLoaded("lines", () => api.get<{ lines: OperatorProductLine[] }>("/admin/lines"));
  useOnChange(["lines_not_sold"], found.reload);
  const lines = found.data?.lines ?? [];
  const closed = lines.filter((line) => line.status !== "open");
  const closing = asking?.status === "open";
  return (
    <Shell app="desk" page="lines" title="Product lines">
      <PageHead title="Product lines">What is sold as a whole. A line closes by itself when its provider fails five times in a row, and opens again once one order goes through.</PageHead>
      <div class="stack">
        {closed.length > 0 && (
          <Note tone="wait" title={`${closed.map((line) => productName(line.line)).join(", ")} ${closed.length === 1 ? "is" : "are"} not sold.`}>
            Calls get 503 `product_unavailable` before anything is signed. What is sold already is still delivered.
          </Note>
        )}
        <Panel aside={<Export name="lines" rows={() => lines} columns={[["line", (row) => row.line], ["status", (row) => row.status], ["reason", (row) => row.reason], ["by", (row) => row.by], ["since", (row) => row.since], ["failures", (row) => row.failures]]} />} title="Lines">
          {found.error && !found.data ? (
            <LoadError error={found.error} retry={found.reload} />
          ) : !found.data ? (
            <Skeleton rows={7} />
          ) : (
            <Table
              caption="Product lines"
              rows={lines}
              rowKey={(row) => row.line}
              columns={[
                {
                  title: "Line",
                  cell: (row) => (
                    <span>
                      <b>{productName(row.line)}</b>
                      {row.reason && <span class="small quiet block anywhere">“{row.reason}”</span>}
                    </span>
                  ),
                },
                { title: "State", cell: (row) => <StatusTag tone={STATES[row.status]?.[0] ?? "off"}>{STATES[row.status]?.[1] ?? row.status}</StatusTag>, fold: "second" },
                { title: "By", cell: (row) => row.by ?? (row.since ? <span class="quiet">itself</span> : <span class="quiet">–</span>), fold: "hidden" },
                { title: "Since", cell: (row) => row.since && <Time at={row.since} />, fold: "hidden" },
                { title: "Failures in a row", number: true, cell: (row) => row.failures.toLocaleString("en"), fold: "hidden" },
                { title: "Next probe", cell: (row) => row.next_try_at && <Time at={row.next_try_at} />, fold: "hidden" },
                {
                  title: "Change",
                  titleOnlyRead: true,
                  number: true,
                  fold: "right",
                  cell: (row) => (
                    <Act small kind={row.status === "open" ? "danger" : undefined} label={`${row.status === "open" ? "Close" : "Open"} ${productName(row.line)}`} onClick={() => setAsking(row)}>
                      {row.status === "open" ? "Close…" : "Open…"}
                    </Act>
                  ),
                },
              ]}
            />
          )}
        </Panel>
      </div>
      {asking && (
        <Ask
          title={`${closing ? "Close" : "Open"} ${productName(asking.line).toLowerCase()}?`}
          action={closing ? "Close the line" : "Open the line"}
          danger={closing}
          path={closing ? "/admin/lines/close" : "/admin/lines/open"}
          body={{ line: asking.line }}
          fields={{ note: { name: "reason", label: "Reason", hint: closing ? "Colleagues read it. Like: “Maintenance at the provider until 14:00.”" : "Colleagues read it." } }}
          done={closing ? "Closed. Nothing of it is sold from now on." : "Open. It is sold from now on."}
          onDone={found.reload}
          onClose={() => setAsking(null)}
        >
          <p>
            {closing
              ? "New purchases are refused before anything is signed, and prices say that it is not available. What is sold already is still delivered."
              : "It is sold again at once, whatever the state of its provider. If the provider still fails, it closes again by itself."}
          </p>
        </Ask>
      )}
    </Shell>
  );
}
