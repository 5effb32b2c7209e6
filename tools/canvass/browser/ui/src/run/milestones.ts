// The milestones of a run: leaderships, two leaders at once, restarts, faults, gaps and divergences.

import type { RunTimeline, RunView } from "../api/types";

export interface Milestone {
  readonly number: number;
  readonly text: string;
  readonly kind: "leader" | "leaders" | "mark" | "diverges";
}

const LED = "LEADER_READY";

export function milestonesOf(run: RunView, timeline: RunTimeline | undefined): readonly Milestone[] {
  const found: Milestone[] = [];
  for (const member of timeline?.members ?? []) {
    for (const segment of member.segments) {
      if (segment.electionState === LED) {
        found.push({ number: segment.start, text: `member ${member.id} becomes leader`, kind: "leader" });
      }
    }
  }
  const bands = [...(timeline?.bands ?? [])].sort((one, other) => one.start - other.start);
  bands.forEach((band, at) => {
    for (const earlier of bands.slice(0, at)) {
      if (earlier.member === band.member || earlier.end <= band.start) continue;
      const both = `member ${earlier.member} leads term ${earlier.term} and member ${band.member} term ${band.term}`;
      found.push({
        number: band.start, kind: "leaders",
        text: `${both}, until event ${Math.min(earlier.end, band.end).toLocaleString("en")}`,
      });
    }
  });
  for (const mark of timeline?.marks ?? []) {
    found.push({
      number: mark.number,
      text: `${mark.kind.toLowerCase()} of member ${mark.member}${mark.text ? `: ${mark.text}` : ""}`,
      kind: mark.kind === "DIVERGES" ? "diverges" : "mark",
    });
  }
  if (run.divergence && !found.some((one) => one.kind === "diverges")) {
    const { eventNumber, first } = run.divergence;
    found.push({ number: eventNumber, text: `member ${first.member} leaves the spec: ${first.name}`, kind: "diverges" });
  }
  return found.sort((one, other) => one.number - other.number);
}

/** The event at which the page opens: the one that a file surrounds, else the first divergence, else the election of the first leader. */
export function startOf(run: RunView, timeline: RunTimeline | undefined): number {
  if (run.part) return run.part.at;
  if (run.divergence) return run.divergence.eventNumber;
  return milestonesOf(run, timeline).find((one) => one.kind === "leader")?.number ?? 0;
}
