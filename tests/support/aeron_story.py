"""Event logs of Aeron 1.52 that are invented line by line, from the story in a public issue."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from canvass.explanation.explanation import Explanation, explain
from canvass.explanation.reading import read

_HEADER = "2026-01-31 10:20:{:06.3f}+0000, enabled loggers: {{CLUSTER: version=1.52.2 commit=0}}"


class StoryLog:
    """The log of one member; times are seconds of the host's clock.

    Each method writes the lines of one event.
    """

    def __init__(self, member_id: int) -> None:
        self.member_id = member_id
        self.lines: list[str] = []

    def start(self, at: float) -> None:
        """The process starts."""
        self.lines.append(f"{_stamp(at)} log started {_HEADER.format(at % 60)}")

    def begin(self, at: float, log: tuple[int, int] = (-1, 0)) -> None:
        """The process starts, and the member canvasses."""
        self.start(at)
        self.election(at, "node started", log)

    def event(self, at: float, name: str, fields: str) -> None:
        """Any line of the cluster."""
        self.lines.append(f"{_stamp(at)} CLUSTER: {name} [9/9]: memberId={self.member_id} {fields}")

    def election(self, at: float, reason: str, log: tuple[int, int] = (-1, 0)) -> None:
        """An election begins, and the member canvasses."""
        fields = f"leadershipTermId={log[0]} logPosition={log[1]} appendPosition={log[1]}"
        self.event(at, "NEW_ELECTION", f'{fields} reason="{reason}"')
        self.state(at, "INIT CANVASS", log=log)

    def state(
        self,
        at: float,
        states: str,
        *,
        leader: int = -1,
        term: int | None = None,
        candidate: int | None = None,
        log: tuple[int, int] = (-1, 0),
        processed: int | None = None,
        join: int = -1,
        reason: str = "",
    ) -> None:
        """The election goes through some states, all at one time."""
        names = states.split()
        of = log[0] if term is None else term
        commit = log[1] if processed is None else processed
        for old, new in pairwise(names):
            self.event(
                at,
                "ELECTION_STATE_CHANGE",
                f"{old} -> {new} leaderId={leader}"
                f" candidateTermId={of if candidate is None else candidate} leadershipTermId={of}"
                f" logPosition={commit} logLeadershipTermId={of if new == 'CLOSED' else log[0]}"
                f" appendPosition={log[1]}"
                f' catchupPosition={join} reason="{reason}"',
            )

    def canvassed(self, at: float, by: int, log: tuple[int, int]) -> None:
        """A canvass position is received."""
        fields = f"logLeadershipTermId={log[0]} logPosition={log[1]} leadershipTermId={log[0]}"
        self.event(at, "CANVASS_POSITION", f"{fields} followerMemberId={by} protocolVersion=1.0.0")

    def asked(self, at: float, by: int, term: int, log: tuple[int, int]) -> None:
        """A request for a vote is received."""
        fields = f"logLeadershipTermId={log[0]} logPosition={log[1]} candidateTermId={term}"
        self.event(at, "REQUEST_VOTE", f"{fields} candidateId={by} protocolVersion=1.0.0")

    def voted(self, at: float, by: int, term: int, log: tuple[int, int], vote: bool) -> None:
        """A vote for the member's own request is received."""
        self.event(
            at,
            "VOTE",
            f"logLeadershipTermId={log[0]} logPosition={log[1]} candidateTermId={term}"
            f" candidateId={self.member_id} voterId={by} vote={str(vote).lower()}",
        )

    def announced(
        self, at: float, leader: int, term: int, about: int, base: int, *, commit: int = 0
    ) -> None:
        """A new leadership term is received; the log of the term before it ends at its base."""
        self.event(
            at,
            "NEW_LEADERSHIP_TERM",
            f"logLeadershipTermId={about} nextLeadershipTermId={term}"
            f" nextTermBaseLogPosition={base} nextLogPosition=-1 leadershipTermId={term}"
            f" termBaseLogPosition={base} logPosition={base} commitPosition={commit}"
            f" leaderRecordingId=0 timestamp=1 leaderId={leader} logSessionId=7 appVersion=0.0.1"
            " isStartup=false",
        )

    def committed(self, at: float, leader: int, term: int, position: int) -> None:
        """A commit position is received."""
        fields = f"leadershipTermId={term} logPosition={position} leaderId={leader}"
        self.event(at, "COMMIT_POSITION", fields)

    def appended(self, at: float, by: int, term: int, position: int) -> None:
        """An append position is received."""
        fields = f"leadershipTermId={term} logPosition={position} followerMemberId={by}"
        self.event(at, "APPEND_POSITION", f"{fields} flags=0b00000000")

    def module(self, at: float, states: str, reason: str) -> None:
        """The consensus module's state changes."""
        old, new = states.split()
        self.event(at, "STATE_CHANGE", f'{old} -> {new} reason="{reason}"')


def lead(leader: StoryLog, followers: Iterable[StoryLog], begin: float, until: float) -> None:
    """Elect a leader of term 0 at once; it sends heartbeats every 200 ms until a time."""
    members = [leader, *followers]
    for member in members:
        member.start(begin)
        member.election(begin, "node started")
    ballot = "CANVASS NOMINATE CANDIDATE_BALLOT"
    leader.state(begin + 0.1, ballot, candidate=0)
    for member in members[1:]:
        member.state(begin + 0.1, "CANVASS FOLLOWER_BALLOT", candidate=0)
        leader.voted(begin + 0.2, member.member_id, 0, (-1, 0), vote=True)
    ready = "CANDIDATE_BALLOT LEADER_LOG_REPLICATION LEADER_REPLAY LEADER_INIT LEADER_READY CLOSED"
    leader.state(begin + 0.3, ready, leader=leader.member_id, term=0)
    for member in members[1:]:
        member.announced(begin + 0.3, leader.member_id, 0, -1, 0)
        joined = "FOLLOWER_BALLOT FOLLOWER_REPLAY FOLLOWER_LOG_INIT FOLLOWER_LOG_AWAIT"
        joined += " FOLLOWER_READY CLOSED"
        member.state(begin + 0.4, joined, leader=leader.member_id, term=0)
    beats = int((until - begin - 0.4) / 0.2)
    for beat in range(1, beats + 1):
        for member in members[1:]:
            leader.appended(begin + 0.4 + beat * 0.2, member.member_id, 0, 96)
            member.committed(begin + 0.4 + beat * 0.2, leader.member_id, 0, 96)


def write_story(folder: Path, logs: Iterable[StoryLog]) -> Path:
    """Write the logs in a folder as a cluster does."""
    folder.mkdir(parents=True, exist_ok=True)
    for log in logs:
        (folder / f"member-{log.member_id}.log").write_text("\n".join(log.lines) + "\n")
    return folder


def _stamp(at: float) -> str:
    nanos = round(at * 1_000_000_000)
    return f"[{nanos // 1_000_000_000}.{nanos % 1_000_000_000:09d}]"


def explained(folder: Path, *logs: StoryLog) -> Explanation:
    """Write logs to a folder, and explain them."""
    return explain(read(write_story(folder, list(logs))))
