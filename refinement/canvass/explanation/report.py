"""The whole answer: leaderships, elections, who is stuck, what was at risk, sessions, what is
missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from canvass.explanation.elections import ElectionReport, find_elections
from canvass.explanation.evidence import Sentence
from canvass.explanation.leaderships import Gap, Leadership, Span, find_gaps, find_leaderships
from canvass.explanation.missing import find_missing
from canvass.explanation.risks import RiskReport, find_risks
from canvass.explanation.sessions import SessionsReport, find_sessions
from canvass.explanation.states import States
from canvass.explanation.stuck import StuckReport, find_stuck
from canvass.explanation.timeline import Timeline
from canvass.explanation.timeouts import Timeout, find_timeouts


class Explanation(msgspec.Struct, frozen=True, rename="camel"):
    """What happened in a cluster.

    Parameters
    ----------
    begin_ns, end_ns
        First and last stamp, on the common clock.
    clock_offsets_ns
        For each member what is added to its own stamps to make the common clock's.
    leaderships
        In the order in which they began; each with times by the leader's own clock.
    without_leader_ns
        Of the gaps that have a beginning.
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
    elections: tuple[ElectionReport, ...]
    stuck: tuple[StuckReport, ...]
    risks: tuple[RiskReport, ...]
    sessions: SessionsReport
    missing: tuple[Sentence, ...]


def explain(
    timeline: Timeline,
    states: States | None = None,
    settings: Mapping[str, int] | None = None,
) -> Explanation:
    """Answer what happened.

    Parameters
    ----------
    timeline
        As `timeline.make_timeline` makes it.
    states
        Of the members' steps, if there is a run; they add values and change no other answer.
    settings
        Timeouts in ns by property, as far as they are known.
    """
    timeouts = find_timeouts(timeline, settings or {})
    spans = find_leaderships(timeline)
    gaps = find_gaps(timeline, spans)
    elections = find_elections(timeline, spans, timeouts)
    ballots = [ballot for election in elections for ballot in election.ballots]
    return Explanation(
        timeline.member_count,
        tuple(timeline.members),
        timeline.begin_ns,
        timeline.end_ns,
        {member_id: one.offset_ns for member_id, one in timeline.members.items()},
        tuple(timeouts.values()),
        tuple(span.row for span in spans),
        tuple(gaps),
        sum(gap.until_ns - gap.from_ns for gap in gaps if gap.from_ns is not None),
        tuple(elections),
        tuple(find_stuck(timeline, timeouts, states)),
        tuple(find_risks(timeline, spans, ballots)),
        find_sessions(timeline),
        (*find_missing(timeline), *_unseen(spans)),
    )


def _unseen(spans: list[Span]) -> Iterator[Sentence]:
    """Terms of which the leader's own line is missing: their elections are not listed."""
    for span in spans:
        if not span.row.is_exact:
            term = span.row.leadership_term_id
            text = f"No line of its leader shows the opening of term {term}, nor its election."
            yield Sentence(text, span.row.evidence)
