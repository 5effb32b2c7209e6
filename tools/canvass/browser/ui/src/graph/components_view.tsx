// The strongly connected components of a graph.

import { apiPath } from "../api/client";
import type { Components } from "../api/types";
import { useQuery } from "../api/use_query";
import { Awaited } from "../parts/note";
import { Table } from "../parts/table";
import { plural } from "../words/visible";
import type { GraphContext } from "./context";

/** The number of components with one state. */
function trivial(data: Components): number {
  return data.largest.filter((one) => one.size === 1).length
    + (data.largest.at(-1)?.size === 1 ? data.count - data.largest.length : 0);
}

export function ComponentsView({ context }: { context: GraphContext }) {
  const { graph, visit } = context;
  const answer = useQuery<Components>(apiPath(["graph", graph.id, "components"]));
  return (
    <div class="scroll padded">
      <Awaited answer={answer} what="the components">
        {(data) => (
          <>
            <p>
              {`${data.count.toLocaleString("en")} strongly connected ${data.count === 1 ? "component" : "components"} of ${graph.states.toLocaleString("en")} states; ${data.terminal === 0 ? "steps leave each component" : `${data.terminal.toLocaleString("en")} of them without a step that leaves`}.`}
            </p>
            <p class="soft">
              Each state of a component leads to each other one.
              {data.count > data.largest.length && data.largest.at(-1)?.size !== 1 ? ` The ${data.largest.length} largest are shown, ${(data.count - data.largest.length).toLocaleString("en")} left out.` : ""}
            </p>
            <Table class="events">
              <thead><tr><th class="number">states</th><th>one of them</th></tr></thead>
              <tbody>
                {data.largest.filter((one) => one.size > 1).map((one) => (
                  <tr key={one.example}>
                    <td class="number">{one.size.toLocaleString("en")}</td>
                    <td><button type="button" class="state-link" onClick={() => visit(one.example, undefined, "around")}>{one.label}</button></td>
                  </tr>
                ))}
                {trivial(data) > 0 ? (
                  <tr data-trivial>
                    <td class="number">1</td>
                    <td>{`each of ${plural(trivial(data), "component")}: states to which no steps lead back`}</td>
                  </tr>
                ) : null}
              </tbody>
            </Table>
          </>
        )}
      </Awaited>
    </div>
  );
}
