// The explanation of a run, in the order of an on-call engineer's questions: leaders, elections, stuck
// members, risks. Each line names its evidence and leads to its event.

import { apiPath } from "../api/client";
import type {
  BallotReport, ElectionReport, Evidence, ExplanationView, Leadership, RunView, Sentence,
} from "../api/types";
import { useQuery } from "../api/use_query";
import { Awaited, Empty } from "../parts/note";
import { Table } from "../parts/table";
import { plural } from "../words/visible";

const MOST_BALLOTS = 20; // Of each election, the last ones.
const MOST_ROWS = 100; // Of each table, the last ones.

type Show = (event: number) => void;
type Places = ExplanationView["places"];
export interface Linked {
  /** The files and lines of the evidence. */
  readonly places: Places;
  readonly show: Show;
}

export function Explained({ run, show }: { run: RunView; show: Show }) {
  const found = useQuery<ExplanationView>(apiPath(["run", run.id, "explanation"]));
  return (
    <Awaited answer={found} what="what happened">
      {(view) => (
        <div class="explained">
          <p>{view.summary}</p>
          <Leaderships rows={last(view.leaderships)} places={view.places} show={show} />
          <Elections rows={last(view.elections)} places={view.places} show={show} />
          <section>
            <h2>Stuck</h2>
            {view.stuck.length === 0 ? <p class="soft">No member was in an election for longer than its timeouts.</p> : null}
            {last(view.stuck).map((one, at) => (
              <Group
                key={at}
                title={`Member ${one.memberId} in ${one.state}`}
                about={[one.guard ? `waits for ${one.guard}` : "", one.page].filter(Boolean).join(", ")}
                lines={one.sentences}
                places={view.places}
                show={show}
              />
            ))}
          </section>
          <section>
            <h2>At risk</h2>
            {view.risks.length === 0 ? <p class="soft">The lines show no risk.</p> : null}
            {last(view.risks).map((one, at) => (
              <Group
                key={at}
                title={`${one.severity}: ${one.kind}`}
                about={one.page}
                lines={one.sentences}
                places={view.places}
                show={show}
              />
            ))}
          </section>
          <Further title="Between elections" lines={last(view.interruptions)} places={view.places} show={show} />
          <Further title="Missing" lines={last(view.missing)} places={view.places} show={show} />
          {leftOut(view) > 0
            ? <p class="soft">{`${plural(leftOut(view), "earlier row")} left out; canvass explain lists all rows`}</p>
            : null}
        </div>
      )}
    </Awaited>
  );
}

function last<T>(rows: readonly T[]): readonly T[] {
  return rows.slice(-MOST_ROWS);
}

function leftOut({ leaderships, elections, stuck, risks, interruptions, missing }: ExplanationView): number {
  const tables = [leaderships, elections, stuck, risks, interruptions, missing];
  return tables.reduce((sum, rows) => sum + Math.max(0, rows.length - MOST_ROWS), 0)
    + last(elections).reduce((sum, { ballots }) => sum + Math.max(0, ballots.length - MOST_BALLOTS), 0);
}

function Leaderships({ rows, ...linked }: Linked & { rows: readonly Leadership[] }) {
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
            <tr key={`${row.leadershipTermId}-${row.fromNs}`} data-term={row.leadershipTermId}>
              <td class="number">{row.leadershipTermId}</td>
              <td class="number">{row.leaderMemberId ?? "?"}</td>
              <td class="number">{secondsOf(row.fromNs)}</td>
              <td class="number">{secondsOf(row.untilNs)}</td>
              <td class="number">{row.fromNs === null || row.untilNs === null ? "?" : duration((row.untilNs - row.fromNs) / 1e6)}</td>
              <td><Line line={{ text: row.reason || row.endedBy, evidence: row.evidence }} {...linked} /></td>
            </tr>
          ))}
        </tbody>
      </Table>
    </section>
  );
}

function Elections({ rows, ...linked }: Linked & { rows: readonly ElectionReport[] }) {
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
        {rows.map((row) => <Election key={row.number} row={row} {...linked} />)}
      </Table>
    </section>
  );
}

/** One row for each ballot; cells about the whole election are beside and below these rows. */
function Election({ row, ...linked }: Linked & { row: ElectionReport }) {
  const ballots = row.ballots.slice(-MOST_BALLOTS);
  const rows = Math.max(1, ballots.length);
  const first = row.phases[0];
  // Why the first member looked for a leader.
  const trigger = row.causes.find((one) => one.evidence[0]?.memberId === first?.memberId) ?? row.causes[0];
  return (
    <tbody data-election={row.number}>
      {Array.from({ length: rows }, (_, at) => (
        <tr key={at}>
          {at > 0 ? null : (
            <>
              <td class="number" rowSpan={rows + 1}>
                <Go evidence={first?.sentence.evidence.slice(0, 1) ?? []} title="to the first step of the election" {...linked}>{String(row.number)}</Go>
              </td>
              <td class="number" rowSpan={rows}>{duration(row.durationMs)}</td>
              <td class="trigger" rowSpan={rows}>{trigger ? <Line line={trigger} {...linked} /> : null}</td>
            </>
          )}
          <Ballot row={ballots[at]} {...linked} />
        </tr>
      ))}
      <tr class="soft"><td colSpan={8}><Line line={row.sentence} {...linked} />{" "}<Line line={row.slowest} {...linked} /></td></tr>
    </tbody>
  );
}

function Ballot({ row, ...linked }: Linked & { row: BallotReport | undefined }) {
  if (row === undefined) return <td colSpan={6} class="soft">No line shows a ballot.</td>;
  const voters = (granted: boolean | null): number[] =>
    row.votes.filter((one) => one.granted === granted).map((one) => one.voterMemberId);
  const reasons = row.votes.filter((one) => !one.granted).map((one) => one.sentence);
  return (
    <>
      <td class="number" data-candidate>{row.candidateMemberId}</td>
      <td class="number" data-candidate-term>{row.candidateTermId}</td>
      <td data-votes="yes">{[row.candidateMemberId, ...voters(true)].sort((one, other) => one - other).join(", ")}</td>
      <td data-votes="no">{voters(false).join(", ") || "–"}</td>
      <td data-votes="none">{voters(null).join(", ") || "–"}</td>
      <td data-outcome>
        <Go evidence={row.sentence.evidence} title={row.sentence.text} {...linked}>{row.outcome}</Go>
        {row.outcome === "won" ? null
          : [row.sentence, ...reasons].map((line, at) => <div key={at}><Line line={line} {...linked} /></div>)}
      </td>
    </>
  );
}

function Group(
  { title, about, lines, ...linked }: Linked & { title: string; about: string; lines: readonly Sentence[] },
) {
  return (
    <div class="sentence-group">
      <h3>{title}</h3>
      {about ? <p class="soft">{about}</p> : null}
      <ul>{lines.map((line, at) => <li key={at}><Line line={line} {...linked} /></li>)}</ul>
    </div>
  );
}

function Further({ title, lines, ...linked }: Linked & { title: string; lines: readonly Sentence[] }) {
  if (lines.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul>{lines.map((line, at) => <li key={at}><Line line={line} {...linked} /></li>)}</ul>
    </section>
  );
}

/** A sentence with its evidence; the evidence leads to its event. */
export function Line({ line, places, show }: Linked & { line: Sentence }) {
  const named = line.evidence.map((one) => placeOf(one, places).place);
  return (
    <span>
      {line.text}{" "}
      {named.length > 0 ? <Go evidence={line.evidence} title={line.text} places={places} show={show}>{[...new Set(named)].join(", ")}</Go> : null}
    </span>
  );
}

function placeOf(one: Evidence, places: Places): Places[string] {
  const name = `${one.file}:${one.line}`;
  return places[name] ?? { place: name, event: null };
}

/** A button to the last event of some evidence. */
function Go(
  { evidence, title, places, show, children }: Linked & { evidence: readonly Evidence[]; title: string; children: string },
) {
  const event = evidence.map((one) => placeOf(one, places).event).findLast((one) => one !== null) ?? null;
  if (event === null) return <code>{children}</code>;
  return <button type="button" class="inline" title={title} onClick={() => show(event)}>{children}</button>;
}

/** Seconds of a clock. */
function secondsOf(ns: number | null): string {
  return ns === null ? "?" : (ns / 1e9).toFixed(3);
}

/** A duration: milliseconds below ten seconds, else seconds. */
function duration(ms: number): string {
  if (Math.abs(ms) < 10) return `${ms.toFixed(1)} ms`;
  const short = Math.abs(ms) < 10_000;
  const digits = short ? 0 : 1;
  const number = (short ? ms : ms / 1000).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${number} ${short ? "ms" : "s"}`;
}
