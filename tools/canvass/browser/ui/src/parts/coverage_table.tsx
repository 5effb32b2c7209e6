// The events of each action.

import type { ActionCoverage } from "../api/types";
import { Table } from "./table";

export function CoverageTable(
  { rows }: { rows: readonly ActionCoverage[] },
) {
  return (
    <Table class="events coverage">
      <thead>
        <tr><th>action</th><th class="number">events</th></tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name} data-action={row.name}>
            <td>{row.name}</td>
            <td class="number">{row.events.toLocaleString("en")}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
