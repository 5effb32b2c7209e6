// Classes of divergences, the most frequent first; each opens an example run.

import { useEffect, useRef } from "preact/hooks";
import type { DivergenceClassSummary, ReportView } from "../api/types";
import { plural } from "../words/visible";

export function Clusters(
  { report, at, setAt, show, list }: {
    report: ReportView;
    at: number;
    setAt: (at: number) => void;
    show: (at: number) => void;
    /** Lists the runs whose first divergence is of this name. */
    list: (name: string) => void;
  },
) {
  const { clusters, clusterCount } = report.summary;
  return (
    <>
      <ol class="clusters">
        {clusters.map((cluster, place) => (
          <Cluster
            key={`${cluster.divergenceClass} ${cluster.name}`}
            cluster={cluster}
            isThere={report.examples[place] != null}
            chosen={place === at}
            choose={() => setAt(place)}
            show={() => show(place)}
            list={() => list(cluster.name)}
          />
        ))}
      </ol>
      {clusterCount > clusters.length
        ? <p class="soft">{`${plural(clusterCount - clusters.length, "class", "classes")} of divergences left out`}</p> : null}
    </>
  );
}

function Cluster(
  { cluster, isThere, chosen, choose, show, list }: {
    cluster: DivergenceClassSummary;
    /** Whether its example run can be opened. */
    isThere: boolean;
    chosen: boolean;
    choose: () => void;
    show: () => void;
    list: () => void;
  },
) {
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (chosen) place.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <li ref={place} class={`cluster${chosen ? " is-chosen" : ""}`} data-signature={`${cluster.divergenceClass}: ${cluster.name}`}>
      <p class="cluster-head">
        <strong class="cluster-count">{cluster.count.toLocaleString("en")}</strong>
        <span class="cluster-name">{cluster.name || cluster.divergenceClass}</span>
        <span class="tag">{cluster.divergenceClass}</span>
        <span class="soft">{`in ${plural(cluster.runs, "run")}`}</span>
        <button type="button" class="inline" onClick={list} data-list-runs>runs with this as first divergence</button>
      </p>
      <p>{cluster.exampleReason}</p>
      <p class="soft">
        {`For example ${cluster.exampleRunId}, member ${cluster.exampleMemberId}`}
        {cluster.exampleStep < 0 ? ". " : `, step ${cluster.exampleStep}. `}
        {isThere ? (
          <button type="button" onFocus={choose} onClick={show}>Open this run</button>
        ) : "The run is no longer at its place."}
      </p>
    </li>
  );
}
