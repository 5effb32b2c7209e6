"""The stream of one member for the timing monitor: rows, their times, and the latest events.

Times are intervals: an imported step may have happened at any time between two lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.member import ElectionState
from canvass.cluster.messages import MESSAGE_TYPES, CommitPosition
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.layout import INPUT_INDEX, MESSAGE_INDEX, STATE_ENUMS, STATE_INDEX
from canvass.traces.schema import Source

Flags = NDArray[np.bool_]

NEVER_NS: Final = -(1 << 61)
"""Before every time: for an event that this process has not had."""
_ANY_NS: Final = 1 << 61
"""After every time: the end of an unknown interval."""
_MS: Final = 1_000_000

_KEPT: Final = ("module_state", "role", "election_state")

_CYCLES: Final = (
    *(action for action in ACTIONS if action.name in ElectionState.__members__),
    Action.ELECTION_INIT,
    Action.UPDATE_LEADER_POSITION,
    Action.UPDATE_FOLLOWER_POSITION,
)
"""Steps of the duty cycle; each cycle takes one of them."""
_ENDS: Final = (Action.ENTER_ELECTION, Action.ELECTION_ERROR, Action.TERMINATE, Action.RESTART)
"""Other steps that end a duty cycle."""


@dataclass(frozen=True, slots=True)
class Interval:
    """For each row the earliest and the latest possible time of an event."""

    first: Ints
    last: Ints

    def later(self, by_ns: int) -> Interval:
        """Give intervals that begin at the same time and end later."""
        return Interval(self.first, self.last + by_ns)

    def least(self, since: Interval, row: int) -> str:
        """Give the least time that has passed since an event, as text."""
        return _seconds(int(self.first[row]) - int(since.last[row]))

    def most(self, since: Interval, row: int) -> str:
        """Give the most time that has passed since an event, as text."""
        return _seconds(int(self.last[row]) - int(since.first[row]))


def _seconds(duration_ns: int) -> str:
    return f"{duration_ns / 1_000 / _MS:.3f} s"


def is_heard_throughout(
    heard_ns: Ints, forgotten_ns: Ints, first: Ints, last: Ints, timeout_ns: int
) -> Flags:
    """Mark the intervals in which the last message is always younger than a timeout.

    Parameters
    ----------
    heard_ns
        The times of messages, ascending.
    forgotten_ns
        The times at which the member forgot all messages before.
    first, last
        The intervals.
    """
    times = np.concatenate([[NEVER_NS], heard_ns, [_ANY_NS]])
    gaps = np.flatnonzero(np.diff(times) >= timeout_ns)
    begins = np.concatenate([times[gaps] + timeout_ns, forgotten_ns])
    ends = np.concatenate([times[gaps + 1], times[np.searchsorted(times, forgotten_ns)]])
    order = np.argsort(begins)
    begins, ends = begins[order], np.maximum.accumulate(ends[order])
    # The gap that begins last before the interval ends is over before the interval begins.
    place = np.searchsorted(begins, last, side="right") - 1
    return np.asarray(np.where(place >= 0, ends[place] <= first, True))


@dataclass(slots=True)
class Latest:
    """The time of the last event of a kind, from batch to batch."""

    first: int = NEVER_NS
    last: int = _ANY_NS
    flag: int = -1

    def upto(self, where: Flags, at: Interval, restarts: Flags, unknown: Flags) -> Interval:
        """Give for each row the time of the last event up to the row, the row included."""
        sets = where | restarts | unknown
        place = np.maximum.accumulate(np.where(sets, np.arange(len(sets)), -1))
        never = restarts & ~where
        firsts = np.where(never | (unknown & ~where), NEVER_NS, at.first)
        lasts = np.where(never, NEVER_NS, np.where(unknown & ~where, _ANY_NS, at.last))
        found = Interval(
            np.where(place >= 0, firsts[place], self.first),
            np.where(place >= 0, lasts[place], self.last),
        )
        self.first, self.last = int(found.first[-1]), int(found.last[-1])
        return found

    def before(self, where: Flags, at: Interval, restarts: Flags, unknown: Flags) -> Interval:
        """Give for each row the time of the last event before the row."""
        first, last = self.first, self.last
        found = self.upto(where, at, restarts, unknown)
        return Interval(
            np.concatenate([[first], found.first[:-1]]), np.concatenate([[last], found.last[:-1]])
        )

    def flags(self, rises: Flags, falls: Flags, unknown: Flags) -> Ints:
        """Give the value of a flag before each row: 1, 0, or -1 if it is not known.

        A row in both ``rises`` and ``falls`` sets the flag to 1.
        """
        sets = np.where(rises, 1, np.where(unknown, -1, 0))
        place = np.maximum.accumulate(np.where(rises | falls | unknown, np.arange(len(sets)), -1))
        after = np.where(place >= 0, sets[place], self.flag)
        found = np.concatenate([[self.flag], after[:-1]])
        self.flag = int(after[-1])
        return found


@dataclass(slots=True)
class Rows:
    """Events of one member in order, without a context row.

    ``had``, ``changes``, ``enters``, ``leaves`` and the columns from ``module_term`` on are about
    the state before the step.
    """

    step: Ints
    time_ns: Ints
    continues: Flags
    """Whether the state before is known."""
    shown: Flags
    """Whether lines of a log show the event."""
    action: Ints
    timeout: Flags
    active: Ints
    peer: Ints
    message_term: Ints
    message_log_term: Ints
    message_leader: Ints
    message_candidate: Ints
    message_candidate_term: Ints
    old: Ints
    """Module state, role and election state before."""
    new: Ints
    module_term: Ints
    leadership_term: Ints
    candidate_term: Ints
    leader: Ints
    termination_position: Ints
    interval: Flags
    recorded_position: Ints
    append_position: Ints
    notified_commit_position: Ints
    log_replication: Flags
    sent_commit: Ints
    """The position in the CommitPosition that the step sends, -1 for none."""
    why: NDArray[Any] = field(repr=False)
    """The reason that a line gives; most have none."""

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Join rows."""
        names = [item.name for item in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def is_of(self, *actions: Action) -> Flags:
        """Whether each row is of one of some actions."""
        return np.isin(self.action, [ACTIONS.index(action) for action in actions])

    def had(self, column: str, name: str) -> Flags:
        """Whether the state before has a value."""
        return np.asarray(self.old[:, _KEPT.index(column)] == STATE_ENUMS[column].index(name))

    @property
    def changes(self) -> Flags:
        """Whether the step enters an election state; a restart always does."""
        return np.asarray((self.old[:, 2] != self.new[:, 2]) | self.is_of(Action.RESTART))

    def leaves(self, state: str) -> Flags:
        """Whether the step leaves an election state."""
        return self.changes & self.had("election_state", state)

    def enters(self, state: str) -> Flags:
        """Whether the step enters an election state."""
        return np.asarray(
            self.changes & (self.new[:, 2] == STATE_ENUMS["election_state"].index(state))
        )

    def reasons(self, action: Action) -> Iterator[tuple[int, str]]:
        """Give the rows of an action that have a reason."""
        for row in np.flatnonzero(self.is_of(action) & (self.why != "")).tolist():
            yield row, str(self.why[row])

    def intervals(self, *, inferred: bool) -> Interval:
        """Give for each step the interval in which the member read its clock.

        A recorded step read it at its time. For an imported step the lines around it give an
        interval. The handler of a message reads the clock after the line of the receipt. A duty
        cycle reads it after the cycle before, and before it takes the messages of its lines.
        """
        if not inferred:
            return Interval(self.time_ns, self.time_ns)
        rows = np.arange(len(self.time_ns))
        upto = np.maximum.accumulate(np.where(self.shown, rows, -1))
        before = np.concatenate([[-1], upto[:-1]])
        after = np.minimum.accumulate(np.where(self.shown, rows, len(rows))[::-1])[::-1]
        after = np.concatenate([after[1:], [len(rows)]])
        is_cycle = self.is_of(*_CYCLES)
        last_cycle = np.maximum.accumulate(np.where(is_cycle, rows, -1))
        last_cycle = np.concatenate([[-1], last_cycle[:-1]])
        before = np.where(is_cycle, np.where(last_cycle >= 0, upto[last_cycle], -1), before)
        times = np.concatenate([self.time_ns, [_ANY_NS, NEVER_NS]])
        previous, following = times[before], times[after]
        receives = self.peer >= 0
        first = np.where(self.shown & receives & ~self.changes, self.time_ns, previous)
        last = np.where(self.shown & (~receives | self.changes), self.time_ns, following)
        return Interval(first, last)

    def cycles(self, at: Interval) -> Interval:
        """Give for each step without a message the interval in which its duty cycle read the clock.

        Parameters
        ----------
        at
            The times of steps of an imported run.

        Returns
        -------
        Interval
            It may end later than in ``at``, with the next cycle: the import puts a step anywhere
            among messages that do not matter to the step.
        """
        rows = np.arange(len(self.time_ns))
        is_cycle = self.is_of(*_CYCLES)
        ends = is_cycle | self.is_of(*_ENDS)
        after = np.minimum.accumulate(np.where(ends, rows, len(rows))[::-1])[::-1]
        latest = np.concatenate([at.last, [_ANY_NS]])[np.concatenate([after[1:], [len(rows)]])]
        return Interval(at.first, np.where(is_cycle, np.maximum(latest, at.last), at.last))

    @property
    def last_cycles(self) -> Flags:
        """Mark the rows of the last duty cycle before the next line."""
        rows = np.arange(len(self.time_ns))
        is_cycle = self.is_of(*_CYCLES)

        def following(where: Flags) -> Ints:
            at = np.minimum.accumulate(np.where(where, rows, len(rows))[::-1])[::-1]
            return np.concatenate([at[1:], [len(rows)]])

        return np.asarray(is_cycle & (following(is_cycle) >= following(self.shown)))

    def prints(self, action: Action) -> bool:
        """Whether the log shows receipts of a kind of message."""
        return bool((self.is_of(action) & self.shown).any())


def _sent_commit(columns: EventColumns) -> Ints:
    """Give for each event the position of the last CommitPosition that it sends, -1 for none."""
    found = np.full(len(columns), -1, dtype=np.int64)
    kind, place = MESSAGE_INDEX["type"], MESSAGE_INDEX["log_position"]
    row = np.repeat(np.arange(len(columns)), np.diff(columns.send_offsets))
    is_commit = columns.sends[:, kind] == MESSAGE_TYPES.index(CommitPosition)
    found[row[is_commit]] = columns.sends[is_commit, place]
    return found


def rows_of_batch(columns: EventColumns, sources: Sequence[Source | None] | None) -> Rows:
    """Give the rows of a batch of one member's events."""
    start, count = columns.context, len(columns)
    own = slice(start, count)
    before = columns.predecessor[own]
    message = columns.message[own]
    old = columns.state[np.maximum(before, 0)]
    new = columns.state[own]
    given = [None] * (count - start) if sources is None else sources

    def of(name: str) -> Ints:
        return message[:, MESSAGE_INDEX[name]]

    kept = [STATE_INDEX[name] for name in _KEPT]
    return Rows(
        step=columns.step[own],
        time_ns=columns.time_ns[own],
        continues=before >= 0,
        shown=np.array([source is not None for source in given], dtype=np.bool_),
        action=columns.action[own],
        timeout=columns.inputs[own, INPUT_INDEX["timeout"]] != 0,
        active=columns.inputs[own, INPUT_INDEX["active"]],
        peer=of("peer"),
        message_term=of("leadership_term_id"),
        message_log_term=of("log_leadership_term_id"),
        message_leader=of("leader_member_id"),
        message_candidate=of("candidate_member_id"),
        message_candidate_term=of("candidate_term_id"),
        old=old[:, kept],
        new=new[:, kept],
        module_term=old[:, STATE_INDEX["module_leadership_term_id"]],
        leadership_term=old[:, STATE_INDEX["leadership_term_id"]],
        candidate_term=old[:, STATE_INDEX["candidate_term_id"]],
        leader=old[:, STATE_INDEX["leader_member_id"]],
        termination_position=old[:, STATE_INDEX["termination_position"]],
        interval=columns.inputs[own, INPUT_INDEX["interval"]] != 0,
        recorded_position=old[:, STATE_INDEX["recorded_position"]],
        append_position=old[:, STATE_INDEX["append_position"]],
        notified_commit_position=old[:, STATE_INDEX["notified_commit_position"]],
        log_replication=old[:, STATE_INDEX["log_replication"]] != 0,
        sent_commit=_sent_commit(columns)[own],
        why=np.array([source.reason if source else "" for source in given], dtype=object),
    )
