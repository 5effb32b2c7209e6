"""The moments of a recorded run.

A run does not record the term of each byte of a log. `_Replay` derives the terms: it reads the
events in the order of causes, as `canvass browse` shows them, and copies entries from the leader
that a member follows. The terms of older bytes come from the member's recording log.

A search takes seconds, but a cluster is near a loss only for milliseconds. So
`RunMoments.exposed_every` chooses the events from which to search, by logs and reports alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from canvass.cluster.member import Member, Role
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.cluster.predicates import quorum_position
from canvass.cluster.transitions import persistent_member
from canvass.conformance.diagnose import RunColumns, load
from canvass.distance.search import Moment
from canvass.lanes.drawing import RunLanes
from canvass.simulation.world import Log, Segment, agreement, append, copy, cut, length
from canvass.traces.columns import member_of, message_of
from canvass.traces.run import RunFolder
from canvass.traces.schema import (
    ACTION_NAMES,
    MEMBER_INDEX,
    MESSAGE_INDEX,
    NONE,
    STATE_ENUMS,
    STATE_INDEX,
)

_ID: Final = MESSAGE_INDEX["id"]
_PEER: Final = MESSAGE_INDEX["peer"]
_READ: Final = (
    "recorded_position",
    "commit_position",
    "append_position",
    "role",
    "election_state",
    "leader_member_id",
    "leadership_term_id",
    "module_leadership_term_id",
)
_LEADER: Final = STATE_ENUMS["role"].index(Role.LEADER)
_CANDIDATE: Final = STATE_ENUMS["role"].index(Role.CANDIDATE)
_STATES: Final = [one.value for one in STATE_ENUMS["election_state"]]
_BEGINS_TO_LEAD: Final = _STATES.index("LEADER_LOG_REPLICATION")
UNBOUNDED: Final = 1 << 62
_CLOSED: Final = _STATES.index("CLOSED")
_NOTED: Final = MEMBER_INDEX["log_position"]
_RESTART: Final = ACTION_NAMES.index("Restart")


class Exposure(NamedTuple):
    """How exposed the committed log is at a moment: the greater the tuple, the more exposed.

    Parameters
    ----------
    counted_too_far
        A leader or candidate computes a quorum position from the reports of others. This is the
        number of bytes by which it exceeds the quorum position up to which the logs of the
        reporters are the same as its own log: see finding HZ1.
    unsettled
        Number of members that lack committed bytes, or are in an election.
    without
        Number of members that lack committed bytes.
    """

    counted_too_far: int
    unsettled: int
    without: int


class UnknownState(Exception):
    """The state of a member is not known at a moment."""


class RunMoments:
    """The moments of one run.

    Parameters
    ----------
    run
        A run folder, or a loaded run.

    Attributes
    ----------
    begins
        The members whose first step is in the run, and the members without a step.

    Raises
    ------
    TraceError
        If the folder is not a run.
    KeyError
        If the run has no events.
    ValueError
        If the run names an unknown revision.
    """

    def __init__(self, run: Path | RunColumns) -> None:
        loaded = load(run, RunFolder(run).run.run_id) if isinstance(run, Path) else run
        self.loaded: RunColumns = loaded
        self.rules = self.loaded.run.rules
        self.lanes = RunLanes(self.loaded.columns)
        columns = self.loaded.steps.state
        wanted = [STATE_INDEX[name] for name in _READ]
        self._cells: list[list[int]] = columns[: len(self.loaded.columns)][:, wanted].tolist()
        self._received: list[int] = self.loaded.columns.message[:, _ID].tolist()
        self._arrives = {one for one in self._received if one != NONE}
        events, begins = self.loaded.columns, self.loaded.run.initial == "empty"
        self.begins = set(events.member[events.step == 0].tolist()) if begins else set()
        self.begins |= set(self.loaded.run.without_steps)

    @property
    def total(self) -> int:
        """The number of events."""
        return len(self.lanes.rows)

    def place_of(self, member: int, step: int) -> int | None:
        """Give the place of a member's step in the order of causes; None if the run lacks it."""
        row = self.lanes.row_of(member, step)
        return None if row is None else self.lanes.place[row]

    def exposed_every(self, period_ns: int) -> list[tuple[int, Exposure]]:
        """Give, for each period, the place and the exposure of its most exposed event.

        If several are equally exposed, it is the last one.
        """
        replay = _Replay(self)
        best: dict[int, tuple[int, Exposure]] = {}
        for place, row in enumerate(self.lanes.rows):
            replay.advance(row)
            exposed = replay.exposure(row)
            period = (self.time_ns(place) - self.time_ns(0)) // period_ns
            if period not in best or exposed >= best[period][1]:
                best[period] = place, exposed
        return sorted(best.values())

    def time_ns(self, place: int) -> int:
        """Give the time of an event by its member's clock."""
        return int(self.loaded.columns.time_ns[self.lanes.rows[place]])

    def moments(self, places: Iterable[int]) -> Iterator[Moment]:
        """Give the moment after each of the events at these places, which must ascend.

        Raises
        ------
        UnknownState
            If a member has no event before the moment, and the run lacks its first steps.
        """
        replay = _Replay(self)
        done = -1
        for place in places:
            for at in range(done + 1, place + 1):
                replay.advance(self.lanes.rows[at])
            done = place
            yield replay.moment(place)

    def state(self, row: int) -> Member:
        """Give the state after an event."""
        states = self.loaded.steps
        start, end = int(states.log_offsets[row]), int(states.log_offsets[row + 1])
        return member_of(
            states.state[row].tolist(), states.members[row].tolist(), states.log[start:end].tolist()
        )


class _Replay:
    """Follows the logs, the committed log and the messages under way, event by event."""

    def __init__(self, run: RunMoments) -> None:
        count = run.rules.member_count
        self._run = run
        self._last: list[int | None] = [None] * count
        self._logs: list[Log] = [()] * count
        self._led: dict[tuple[int, int], Log] = {}
        self._committed: Log = ()
        self._under_way: dict[int, tuple[int, int, Message]] = {}

    def advance(self, row: int) -> None:
        """Take one event into account."""
        run, columns = self._run, self._run.loaded.columns
        i = int(columns.member[row])
        recorded, commit, appended, role, election, _, term, _ = run._cells[row]
        log = cut(self._logs[i], recorded)
        if recorded > length(log):
            log = self._recorded(i, row, log, recorded)
        self._logs[i] = log
        if role == _LEADER and election == _BEGINS_TO_LEAD:
            self._led.setdefault((i, term), cut(log, appended))
        reached = min(commit, length(log))
        if reached > length(self._committed):
            self._committed = cut(log, reached)
        self._last[i] = row
        self._under_way.pop(run._received[row], None)
        if int(columns.action[row]) == _RESTART:
            lost = [one for one, (_, to, _) in self._under_way.items() if to == i]
            for one in lost:
                del self._under_way[one]
        first, end = int(columns.send_offsets[row]), int(columns.send_offsets[row + 1])
        for cells in columns.sends[first:end]:
            if int(cells[_ID]) in run._arrives:
                message = message_of(cells)
                assert message is not None
                self._under_way[int(cells[_ID])] = (i, int(cells[_PEER]), message)

    def exposure(self, row: int) -> Exposure:
        """Give the exposure after an event."""
        run, i = self._run, int(self._run.loaded.columns.member[row])
        count = run.rules.member_count
        needed = length(self._committed)
        holders = [j for j in range(count) if agreement(self._logs[j], self._committed) >= needed]
        settled = sum(self._is_settled(j) for j in holders)
        return Exposure(self._counted_too_far(i, row), count - settled, count - len(holders))

    def _is_settled(self, i: int) -> bool:
        last = self._last[i]
        return last is not None and self._run._cells[last][4] == _CLOSED

    def _counted_too_far(self, i: int, row: int) -> int:
        """Give `Exposure.counted_too_far` of a member after an event."""
        run, log = self._run, self._logs[i]
        if run._cells[row][3] not in (_LEADER, _CANDIDATE):
            return 0
        count = run.rules.member_count
        noted = run.loaded.steps.members[row][:count, _NOTED].tolist()
        shared = [min(one, self._shared(log, j)) for j, one in enumerate(noted)]
        # The member's own position never limits the quorum position: its log still grows.
        noted[i] = shared[i] = max(noted)
        return quorum_position(noted, count) - quorum_position(shared, count)

    def _shared(self, log: Log, j: int) -> int:
        """Give the position up to which two logs agree; `UNBOUNDED` if either is a prefix."""
        theirs = self._logs[j]
        shared = agreement(log, theirs)
        return UNBOUNDED if shared == min(length(log), length(theirs)) else shared

    def _recorded(self, i: int, row: int, log: Log, recorded: int) -> Log:
        """Extend a log to ``recorded`` from the log of its leader, else from its recording log."""
        last = self._last[i]
        if last is not None:
            _, _, _, role, election, leader, term, module_term = self._run._cells[last]
            followed = module_term if election == _CLOSED else term
            source = self._led.get((i if role == _LEADER else leader, followed))
            if source is not None:
                base = length(source)
                if recorded > base:
                    source = append(source, Segment(followed, base, base, recorded))
                log = copy(log, source, recorded)
        if length(log) < recorded:
            log = _by_recording_log(self._run.state(row), log, recorded)
        return log

    def moment(self, place: int) -> Moment:
        """Give the moment after an event."""
        run = self._run
        for i, row in enumerate(self._last):
            if row is None and i not in run.begins:
                raise UnknownState(f"the run does not have the first steps of member {i}")
        members = tuple(
            persistent_member(run.rules) if row is None else run.state(row) for row in self._last
        )
        return Moment(
            rules=run.rules,
            members=members,
            under_way=tuple(self._under_way.values()),
            logs=tuple(self._logs),
            committed=self._committed,
            leaders=frozenset((term, i) for i, term in self._led),
            label=f"event {place}",
        )


def _by_recording_log(state: Member, log: Log, end: int) -> Log:
    """Extend a log to ``end`` with the terms of the recording log."""
    for entry in state.recording_log:
        start = length(log)
        stop = end if entry.log_position == NULL_VALUE else min(entry.log_position, end)
        if entry.term_base_log_position <= start < stop:
            term = entry.leadership_term_id
            log = append(log, Segment(term, entry.term_base_log_position, start, stop))
    start = length(log)
    if start < end:
        term = max(log[-1].term if log else 0, state.log_leadership_term_id, 0)
        log = append(log, Segment(term, log[-1].base if log else 0, start, end))
    return log
