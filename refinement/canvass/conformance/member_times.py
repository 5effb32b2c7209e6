"""One member's stream as the timing monitor reads it: rows, when each happened, and what came last.

Times are intervals, as an imported step may have happened at any time between two lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import EventColumns
from canvass.traces.layout import INPUT_INDEX, MESSAGE_INDEX, STATE_ENUMS, STATE_INDEX
from canvass.traces.schema import Source

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NEVER_NS: Final = -(1 << 62)
"""Before everything: of what has not happened in the life of a process."""
_ANY_NS: Final = 1 << 62
"""After everything: the end of an interval of which nothing is known."""
_MS: Final = 1_000_000

_KEPT: Final = ("module_state", "role", "election_state")


def _code(column: str, name: str) -> int:
    return [value.value for value in STATE_ENUMS[column]].index(name)


@dataclass(frozen=True, slots=True)
class Interval:
    """For each row the earliest and the latest time that something can have happened."""

    first: Ints
    last: Ints

    def later(self, by_ns: int) -> Interval:
        """Give intervals that begin at the same time and end later."""
        return Interval(self.first, self.last + by_ns)

    def least(self, since: Interval, row: int) -> str:
        """Say how much time has passed at least."""
        return _seconds(int(self.first[row]) - int(since.last[row]))

    def most(self, since: Interval, row: int) -> str:
        """Say how much time has passed at most."""
        return _seconds(int(self.last[row]) - int(since.first[row]))


def _seconds(duration_ns: int) -> str:
    return f"{duration_ns / 1_000 / _MS:.3f} s"


@dataclass(slots=True)
class Latest:
    """When something happened last, from batch to batch."""

    first: int = NEVER_NS
    last: int = _ANY_NS
    flag: int = -1

    def upto(self, where: Flags, at: Interval, restarts: Flags, unknown: Flags) -> Interval:
        """Give for each row when it happened last, the row itself among them."""
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
        """Give for each row when it happened last, the row itself not among them."""
        first, last = self.first, self.last
        found = self.upto(where, at, restarts, unknown)
        return Interval(
            np.concatenate([[first], found.first[:-1]]), np.concatenate([[last], found.last[:-1]])
        )

    def flags(self, rises: Flags, falls: Flags, unknown: Flags) -> Ints:
        """Give a flag as it is before each row: 1, 0, or -1 where it is not known."""
        sets = np.where(rises, 1, np.where(unknown, -1, 0))
        place = np.maximum.accumulate(np.where(rises | falls | unknown, np.arange(len(sets)), -1))
        after = np.where(place >= 0, sets[place], self.flag)
        found = np.concatenate([[self.flag], after[:-1]])
        self.flag = int(after[-1])
        return found


@dataclass(slots=True)
class Rows:
    """Events of one member in order, without a context row.

    What ``had``, ``changes``, ``enters``, ``leaves`` and the columns from ``module_term`` on say of
    the state is that before the step.
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
    why: NDArray[Any] = field(repr=False)
    """The reason that a line gives; most have none."""

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Put rows behind each other."""
        names = [item.name for item in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def is_of(self, *actions: Action) -> Flags:
        """Whether each row is of one of some actions."""
        return np.isin(self.action, [ACTIONS.index(action) for action in actions])

    def had(self, column: str, name: str) -> Flags:
        """Whether the state before has a value."""
        return np.asarray(self.old[:, _KEPT.index(column)] == _code(column, name))

    @property
    def changes(self) -> Flags:
        """Whether the step enters an election state; a restart always does."""
        return np.asarray((self.old[:, 2] != self.new[:, 2]) | self.is_of(Action.RESTART))

    def leaves(self, state: str) -> Flags:
        """Whether the step leaves an election state."""
        return self.changes & self.had("election_state", state)

    def enters(self, state: str) -> Flags:
        """Whether the step enters an election state."""
        return np.asarray(self.changes & (self.new[:, 2] == _code("election_state", state)))

    def reasons(self, action: Action) -> Iterator[tuple[int, str]]:
        """Give the rows of an action that have a reason."""
        for row in np.flatnonzero(self.is_of(action) & (self.why != "")).tolist():
            yield row, str(self.why[row])

    def intervals(self, *, inferred: bool) -> Interval:
        """Give when the member read its clock in each step.

        A recorded step did so at its time. Of an imported one the lines around it say when: a
        duty cycle reads the clock before its lines are written, the handler of a message after
        the line of its receipt.
        """
        if not inferred:
            return Interval(self.time_ns, self.time_ns)
        rows = np.arange(len(self.time_ns))
        upto = np.maximum.accumulate(np.where(self.shown, rows, -1))
        before = np.concatenate([[-1], upto[:-1]])
        after = np.minimum.accumulate(np.where(self.shown, rows, len(rows))[::-1])[::-1]
        after = np.concatenate([after[1:], [len(rows)]])
        times = np.concatenate([self.time_ns, [_ANY_NS, NEVER_NS]])
        previous, following = times[before], times[after]
        receives = self.peer >= 0
        first = np.where(self.shown & receives & ~self.changes, self.time_ns, previous)
        last = np.where(self.shown & (~receives | self.changes), self.time_ns, following)
        return Interval(first, last)


def rows_of_batch(columns: EventColumns, sources: Sequence[Source | None] | None) -> Rows:
    """Take from a batch of one member's events what the monitor reads."""
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
        why=np.array([source.reason if source else "" for source in given], dtype=object),
    )
