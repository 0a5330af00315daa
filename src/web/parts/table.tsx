// Tables that fold into two lines on a phone. They keep the roles of a table, which `display: grid` would take.

import type { ComponentChildren } from "preact";
import { classes } from "./classes";
import { navigate } from "./router";

/** Where a cell goes when the row is folded: the first line at the left is what the row is about. */
export type Fold = "first" | "first-right" | "second" | "second-right" | "right" | "whole" | "hidden";

export interface Column<Row> {
  title: ComponentChildren;
  /** For columns whose title is only read. */
  titleOnlyRead?: boolean;
  cell: (row: Row) => ComponentChildren;
  /** Figures, at the right. */
  number?: boolean;
  fold?: Fold;
  /** The heading of its row. The first column by default. */
  heads?: boolean;
  class?: string;
}

export interface TableProps<Row> {
  /** What the table shows, for those who don't see it. */
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  rowKey: (row: Row, index: number) => string | number;
  /** The page of a row: a click anywhere in it opens that page. The row also needs a link. */
  href?: (row: Row) => string | undefined;
  selected?: (row: Row) => boolean;
  onRow?: (row: Row) => void;
  rowClass?: (row: Row) => string | undefined;
  /** Rows at the end: sums. */
  foot?: ComponentChildren;
  tight?: boolean;
}

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, rowKey, href, selected, onRow, rowClass, foot, tight } = props;
  const heading = Math.max(0, columns.findIndex((column) => column.heads));
  return (
    <table class={classes("table", tight && "tight")} role="table">
      <caption class="only-read">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th role="columnheader" scope="col" class={classes(column.number && "number", column.class)}>
              {column.titleOnlyRead ? <span class="only-read">{column.title}</span> : column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row, index) => {
          const target = href?.(row);
          const opens = target !== undefined || onRow !== undefined;
          return (
            <tr
              key={rowKey(row, index)}
              role="row"
              class={classes(opens && "opens", selected?.(row) && "selected", rowClass?.(row))}
              aria-current={selected?.(row) ? "true" : undefined}
              onClick={
                opens
                  ? (event) => {
                      if ((event.target as Element).closest("a, button, input, label")) return;
                      if (getSelection()?.toString()) return;
                      if (target !== undefined) navigate(target);
                      else onRow?.(row);
                    }
                  : undefined
              }
            >
              {columns.map((column, at) => {
                const name = classes(column.number && "number", column.class, `fold-${column.fold ?? (at === heading ? "first" : column.number ? "first-right" : "second")}`);
                return at === heading ? (
                  <th role="rowheader" scope="row" class={name}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td role="cell" class={name}>
                    {column.cell(row)}
                  </td>
                );
              })}
            </tr>
          );
        })}
      </tbody>
      {foot && <tfoot role="rowgroup">{foot}</tfoot>}
    </table>
  );
}
