// Values of fields side by side, such as before and after, or observed and allowed.

import { Table } from "./table";

export interface FieldRow {
  readonly field: string;
  readonly differs?: boolean;
  readonly cells: readonly string[];
}

/** Each column has a head and the kind of its cells; `observed` and `allowed` values look different. */
export function FieldTable(
  { field = "field", heads, kinds, rows }: {
    field?: string;
    heads: readonly string[];
    kinds: readonly string[];
    rows: readonly FieldRow[];
  },
) {
  return (
    <div class="scroll-x">
      <Table class="compare">
        <thead><tr>{[field, ...heads].map((head) => <th key={head} scope="col">{head}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.field} class={row.differs ? "differs" : ""} data-field={row.field}>
              <th scope="row">{row.differs ? <span class="sign" title="differs">≠ </span> : null}{row.field}</th>
              {row.cells.map((cell, at) => <td key={at} class={kinds[at] ?? ""}>{cell}</td>)}
            </tr>
          ))}
        </tbody>
      </Table>
    </div>
  );
}
