// The events of each action.

import { Table } from "./table";

export function CoverageTable({ coverage }: { coverage: { readonly [action: string]: number } }) {
  return (
    <Table class="events coverage">
      <thead>
        <tr><th>action</th><th class="number">events</th></tr>
      </thead>
      <tbody>
        {Object.entries(coverage).map(([action, events]) => (
          <tr key={action} data-action={action}>
            <td>{action}</td>
            <td class="number">{events.toLocaleString("en")}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
