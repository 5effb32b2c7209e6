"""What happened in a run, for the page: the answers of `canvass explain` with the events they name.

Nothing is found out here; see `canvass.explanation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from canvass.browser import api
from canvass.browser.runs import OpenRun
from canvass.explanation.elections import ElectionReport
from canvass.explanation.evidence import Evidence, Sentence, seconds_of, shown_ns
from canvass.explanation.leaderships import Leadership
from canvass.explanation.phases import BallotReport
from canvass.explanation.reading import read
from canvass.explanation.report import Explanation, explain
from canvass.traces.counts import counted

MAX_ROWS: Final = 100
"""Of each table."""
MAX_BALLOTS: Final = 20
"""Of each election."""

_T = TypeVar("_T")
_NO_LINE: Final = api.EvidenceLine("", "", None)


class _Rows:
    """Sentences of one run, with the places of the events that they rest on."""

    def __init__(self, opened: OpenRun) -> None:
        self._opened = opened
        self.left_out = 0

    def last(self, rows: Sequence[_T], most: int = MAX_ROWS) -> Sequence[_T]:
        """Give the last ones, and count what is left out."""
        self.left_out += max(0, len(rows) - most)
        return rows[-most:]

    def _event(self, evidence: Sequence[Evidence]) -> int | None:
        """Give the event of the last line; of a run the line of a stream is that of an event."""
        for one in reversed(evidence):
            places = self._opened.places[one.member_id]
            if 0 < one.line <= len(places):
                return int(places[one.line - 1])
        return None

    def _place(self, one: Evidence) -> str:
        """Name a line; of a run that was imported, the line of the log that shows the event."""
        rows = self._opened.member_rows[one.member_id]
        if not 0 < one.line <= len(rows):
            return str(one)
        return self._opened.when(int(rows[one.line - 1])).place or str(one)

    def line(self, text: str, evidence: Sequence[Evidence]) -> api.EvidenceLine:
        """Give a text with its evidence."""
        places = ", ".join(dict.fromkeys(map(self._place, evidence)))
        return api.EvidenceLine(text, places, self._event(evidence))

    def sentence(self, one: Sentence) -> api.EvidenceLine:
        """Give a sentence."""
        return self.line(one.text, one.evidence)

    def sentences(self, several: Iterable[Sentence]) -> tuple[api.EvidenceLine, ...]:
        """Give the last of some sentences."""
        return tuple(map(self.sentence, self.last(tuple(several))))

    def leadership(self, row: Leadership) -> api.LeadershipRow:
        """Give a row of who led when."""
        lasted = "?"
        if row.from_ns is not None and row.until_ns is not None:
            lasted = shown_ns(row.until_ns - row.from_ns)
        return api.LeadershipRow(
            term=row.leadership_term_id,
            leader=row.leader_member_id,
            begins=seconds_of(row.from_ns),
            ends=seconds_of(row.until_ns),
            lasted=lasted,
            ended_by=self.line(row.reason or row.ended_by, row.evidence),
        )

    def election(self, one: ElectionReport) -> api.ElectionRow:
        """Give a row of the elections."""
        return api.ElectionRow(
            number=one.number,
            term=one.leadership_term_id,
            leader=one.leader_member_id,
            took=shown_ns(round(one.duration_ms * 1e6)),
            first_event=self._event(one.phases[0].sentence.evidence[:1]) if one.phases else None,
            trigger=self._trigger(one),
            slowest=self.sentence(one.slowest),
            ballots=tuple(map(self.ballot, self.last(one.ballots, MAX_BALLOTS))),
            sentence=self.sentence(one.sentence),
        )

    def ballot(self, one: BallotReport) -> api.BallotRow:
        """Give a ballot."""
        voters: dict[bool | None, tuple[int, ...]] = {
            granted: tuple(vote.voter_member_id for vote in one.votes if vote.granted is granted)
            for granted in (True, False, None)
        }
        lost = () if one.outcome == "won" else (vote for vote in one.votes if not vote.granted)
        return api.BallotRow(
            candidate=one.candidate_member_id,
            term=one.candidate_term_id,
            yes=voters[True],
            no=voters[False],
            none=voters[None],
            outcome=one.outcome,
            sentence=self.sentence(one.sentence),
            reasons=tuple(self.sentence(vote.sentence) for vote in lost),
        )

    def _trigger(self, one: ElectionReport) -> api.EvidenceLine:
        """Say why the member began that was the first to look for a leader."""
        if not one.causes:
            return _NO_LINE
        first = one.phases[0].member_id if one.phases else None
        of_first = (each for each in one.causes if each.evidence[0].member_id == first)
        return self.sentence(next(of_first, one.causes[0]))


def explanation_of(opened: OpenRun) -> api.ExplanationView:
    """Explain a run folder.

    Raises
    ------
    TraceError
        If it is none.
    """
    timeline, states, _ = read(opened.path)
    return view_of(explain(timeline, states), opened)


def view_of(found: Explanation, opened: OpenRun) -> api.ExplanationView:
    """Give an explanation as the page shows it."""
    rows = _Rows(opened)
    span, without = (
        shown_ns(ns) for ns in (found.end_ns - found.begin_ns, found.without_leader_ns)
    )
    terms = counted(len(found.leaderships), "leadership")
    leaderships = tuple(map(rows.leadership, rows.last(found.leaderships)))
    elections = tuple(map(rows.election, rows.last(found.elections)))
    stuck = [
        api.StuckRow(one.member_id, one.state, one.guard, one.page, rows.sentences(one.sentences))
        for one in rows.last(found.stuck)
    ]
    risks = [
        api.RiskRow(one.kind, one.severity, one.page, rows.sentences(one.sentences))
        for one in rows.last(found.risks)
    ]
    return api.ExplanationView(
        summary=f"{terms} in {span}, {without} without a working leader.",
        leaderships=leaderships,
        elections=elections,
        stuck=tuple(stuck),
        risks=tuple(risks),
        sessions=rows.sentences(found.sessions.sentences),
        missing=rows.sentences(found.missing),
        left_out=rows.left_out,
    )
