// A graph projected onto an expression: one node for each of its values.

import { useMemo, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { Projection } from "../api/types";
import { settled, useQuery } from "../api/use_query";
import { useListChoice } from "../parts/list_choice";
import { Empty } from "../parts/note";
import { GraphCanvas } from "./canvas";
import { Expression } from "./find_view";
import { isOfElections } from "../words/election";
import type { GraphContext } from "./context";
import { GraphLegend, violatedIn } from "./legend";
import { SceneList } from "./scene_list";
import { sceneOfProjection } from "./scene";

export function ProjectionView({ context }: { context: GraphContext }) {
  const { graph, query, change, visit } = context;
  const by = query.by || graph.mapBy;
  const [list, choice] = useListChoice("Projection");
  const [chosen, choose] = useState<string>();
  const answer = settled(useQuery<Projection>(
    by ? apiPath(["graph", graph.id, "project"], { by, colour: query.colour, actions: query.actions.join(",") }) : null,
  ));
  const scene = useMemo(() => answer.data && sceneOfProjection(answer.data), [answer.data]);
  const open = (key: string): void => {
    const node = answer.data?.nodes.find((one) => one.key === key);
    const where = conditionOf(by, key);
    if (node) visit(node.example, undefined, where ? "find" : "around", where);
  };
  return (
    <div class="around">
      <Expression
        label="One node for each value of"
        value={by}
        fields={graph.fields}
        compares={false}
        error={answer.error}
        placeholder={graph.fields.slice(0, 2).join(", ")}
        submit={(text) => change({ by: text }, false)}
      />
      <GraphLegend elections={isOfElections(graph.fields)} violated={violatedIn(graph)} states={false} values={answer.data?.values ?? []} />
      <div class="toolbar">
        {choice}
        <label>
          {"Colour "}
          <select value={query.colour} data-colour onChange={(event) => change({ colour: event.currentTarget.value || undefined }, false)}>
            <option value="">{isOfElections(graph.fields) ? "part of the election" : "none"}</option>
            {graph.fields.map((field) => <option key={field} value={field}>{field}</option>)}
          </select>
        </label>
        {scene ? (
          <span role="status">
            {`${scene.nodes.length} values of ${graph.states.toLocaleString("en")} states${scene.leftOut ? ` · ${scene.leftOut}` : ""} · the numbers count states and steps; a node opens its states`}
          </span>
        ) : null}
      </div>
      {scene === undefined
        ? answer.error || !by
          ? <Empty title="Choose fields.">One field, or several with commas: the graph is drawn with one node for each value.</Empty>
          : <p class="waiting" role="status">Looking at all states …</p>
        : list ? <SceneList scene={scene} current={undefined} open={open} />
        : <GraphCanvas scene={scene} chosen={chosen} choose={choose} open={open} label={`${scene.nodes.length} values`} />}
    </div>
  );
}

const PLAIN = /"[^"]*"|-?\d+|TRUE|FALSE/g;

/** The condition that holds in the states of a node; empty if its values are not plain. */
function conditionOf(by: string, key: string): string {
  const fields = by.split(",").map((one) => one.trim());
  const values = key.match(PLAIN) ?? [];
  if (values.join(", ") !== key || values.length !== fields.length) return "";
  return fields.map((field, at) => `${field} = ${values[at]}`).join(" and ");
}
