"""What is said of what happened in a run: who led, elections, who is stuck, what was at risk."""

from __future__ import annotations

from canvass.browser.api_base import Data


class EvidenceLine(Data, frozen=True):
    """A sentence with its evidence."""

    text: str
    places: str
    """Files and lines that show it."""
    event: int | None
    """The place of the last of them in the order of causes."""


class LeadershipRow(Data, frozen=True):
    """Who led a term, and when; times are seconds of the leader's clock, ``?`` if unknown."""

    term: int
    leader: int | None
    begins: str
    ends: str
    lasted: str
    ended_by: EvidenceLine


class BallotRow(Data, frozen=True):
    """One ballot of one candidate."""

    candidate: int
    term: int
    yes: tuple[int, ...]
    """Members that voted for the candidate, without itself."""
    no: tuple[int, ...]
    none: tuple[int, ...]
    """Members of which no line shows an answer."""
    outcome: str
    sentence: EvidenceLine
    reasons: tuple[EvidenceLine, ...]
    """Of a ballot that was not won, why votes were not given."""


class ElectionRow(Data, frozen=True):
    """One election of the cluster."""

    number: int
    term: int | None
    leader: int | None
    took: str
    first_event: int | None
    """The place of the first step of the first member that looked for a leader."""
    trigger: EvidenceLine
    slowest: EvidenceLine
    ballots: tuple[BallotRow, ...]
    sentence: EvidenceLine


class StuckRow(Data, frozen=True):
    """A member that does not get on, and the condition that it waits for."""

    member: int
    state: str
    guard: str
    page: str
    sentences: tuple[EvidenceLine, ...]


class RiskRow(Data, frozen=True):
    """Something that was at risk."""

    kind: str
    severity: str
    page: str
    sentences: tuple[EvidenceLine, ...]


class ExplanationView(Data, frozen=True):
    """What happened in a run, as `canvass explain` says it; the last ones of each are listed."""

    summary: str
    leaderships: tuple[LeadershipRow, ...]
    elections: tuple[ElectionRow, ...]
    stuck: tuple[StuckRow, ...]
    risks: tuple[RiskRow, ...]
    sessions: tuple[EvidenceLine, ...]
    missing: tuple[EvidenceLine, ...]
    left_out: int
    """Leaderships, elections and further lines before these."""
