// The coverage of each action, in numbers and as a bar.

import type { ActionCoverage } from "../api/types";
import { Table } from "./table";

export function CoverageTable(
  { rows }: { rows: readonly ActionCoverage[] },
) {
  return (
    <Table class="events coverage">
      <thead>
        <tr><th>action</th><th class="number">events</th><th class="number">taken</th><th class="number">of steps</th><th>share</th></tr>
      </thead>
      <tbody>
        {rows.map((row) => {
          const share = row.total > 0 ? row.covered / row.total : 0;
          return (
            <tr key={row.name} data-action={row.name}>
              <td>{row.name}</td>
              <td class="number">{row.events.toLocaleString("en")}</td>
              <td class="number">{row.covered.toLocaleString("en")}</td>
              <td class="number">{row.total > 0 ? row.total.toLocaleString("en") : "no graph"}</td>
              <td>
                <span>
                  <span class="meter" aria-hidden="true"><span style={{ width: `${100 * share}%` }} /></span>{" "}
                  {row.total > 0 ? percent(share) : ""}
                </span>
              </td>
            </tr>
          );
        })}
      </tbody>
    </Table>
  );
}

function percent(share: number): string {
  const value = 100 * share;
  return value > 0 && value < 0.1 ? "< 0.1 %" : `${value.toFixed(value < 10 ? 1 : 0)} %`;
}
