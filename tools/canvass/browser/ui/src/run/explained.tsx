// The explanation of a run, in the order of an on-call engineer's questions: leaders, elections, stuck
// members, risks. Each line names its evidence and leads to its event.

import { apiPath } from "../api/client";
import type {
  BallotRow, ElectionRow, ExplanationView, LeadershipRow, RunView, EvidenceLine,
} from "../api/types";
import { useQuery } from "../api/use_query";
import { Awaited, Empty } from "../parts/note";
import { Table } from "../parts/table";
import { plural } from "../words/visible";

type Show = (event: number) => void;

export function Explained({ run, show }: { run: RunView; show: Show }) {
  const found = useQuery<ExplanationView>(apiPath(["run", run.id, "explanation"]));
  return (
    <Awaited answer={found} what="what happened">
      {(view) => (
        <div class="explained">
          <p>{view.summary}</p>
          <Leaderships rows={view.leaderships} show={show} />
          <Elections rows={view.elections} show={show} />
          <section>
            <h2>Stuck</h2>
            {view.stuck.length === 0 ? <p class="soft">No member was in an election for longer than its timeouts.</p> : null}
            {view.stuck.map((one, at) => (
              <Group
                key={at}
                title={`Member ${one.member} in ${one.state}`}
                about={[one.guard ? `waits for ${one.guard}` : "", one.page].filter(Boolean).join(", ")}
                lines={one.sentences}
                show={show}
              />
            ))}
          </section>
          <section>
            <h2>At risk</h2>
            {view.risks.length === 0 ? <p class="soft">The lines show no risk.</p> : null}
            {view.risks.map((one, at) => (
              <Group
                key={at}
                title={`${one.severity}: ${one.kind}`}
                about={one.page}
                lines={one.sentences}
                show={show}
              />
            ))}
          </section>
          <Further title="Between elections" lines={view.interruptions} show={show} />
          <Further title="Missing" lines={view.missing} show={show} />
          {view.leftOut > 0
            ? <p class="soft">{`${plural(view.leftOut, "earlier row")} left out; canvass explain lists all rows`}</p>
            : null}
        </div>
      )}
    </Awaited>
  );
}

function Leaderships({ rows, show }: { rows: readonly LeadershipRow[]; show: Show }) {
  if (rows.length === 0) return <Empty title="Nobody led.">No line shows the opening of a term.</Empty>;
  return (
    <section>
      <h2>Who led when</h2>
      <Table class="events leaderships">
        <thead>
          <tr>
            <th class="number">term</th><th class="number">leader</th><th class="number">from, s</th>
            <th class="number">until, s</th><th class="number">for</th><th>ended by</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.term}-${row.begins}`} data-term={row.term}>
              <td class="number">{row.term}</td>
              <td class="number">{row.leader ?? "?"}</td>
              <td class="number">{row.begins}</td>
              <td class="number">{row.ends}</td>
              <td class="number">{row.lasted}</td>
              <td><Line line={row.endedBy} show={show} /></td>
            </tr>
          ))}
        </tbody>
      </Table>
    </section>
  );
}

function Elections({ rows, show }: { rows: readonly ElectionRow[]; show: Show }) {
  if (rows.length === 0) return null;
  return (
    <section>
      <h2>Elections</h2>
      <Table class="events elections">
        <thead>
          <tr>
            <th class="number" scope="col">election</th><th class="number" scope="col">took</th><th scope="col">trigger</th>
            <th class="number" scope="col">candidate</th><th class="number" scope="col">term</th>
            <th scope="col" title="members that voted for the candidate, and the candidate">yes</th>
            <th scope="col" title="members that refused">no</th>
            <th scope="col" title="members whose answer no line shows">none</th>
            <th scope="col">outcome and cause</th>
          </tr>
        </thead>
        {rows.map((row) => <Election key={row.number} row={row} show={show} />)}
      </Table>
    </section>
  );
}

/** One row for each ballot; cells about the whole election are beside and below these rows. */
function Election({ row, show }: { row: ElectionRow; show: Show }) {
  const rows = Math.max(1, row.ballots.length);
  return (
    <tbody data-election={row.number}>
      {Array.from({ length: rows }, (_, at) => (
        <tr key={at}>
          {at > 0 ? null : (
            <>
              <td class="number" rowSpan={rows + 1}>
                <Go event={row.firstEvent} title="to the first step of the election" show={show}>{String(row.number)}</Go>
              </td>
              <td class="number" rowSpan={rows}>{row.took}</td>
              <td class="trigger" rowSpan={rows}><Line line={row.trigger} show={show} /></td>
            </>
          )}
          <Ballot row={row.ballots[at]} show={show} />
        </tr>
      ))}
      <tr class="soft"><td colSpan={8}><Line line={row.sentence} show={show} />{" "}<Line line={row.slowest} show={show} /></td></tr>
    </tbody>
  );
}

function Ballot({ row, show }: { row: BallotRow | undefined; show: Show }) {
  if (row === undefined) return <td colSpan={6} class="soft">No line shows a ballot.</td>;
  return (
    <>
      <td class="number" data-candidate>{row.candidate}</td>
      <td class="number" data-candidate-term>{row.term}</td>
      <td data-votes="yes">{[row.candidate, ...row.yes].sort((one, other) => one - other).join(", ")}</td>
      <td data-votes="no">{row.no.join(", ") || "–"}</td>
      <td data-votes="none">{row.none.join(", ") || "–"}</td>
      <td data-outcome>
        <Go event={row.sentence.event} title={row.sentence.text} show={show}>{row.outcome}</Go>
        {row.outcome === "won" ? null
          : [row.sentence, ...row.reasons].map((line, at) => <div key={at}><Line line={line} show={show} /></div>)}
      </td>
    </>
  );
}

function Group(
  { title, about, lines, show }: {
    title: string;
    about: string;
    lines: readonly EvidenceLine[];
    show: Show;
  },
) {
  return (
    <div class="sentence-group">
      <h3>{title}</h3>
      {about ? <p class="soft">{about}</p> : null}
      <ul>{lines.map((line, at) => <li key={at}><Line line={line} show={show} /></li>)}</ul>
    </div>
  );
}

function Further({ title, lines, show }: { title: string; lines: readonly EvidenceLine[]; show: Show }) {
  if (lines.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul>{lines.map((line, at) => <li key={at}><Line line={line} show={show} /></li>)}</ul>
    </section>
  );
}

/** A sentence with its evidence; the evidence leads to its event. */
export function Line({ line, show }: { line: EvidenceLine; show: Show }) {
  return (
    <span>
      {line.text}{" "}
      {line.places ? <Go event={line.event} title={line.text} show={show}>{line.places}</Go> : null}
    </span>
  );
}

function Go(
  { event, title, show, children }: { event: number | null; title: string; show: Show; children: string },
) {
  if (event === null) return <code>{children}</code>;
  return <button type="button" class="inline" title={title} onClick={() => show(event)}>{children}</button>;
}
