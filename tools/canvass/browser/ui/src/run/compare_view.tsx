// Two runs side by side: their elections, and the first difference of each member.

import { apiPath } from "../api/client";
import type { ComparedStep, Comparison, LeaderBand, RunView, SourceInfo } from "../api/types";
import { useQuery } from "../api/use_query";
import { FieldTable } from "../parts/field_table";
import { Awaited, Empty } from "../parts/note";
import { Table } from "../parts/table";
import { formatRoute } from "../route/route";
import { givenLine } from "../words/tree";
import { plural, shortened } from "../words/visible";

export function CompareView(
  { run, open, other, choose, show }: {
    run: RunView;
    /** The open runs. */
    open: readonly SourceInfo[];
    other: string;
    choose: (other: string) => void;
    show: (at: number) => void;
  },
) {
  const others = open.filter((one) => one.id !== run.id);
  const chosen = others.find((one) => one.id === other);
  const found = useQuery<Comparison>(other ? apiPath(["run", run.id, "compare"], { other }) : null);
  if (others.length === 0 && other === "") {
    return (
      <Empty title="No other run is open.">
        Name two runs to compare them: <code>canvass browse RUN OTHER</code>
      </Empty>
    );
  }
  return (
    <div class="verdict-view compared">
      <label>
        {"Compared with "}
        <select value={other} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">choose a run</option>
          {others.map((one) => <option key={one.id} value={one.id}>{shortened(one.title, 80)}</option>)}
        </select>
      </label>
      {other === "" ? (
        <p class="soft">Shows the elections of both side by side, and the first step of each member that differs.</p>
      ) : (
        <Awaited answer={found} what="the comparison">
          {(data) => <Compared data={data} there={(at) => formatRoute(["run", other], { at })} title={chosen?.title ?? other} run={run} show={show} />}
        </Awaited>
      )}
    </div>
  );
}

function Compared(
  { data, there, title, run, show }: {
    data: Comparison;
    /** The address of an event of the other run. */
    there: (at: number) => string;
    title: string;
    run: RunView;
    show: (at: number) => void;
  },
) {
  const differs = data.members.filter((one) => one.left !== null || one.right !== null);
  return (
    <>
      <p class="verdict-line" role="status">
        {differs.length === 0 ? "They agree in every step."
          : `${plural(differs.length, "member")} of ${data.members.length} differ${differs.length === 1 ? "s" : ""}.`}
      </p>
      <section>
        <h2>Elections, in their order</h2>
        <Table class="events elections-compared">
          <thead><tr><th class="number">election</th><th>{run.title}</th><th>{title}</th></tr></thead>
          <tbody>
            {data.elections.map((row) => (
              <tr key={row.number} data-compared-election={row.number} class={bandText(row.left) === bandText(row.right) ? "" : "is-chosen"}>
                <td class="number">{row.number}</td>
                <td>{row.left ? <button type="button" class="inline" onClick={() => show(row.left?.start ?? 0)}>{bandText(row.left)}</button> : "none"}</td>
                <td>{row.right ? <a href={there(row.right.start)}>{bandText(row.right)}</a> : "none"}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      </section>
      <section>
        <h2>First difference of each member</h2>
        {data.members.map((one) => (
          <div key={one.member} class="compared-member" data-compared-member={one.member}>
            <h3>{`Member ${one.member}: ${one.left === null && one.right === null ? `all ${plural(one.same, "step")} equal` : one.same === 0 ? "the first step differs" : `${plural(one.same, "step")} equal, then`}`}</h3>
            {one.left === null && one.right === null ? null : (
              <ul>
                <li>{`${run.title}: `}{one.left ? <><button type="button" class="inline" onClick={() => show(one.left?.event ?? 0)}>{stepText(one.left)}</button> <span class="soft">{givenText(one.left)}</span></> : "no further steps"}</li>
                <li>{`${title}: `}{one.right ? <><a href={there(one.right.event)}>{stepText(one.right)}</a> <span class="soft">{givenText(one.right)}</span></> : "no further steps"}</li>
              </ul>
            )}
            {one.changes.length > 0 ? (
              <FieldTable
                field="field after it" heads={[run.title, title]} kinds={["observed", "allowed"]}
                rows={one.changes.map(({ field, before, after }) => ({ field, cells: [before, after] }))}
              />
            ) : null}
          </div>
        ))}
      </section>
    </>
  );
}

function bandText(band: LeaderBand | null): string {
  if (band === null) return "none";
  return `member ${band.member} leads term ${band.term}; elected in ${band.election}, led for ${band.lasted}`;
}

function stepText(step: ComparedStep): string {
  return `${step.action} (step ${step.step}, ${step.time}) to ${step.label}`;
}

function givenText(step: ComparedStep): string {
  return shortened(givenLine(step.given), 160);
}
