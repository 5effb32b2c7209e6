"""The whole explanation: leaderships, elections, stuck members, risks, and the questions that the
logs leave open. It is also given as HTML, for the page of a verification.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

from canvass.cluster.messages import Record
from canvass.conformance.report import environment
from canvass.explanation.between import find_between
from canvass.explanation.elections import ElectionReport, find_elections
from canvass.explanation.evidence import Evidence, Sentence, seconds_of, shown_ns
from canvass.explanation.leaderships import (
    Gap,
    Leadership,
    Span,
    find_gaps,
    find_leaderships,
)
from canvass.explanation.risks import RiskReport, find_risks
from canvass.explanation.stuck import StuckReport, find_stuck
from canvass.explanation.timeline import MemberTimeline, Timeline
from canvass.explanation.timeouts import Timeout, find_timeouts
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.releases import LogReleases
from canvass.traces.errors import counted


class Explanation(Record, frozen=True):
    """The explanation of a cluster's logs.

    Parameters
    ----------
    begin_ns, end_ns
        The first and the last stamp, on the common clock.
    clock_offsets_ns
        For each member, the common clock minus the member's own clock.
    leaderships
        The leaderships in the order in which they began. The times are those of the leader's own
        clock.
    without_leader_ns
        The sum of the gaps whose beginning is known.
    interruptions
        The events between elections, as `find_between` lists them.
    positions
        The last known position of each member; none if the logs have no reports of followers.
    releases
        The releases that wrote the logs, and the revision of the spec for them; None for a run that
        was not imported.
    """

    member_count: int
    members: tuple[int, ...]
    begin_ns: int
    end_ns: int
    clock_offsets_ns: dict[int, int]
    timeouts: tuple[Timeout, ...]
    leaderships: tuple[Leadership, ...]
    gaps: tuple[Gap, ...]
    without_leader_ns: int
    interruptions: tuple[Sentence, ...]
    elections: tuple[ElectionReport, ...]
    stuck: tuple[StuckReport, ...]
    positions: tuple[Sentence, ...]
    risks: tuple[RiskReport, ...]
    missing: tuple[Sentence, ...]
    releases: LogReleases | None = None


def explain(
    timeline: Timeline,
    settings: Mapping[str, int] | None = None,
) -> Explanation:
    """Explain what happened.

    Parameters
    ----------
    timeline
        The timeline, from `timeline.make_timeline`.
    settings
        The timeouts that the user gave, in ns by property.
    """
    timeouts = find_timeouts(timeline, settings or {})
    spans = find_leaderships(timeline)
    gaps = find_gaps(timeline, spans)
    elections = find_elections(timeline, spans, timeouts)
    ballots = [ballot for election in elections for ballot in election.ballots]
    without_ns = sum(gap.until_ns - gap.from_ns for gap in gaps if gap.from_ns is not None)
    return Explanation(
        timeline.member_count, tuple(timeline.members), timeline.begin_ns, timeline.end_ns,
        {member_id: one.offset_ns for member_id, one in timeline.members.items()},
        tuple(timeouts.values()), tuple(span.row for span in spans), tuple(gaps), without_ns,
        tuple(find_between(timeline, spans, elections)), tuple(elections),
        tuple(find_stuck(timeline, timeouts)), tuple(find_positions(timeline)),
        tuple(find_risks(timeline, spans, ballots)),
        (*find_missing(timeline), *_unseen(spans)), timeline.releases,
    )  # fmt: skip


def _unseen(spans: list[Span]) -> Iterator[Sentence]:
    """Name the terms whose leader's own line is missing: their elections are not listed."""
    for span in spans:
        if not span.row.is_exact:
            term = span.row.leadership_term_id
            text = f"No line of its leader shows the opening of term {term}, nor its election."
            yield Sentence(text, span.row.evidence)


def find_positions(timeline: Timeline) -> Iterator[Sentence]:
    """Say for each member its last known position, and how far behind the furthest member it is."""
    last: dict[int, tuple[int, Evidence]] = {}
    reported = timeline.merged(records.AppendPosition)
    for _, member_id, index in timeline.merged(records.ClusterEvent) if reported else ():
        match timeline.record(member_id, index):
            case records.AppendPosition(follower_member_id=who, log_position=position):
                pass
            case records.CommitPosition(leader_member_id=who, log_position=position):
                # The leader's own log reaches further.
                if who in last and last[who][0] >= position:
                    continue
            case records.ElectionStateChange(append_position=position):
                who = member_id
            case _:
                continue
        last[who] = position, timeline.members[member_id].evidence(index)
    ends = {who: position for who, (position, _) in last.items()}
    first = max(ends, key=lambda who: (ends[who], -who), default=None)
    for who, (position, line) in sorted(last.items(), key=lambda item: item[0]):
        text = f"Member {who} was last seen at {position}"
        if first is not None and position < ends[first]:
            behind = ends[first] - position
            text += f", {behind:,} behind member {first}"
        yield Sentence(f"{text}.", (line,))


_NEEDED: Final[dict[str, tuple[type[records.Line], str]]] = {
    "ELECTION_STATE_CHANGE": (records.ElectionStateChange, "elections and leaderships"),
    "NEW_ELECTION": (records.NewElection, "why elections begin"),
    "CANVASS_POSITION": (records.CanvassPosition, "what a candidate waited for"),
    "VOTE": (records.Vote, "who voted how"),
    "APPEND_POSITION": (
        records.AppendPosition,
        "how far followers were, and when a leader stopped",
    ),
    "COMMIT_POSITION": (records.CommitPosition, "how far the log was committed"),
}
"""For each event, the question that stays open if no log has that event."""


def find_missing(timeline: Timeline) -> list[Sentence]:
    """List what is missing; each sentence has a line that shows it."""
    first = tuple(one.evidence(0) for one in timeline.members.values())
    found = [
        Sentence(f"The log of member {member_id} is not here.", first[:1])
        for member_id in timeline.missing
    ]
    if not timeline.merged(records.ClusterEvent):
        text = "No log has a CLUSTER line: the events may be off, or no process began an election."
        found.append(Sentence(text, first))
    elif timeline.member_count > 1:
        found += [
            Sentence(f"No log has the event {event}: it does not show {what}.", first)
            for event, (kind, what) in _NEEDED.items()
            if not timeline.merged(kind)
        ]
    for one in timeline.members.values():
        found += _of_member(one)
    return found


def _of_member(one: MemberTimeline) -> Iterator[Sentence]:
    if one.lacks_start:
        text = f"The log of member {one.member_id} begins within a process."
        yield Sentence(text, (one.evidence(0),))
    damaged = {
        k: line for k, line in enumerate(one.records) if isinstance(line, records.TruncatedLine)
    }
    if damaged:
        places = list(damaged) if len(damaged) < 4 else [min(damaged), max(damaged)]
        first = "; the first one" if len(damaged) > 1 else ""
        text = (
            f"{counted(len(damaged), 'line')} of member {one.member_id} cannot be read"
            f"{first}: {damaged[places[0]].reason}."
        )
        yield Sentence(text, tuple(one.evidence(k) for k in places))
    for attempt in one.attempts:
        for earlier, later in pairwise(attempt.phases):
            by = later.entered_by
            if isinstance(by, records.ElectionStateChange) and by.old_state != earlier.state:
                text = (
                    f"Lines of member {one.member_id} are missing: it was in {earlier.state} and"
                    f" comes from {by.old_state}."
                )
                yield Sentence(text, (one.evidence(earlier.begin), one.evidence(later.begin)))


def time_without_leader(found: Explanation) -> str:
    """Say for how long no member led, if the logs show it."""
    if not found.leaderships and not found.gaps:
        return "no line shows who led"
    at_least = "at least " if any(gap.from_ns is None for gap in found.gaps) else ""
    return f"{at_least}{shown_ns(found.without_leader_ns)} without a leader"


def clocks_apart(found: Explanation) -> str:
    """Say which members' clocks differ, to a tenth of a second; empty if none do.

    Messages show no smaller difference with certainty, because they take some time themselves.
    """
    (first, base_ns), *others = found.clock_offsets_ns.items()
    apart = [
        f"member {member_id} is {abs(ahead_s):,.1f} s {'ahead of' if ahead_s > 0 else 'behind'}"
        for member_id, offset_ns in others
        if (ahead_s := round((base_ns - offset_ns) / 1e9, 1))
    ]
    if not apart:
        return ""
    shown = ", ".join(f"{one} member {first}" for one in apart)
    return f"Clocks: {shown}; times are each member's own."


def written_by(found: Explanation) -> list[str]:
    """Say which releases wrote the logs, which revision is used, and the limits of that choice."""
    return [] if found.releases is None else found.releases.lines()


MAX_ROWS: Final = 200
"""The most rows of each table in a page. If there are more, the last ones are shown."""


def sections(found: Explanation) -> str:
    """Give the parts of a page as markup: tables with the lines of evidence in the last column."""
    template = environment(Path(__file__).parent).get_template("explain.html.jinja")
    return template.render(found=found, most=MAX_ROWS, seconds_of=seconds_of)
