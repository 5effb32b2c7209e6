"""The timing monitor: do the times of a run agree with the inputs that the spec leaves free?

The spec is untimed. An expired deadline, the set of active members and the start of an election are
inputs of a step, so a run with any timing conforms. If ``run.json`` names a timeout, the monitor
compares the inputs with the member's own clock. A contradiction is a warning, never part of the
verdict. Clocks of different members are never compared.

A recorded event has its time and its inputs. In an imported run a step happened at some time
between the line before it and the line after it, and its inputs are inferred. So only what a line
shows is compared there: that a state was left at a deadline, and the reason of an election or of an
error. A warning is given only if no time in the interval fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from canvass.cluster.member import ElectionState
from canvass.cluster.rules import Rules
from canvass.cluster.timing import SLOW_TICK_NS
from canvass.conformance.batch import join
from canvass.conformance.verdict import Choice, TimingRule, TimingWarning
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.layout import INPUT_INDEX, MESSAGE_INDEX, STATE_ENUMS, STATE_INDEX
from canvass.traces.schema import Run, Source
from canvass.traces.timeouts import (
    ELECTION,
    HEARTBEAT_TIMEOUT,
    STARTUP_CANVASS,
    timeouts_of,
)

Flags = NDArray[np.bool_]

IMPORTED: Final = "aeron-log"
"""The kind of source that imported runs name in ``run.json``."""
LOG_RESOLUTION_NS: Final = 1_000_000
"""A cluster's clock has milliseconds."""
_DRIFT: Final = 1_000
"""The clocks of cluster and log may differ by a thousandth, as a wall clock is slewed."""
_NEVER_NS: Final = -(1 << 61)
_ANY_NS: Final = 1 << 61
"""Before every time, for an event that this process has not had; after every time."""
_TIMER_ERRORS: Final = (
    "timeout awaiting commit position",
    "failed to send catchup position",
    "failed to join catchup log",
    "failed to join live log",
    "ready follower failed to notify leader",
    "log replication has not progressed",
    "no catchup progress",
)
"""Errors that Aeron raises a heartbeat timeout after the state was entered, or later."""
_CYCLES: Final = (
    *(action for action in ACTIONS if action.name in ElectionState.__members__),
    *(Action.ELECTION_INIT, Action.UPDATE_LEADER_POSITION, Action.UPDATE_FOLLOWER_POSITION),
)
"""Steps of the duty cycle; each cycle takes one of them."""
_BALLOTS: Final = (Action.CANDIDATE_BALLOT, Action.FOLLOWER_BALLOT)
_TIMED: Final = (Action.CANVASS, Action.NOMINATE, *_BALLOTS, Action.LEADER_READY)
_LEADS: Final = (
    Action.LEADER_LOG_REPLICATION,
    Action.LEADER_REPLAY,
    Action.LEADER_READY,
    Action.UPDATE_LEADER_POSITION,
)


@dataclass(frozen=True, slots=True)
class _Interval:
    """For each row the earliest and the latest possible time of an event."""

    first: Ints
    last: Ints


class _Stream:
    """The events of one member in order, with the line that each was imported from, if any."""

    def __init__(self, columns: EventColumns, sources: Sequence[Source | None]) -> None:
        self._columns = columns
        self.step, self.time_ns, self.action = columns.step, columns.time_ns, columns.action
        self.continues = columns.predecessor >= 0
        self.shown = np.array([source is not None for source in sources], dtype=np.bool_)
        self.why = [source.reason if source else "" for source in sources]

    def __len__(self) -> int:
        return len(self.step)

    def given(self, name: str) -> Ints:
        """Give an input of each step."""
        return self._columns.inputs[:, INPUT_INDEX[name]]

    def message(self, name: str) -> Ints:
        """Give a field of the message that each step receives."""
        return self._columns.message[:, MESSAGE_INDEX[name]]

    def after(self, name: str) -> Ints:
        """Give a field of the state after each step."""
        return self._columns.state[:, STATE_INDEX[name]]

    def before(self, name: str) -> Ints:
        """Give a field of the state before each step that continues."""
        return np.concatenate([[0], self.after(name)[:-1]])

    def of(self, *actions: Action) -> Flags:
        """Mark the steps of some actions."""
        return np.isin(self.action, [ACTIONS.index(action) for action in actions])

    def had(self, name: str, value: str) -> Flags:
        """Mark the steps before which a field has a value."""
        return np.asarray(self.before(name) == STATE_ENUMS[name].index(value))

    @property
    def changes(self) -> Flags:
        """Mark the steps that enter an election state; a restart always does."""
        moved = self.before("election_state") != self.after("election_state")
        return np.asarray(moved | self.of(Action.RESTART))

    def enters(self, state: str) -> Flags:
        """Mark the steps that enter an election state."""
        own = STATE_ENUMS["election_state"].index(state)
        return np.asarray(self.changes & (self.after("election_state") == own))

    def times(self, *, imported: bool) -> _Interval:
        """Give for each step the interval in which the member read its clock."""
        if not imported:
            return _Interval(self.time_ns, self.time_ns)
        rows = np.arange(len(self))
        upto = np.maximum.accumulate(np.where(self.shown, rows, -1))
        since = np.minimum.accumulate(np.where(self.shown, rows, len(rows))[::-1])[::-1]
        before, after = np.concatenate([[-1], upto[:-1]]), np.concatenate([since[1:], [len(rows)]])
        # A duty cycle reads the clock after the cycle before, then it takes messages.
        is_cycle = self.of(*_CYCLES)
        cycle = _last(is_cycle)
        before = np.where(is_cycle, np.where(cycle >= 0, upto[cycle], -1), before)
        times = np.concatenate([self.time_ns, [_ANY_NS, _NEVER_NS]])
        # A handler reads it after the line of the receipt; the line of a change comes later.
        receives = (self.message("peer") >= 0) & ~self.changes
        return _Interval(
            np.where(self.shown & receives, self.time_ns, times[before]),
            np.where(self.shown & ~receives, self.time_ns, times[after]),
        )

    def latest(self, where: Flags, at: _Interval) -> _Interval:
        """Give for each row the time of the last event of a kind before it in the same process."""
        ends = self.of(Action.RESTART)
        place = _last(where | ends | ~self.continues)
        # Before missing steps the event may have been at any time.
        first = np.where(where, at.first, _NEVER_NS)
        last = np.where(where, at.last, np.where(ends, _NEVER_NS, _ANY_NS))
        return _Interval(
            np.where(place >= 0, first[place], _NEVER_NS),
            np.where(place >= 0, last[place], _ANY_NS),
        )

    def holds(self, begins: Flags, ends: Flags) -> Ints:
        """Give for each row before it whether something has begun and not ended; -1: not known."""
        place = _last(begins | ends | ~self.continues)
        value = np.where(begins, 1, np.where(self.continues, 0, -1))
        return np.where(place >= 0, value[place], -1)


def _last(where: Flags) -> Ints:
    """Give for each row the last marked row before it, -1 for none."""
    upto = np.maximum.accumulate(np.where(where, np.arange(len(where)), -1))
    return np.concatenate([[-1], upto[:-1]])


def _seconds(duration_ns: int) -> str:
    return f"{duration_ns / 1e9:.3f} s"


_Found = Iterator[tuple[TimingRule, str, int, str]]
"""Warnings: the rule, the property of the timeout, the row, and what is wrong."""


@dataclass(frozen=True, slots=True)
class _MemberTimes:
    """The checks of the stream of one member; only timeouts that are given are compared."""

    rules: Rules
    member_id: int
    timeouts: Mapping[str, int]
    imported: bool
    rows: _Stream

    def check(self) -> _Found:
        """Give what is wrong in the stream."""
        at = self.rows.times(imported=self.imported)
        entered = self.rows.latest(self.rows.changes, at)
        yield from self._deadlines(at, entered)
        if HEARTBEAT_TIMEOUT in self.timeouts:
            yield from self._heartbeats(at, entered)

    def _not_yet(self, at: _Interval, since: _Interval, timeout_ns: int) -> Flags:
        """Mark the rows at which a timeout has not passed, whatever the exact times are."""
        slack_ns = LOG_RESOLUTION_NS + timeout_ns // _DRIFT if self.imported else 0
        return at.last - since.first < timeout_ns - slack_ns

    def _deadlines(self, at: _Interval, entered: _Interval) -> _Found:
        rows = self.rows
        restarts, enters = rows.of(Action.RESTART), rows.of(Action.ENTER_ELECTION)
        leaves = rows.changes & rows.had("election_state", "CANVASS")
        first = rows.holds(restarts, leaves | rows.enters("CLOSED"))
        in_order = enters & np.array(["eos=true" in why for why in rows.why], dtype=np.bool_)
        graceful = rows.holds(in_order, enters | restarts) == 1
        leader = rows.latest(self._from_leader(), at)
        canvasses = rows.of(Action.CANVASS) & ~graceful
        ready = rows.of(Action.LEADER_READY) & self.rules.is_149
        timed = rows.given("timeout") != 0
        for where, since, setting, of in (
            (canvasses & (first == 1), entered, STARTUP_CANVASS, "it began to canvass"),
            (canvasses & (first == 0), leader, HEARTBEAT_TIMEOUT, "it last heard a leader"),
            (rows.of(*_BALLOTS), entered, ELECTION, "the ballot began"),
            (ready, entered, HEARTBEAT_TIMEOUT, "it was ready to lead"),
        ):
            timeout_ns = self.timeouts.get(setting)
            if timeout_ns is None:
                continue
            # An inferred input says something only if a line shows that the state was left.
            known = rows.shown & rows.changes if self.imported else ~graceful
            early = where & timed & known & self._not_yet(at, since, timeout_ns)
            for row in np.flatnonzero(early).tolist():
                passed = _seconds(at.last[row] - since.first[row])
                text = f"takes the timeout for passed {passed} after {of}"
                yield TimingRule.EARLY_TIMEOUT, setting, row, text
            late = where & ~timed & (at.first - since.last >= timeout_ns)
            yield from self._late(late, setting, at, since, "takes the timeout for open", of)
        if ELECTION in self.timeouts:
            late = rows.of(Action.NOMINATE) & ~timed
            late &= at.first - entered.last >= max(1, self.timeouts[ELECTION] // 2)
            yield from self._late(late, ELECTION, at, entered, "still nominates", "it began")

    def _late(
        self, late: Flags, setting: str, at: _Interval, since: _Interval, does: str, of: str
    ) -> _Found:
        if not self.imported:
            for row in np.flatnonzero(late).tolist():
                passed = _seconds(at.first[row] - since.last[row])
                yield TimingRule.LATE_TIMEOUT, setting, row, f"{does} {passed} after {of}"

    def _heartbeats(self, at: _Interval, entered: _Interval) -> _Found:
        rows, timeout_ns = self.rows, self.timeouts[HEARTBEAT_TIMEOUT]
        log = rows.latest(self._about_log(), at)
        stays = rows.of(Action.UPDATE_FOLLOWER_POSITION) & (rows.before("termination_position") < 0)
        # The slow tick before looked for the leader.
        stays &= at.first - log.last >= timeout_ns + SLOW_TICK_NS
        what = "still follows", "it last heard its leader"
        yield from self._late(stays, HEARTBEAT_TIMEOUT, at, log, *what)
        # A line may give the timeout as the reason of an election or an error.
        heard = rows.of(Action.ENTER_ELECTION) & self._not_yet(at, log, timeout_ns)
        early = rows.of(Action.ELECTION_ERROR) & self._not_yet(at, entered, timeout_ns)
        for row in np.flatnonzero(heard | early).tolist():
            why = rows.why[row]
            if heard[row] and why == "leader heartbeat timeout":
                ago = _seconds(at.last[row] - log.first[row])
                text = f"begins an election {ago} after it last heard its leader"
                yield TimingRule.LEADER_HEARD, HEARTBEAT_TIMEOUT, row, text
            elif early[row] and any(error in why for error in _TIMER_ERRORS):
                ago = _seconds(at.last[row] - entered.first[row])
                text = f"{why}: {ago} after the state was entered"
                yield TimingRule.EARLY_ERROR, HEARTBEAT_TIMEOUT, row, text

    # --- messages that set a clock, as in `canvass.cluster.clocks` --------------------------------

    def _from_leader(self) -> Flags:
        """Mark messages after which a member waits a heartbeat timeout before it is a candidate."""
        rows = self.rows
        term = rows.message("leadership_term_id")
        said = rows.of(Action.ON_NEW_LEADERSHIP_TERM, Action.ON_COMMIT_POSITION)
        said &= term >= rows.before("module_leadership_term_id")
        if self.rules.is_hardened("HZ3"):
            canvasses = rows.had("election_state", "CANVASS")
            said &= ~canvasses | (term >= rows.before("candidate_term_id"))
        return said

    def _about_log(self) -> Flags:
        """Mark messages of a follower's leader, and the end of the follower's election."""
        rows = self.rows
        closed = rows.had("election_state", "CLOSED") & rows.had("role", "FOLLOWER")
        said = rows.of(Action.ON_NEW_LEADERSHIP_TERM, Action.ON_COMMIT_POSITION)
        said &= rows.message("leader_member_id") == rows.before("leader_member_id")
        said |= rows.of(Action.ON_TERMINATION_POSITION)
        term = rows.message("leadership_term_id") == rows.before("module_leadership_term_id")
        return np.asarray((said & closed & term) | rows.enters("CLOSED"))


class RunTiming:
    """Takes the events of a run, member by member; gives its warnings, and its free inputs.

    Parameters
    ----------
    run
        The contents of ``run.json``.

    Raises
    ------
    SettingFault
        If ``run.json`` names a timeout that is none.
    """

    def __init__(self, run: Run) -> None:
        self._rules, self._timeouts = run.rules, timeouts_of(run)
        self._imported = run.source.get("kind") == IMPORTED
        self._member = -1
        self._parts, self._sources = list[EventColumns](), list[Source | None]()
        self._first: dict[tuple[str, int, Action, str], TimingWarning] = {}
        self._choices: dict[str, list[int]] = {}

    def take(
        self, member: int, columns: EventColumns, sources: Sequence[Source | None] | None
    ) -> None:
        """Take the next events of a member, before any event of the next member."""
        if member != self._member:
            self.end()
        self._member = member
        self._parts.append(columns)
        self._sources += sources or [None] * (len(columns) - columns.context)

    def end(self) -> None:
        """Check the events of a member: it has no more."""
        if not self._parts:
            return
        rows = _Stream(join(self._parts), self._sources)
        self._parts, self._sources = [], []
        self._count(rows)
        times = _MemberTimes(self._rules, self._member, self._timeouts, self._imported, rows)
        for rule, setting, row, text in times.check():
            self._warn(rule, setting, int(rows.step[row]), ACTIONS[rows.action[row]], text)

    def _warn(self, rule: TimingRule, setting: str, step: int, action: Action, text: str) -> None:
        key = rule.value, self._member, action, setting
        first = self._first.get(key)
        if first is not None:
            self._first[key] = replace(first, count=first.count + 1)
            return
        self._first[key] = TimingWarning(
            rule=rule,
            member=self._member,
            step=step,
            action=action.value,
            text=text,
            setting=setting,
            timeout_ns=self._timeouts[setting],
        )

    def _count(self, rows: _Stream) -> None:
        """Count the inputs that the spec leaves free: shown or recorded, and inferred."""
        shown = rows.shown if self._imported else np.ones(len(rows), dtype=np.bool_)
        moves = rows.continues & (rows.before("election_state") != rows.after("election_state"))
        sets = rows.of(*_LEADS) & (not self._rules.is_149)
        for name, where, is_shown in (
            ("timeouts", rows.of(*_TIMED) & (rows.given("timeout") != 0) & moves, shown),
            ("elections begun", rows.of(Action.ENTER_ELECTION), shown),
            ("errors", rows.of(Action.ELECTION_ERROR), shown),
            ("active sets", sets, shown & (not self._imported)),
        ):
            count = self._choices.setdefault(name, [0, 0])
            count[0] += int(np.count_nonzero(where & is_shown))
            count[1] += int(np.count_nonzero(where & ~is_shown))

    # --- results ----------------------------------------------------------------------------------

    def choices(self) -> tuple[Choice, ...]:
        """Give the number of free inputs of each kind."""
        counts = self._choices.items()
        return tuple(Choice(name, *count) for name, count in counts if any(count))

    def warnings(self) -> tuple[TimingWarning, ...]:
        """Give the warnings by member and step."""
        return tuple(sorted(self._first.values(), key=lambda one: (one.member, one.step)))
