"""Explanations on the page: of a run by `canvass explain`, and of a hazard by its page in the docs.

Sentences get the events to which their evidence leads. `canvass.explanation` finds the sentences;
``docs/findings`` has the pages on hazards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from canvass.browser import api
from canvass.browser.questions import not_found
from canvass.browser.runs import OpenRun
from canvass.explanation.elections import ElectionReport
from canvass.explanation.evidence import Evidence, Sentence, seconds_of, shown_ns
from canvass.explanation.explanation import Explanation, explain, time_without_leader
from canvass.explanation.leaderships import Leadership
from canvass.explanation.phases import BallotReport
from canvass.explanation.reading import read
from canvass.explanation.risks import RiskReport, shown_hazards
from canvass.traces.counts import counted

MAX_ROWS: Final = 100
"""Most rows of each table."""
MAX_BALLOTS: Final = 20
"""Most ballots of each election."""

_HERE: Final = Path(__file__).resolve().parent
_FOLDERS: Final = (_HERE / "findings", _HERE.parents[2] / "docs" / "findings")
"""The folder of the pages in a wheel, and in a checkout."""
_NAME: Final = re.compile(r"\b(?:HZ\d{1,2}|L-[A-E])\b")

_T = TypeVar("_T")
_NO_LINE: Final = api.EvidenceLine("", "", None)


class _Rows:
    """Makes rows of an explanation, with the places of the events in its evidence."""

    def __init__(self, opened: OpenRun) -> None:
        self._opened = opened
        self.left_out = 0

    def last(self, rows: Sequence[_T], most: int = MAX_ROWS) -> Sequence[_T]:
        """Give the last ``most`` rows, and count the others as left out."""
        self.left_out += max(0, len(rows) - most)
        return rows[-most:]

    def _event(self, evidence: Sequence[Evidence]) -> int | None:
        """Give the place of the last event in the evidence; None without one.

        Line ``n`` of a member's stream is the member's event ``n``.
        """
        for one in reversed(evidence):
            places = self._opened.places[one.member_id]
            if 0 < one.line <= len(places):
                return int(places[one.line - 1])
        return None

    def _place(self, one: Evidence) -> str:
        """Name a line of evidence; for an imported run, the line of the event log."""
        rows = self._opened.member_rows[one.member_id]
        if not 0 < one.line <= len(rows):
            return str(one)
        return self._opened.when(int(rows[one.line - 1])).place or str(one)

    def line(self, text: str, evidence: Sequence[Evidence]) -> api.EvidenceLine:
        """Join a text with its evidence."""
        places = ", ".join(dict.fromkeys(map(self._place, evidence)))
        return api.EvidenceLine(text, places, self._event(evidence))

    def sentence(self, one: Sentence) -> api.EvidenceLine:
        """Convert a sentence."""
        return self.line(one.text, one.evidence)

    def sentences(self, several: Iterable[Sentence]) -> tuple[api.EvidenceLine, ...]:
        """Convert sentences, the last ones of many."""
        return tuple(map(self.sentence, self.last(tuple(several))))

    def leadership(self, row: Leadership) -> api.LeadershipRow:
        """Convert a leadership."""
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
        """Convert an election."""
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
        """Convert a ballot."""
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

    def risk(self, one: RiskReport) -> api.RiskRow:
        """Convert a risk."""
        return api.RiskRow(one.kind, one.severity, one.page, self.sentences(one.sentences))

    def _trigger(self, one: ElectionReport) -> api.EvidenceLine:
        """Give the cause for which the first member of the election looked for a leader."""
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
        If it is not a trace.
    """
    return view_of(explain(read(opened.path)), opened)


def view_of(found: Explanation, opened: OpenRun) -> api.ExplanationView:
    """Convert an explanation for the page."""
    rows = _Rows(opened)
    said = rows.sentences
    span = shown_ns(found.end_ns - found.begin_ns)
    terms = counted(len(found.leaderships), "leadership")
    return api.ExplanationView(
        summary=f"{terms} in {span}, {time_without_leader(found)}.",
        election_count=len(found.elections),
        without_leader_ms=found.without_leader_ns / 1e6
        if found.leaderships or found.gaps
        else None,
        leaderships=tuple(map(rows.leadership, rows.last(found.leaderships))),
        interruptions=said(found.interruptions),
        elections=tuple(map(rows.election, rows.last(found.elections))),
        stuck=tuple(
            api.StuckRow(one.member_id, one.state, one.guard, one.page, said(one.sentences))
            for one in rows.last(found.stuck)
        ),
        risks=tuple(map(rows.risk, rows.last(found.risks))),
        hazards=tuple(map(rows.risk, shown_hazards(found.risks))),
        missing=said(found.missing),
        left_out=rows.left_out,
    )


def hazards_in(*texts: str) -> tuple[str, ...]:
    """List the hazards that the texts name, if they have a page."""
    names = dict.fromkeys(name for text in texts for name in _NAME.findall(text))
    return tuple(name for name in names if _file(name) is not None)


@cache
def hazard_page(name: str) -> api.HazardPage:
    """Read the page on a hazard.

    Raises
    ------
    Refusal
        If the hazard has no page.
    """
    file = _file(name)
    if file is None:
        raise not_found("there is no page on that hazard")
    return api.HazardPage(name, tuple(file.read_text(encoding="utf-8").splitlines()))


def _file(name: str) -> Path | None:
    if not _NAME.fullmatch(name):
        return None
    return next((f / f"{name}.md" for f in _FOLDERS if (f / f"{name}.md").is_file()), None)
