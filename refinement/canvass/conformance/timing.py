"""The timing monitor: do the times of a run agree with the inputs that the spec leaves free?

The spec is untimed. An expired deadline and the start of an election are inputs of a step, so a run
with any timing conforms. If ``run.json`` names a timeout, the monitor compares the inputs with the
member's own clock. If a member took a timeout as passed too early, the monitor gives a warning,
which is never part of the verdict. Clocks of different members are never compared.

A recorded event has its time and its inputs. In an imported run a step happened at some time
between the line before it and the line after it, and its inputs are inferred. So only what a line
shows is compared there: that a state was left at a deadline, and the reason of an election or of an
error. If the log prints no line for some receipts, a member may also have left a state because it
had heard all others: such a deadline is not compared. A warning is given only if no time in the
interval fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from canvass.cluster.member import ElectionState
from canvass.cluster.rules import Rules
from canvass.conformance.findings import Choice, TimingRule, TimingWarning
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import EventColumns, Ints, join
from canvass.traces.schema import INPUT_INDEX, MESSAGE_INDEX, STATE_ENUMS, STATE_INDEX, Run
from canvass.traces.timeouts import ELECTION, HEARTBEAT_TIMEOUT, STARTUP_CANVASS, timeouts_of

Flags = NDArray[np.bool_]

LOG_RESOLUTION_NS: Final = 1_000_000
"""A cluster's clock has milliseconds."""
_DRIFT: Final = 1_000
"""The clocks of cluster and log may differ by a thousandth, as a wall clock is slewed."""
_NEVER_NS: Final = -(1 << 61)
_ANY_NS: Final = 1 << 61
"""A time before all others, for an event that the process has not had; and one after all others."""
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
_ENDED_BY_ALL: Final = (Action.CANVASS, Action.CANDIDATE_BALLOT, Action.LEADER_READY)
"""Duty cycles that leave their state at a deadline, or before if all members have been heard."""
_LEADS: Final = (
    Action.LEADER_LOG_REPLICATION,
    Action.LEADER_REPLAY,
    Action.LEADER_READY,
    Action.UPDATE_LEADER_POSITION,
)


class _Stream:
    """The events of one member in order, with the line that each was imported from, if any."""

    def __init__(self, columns: EventColumns, *, imported: bool) -> None:
        self._columns = columns
        self.step, self.action = columns.step, columns.action
        self.continues = columns.predecessor >= 0
        sources = columns.sources or [None] * len(columns)
        self.shown = np.array([source is not None for source in sources], dtype=np.bool_)
        self.why = [source.reason if source else "" for source in sources]
        self.earliest, self.latest = columns.time_ns, columns.time_ns
        if imported:
            self._place()

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
    def receives(self) -> Flags:
        """Mark the steps that receive a message."""
        return np.asarray(self.message("peer") >= 0)

    @property
    def certain(self) -> Flags:
        """Mark the imported steps that could not have left their state without their timeout.

        If some receipts have no line, a member may have heard all others without a line.
        """
        if not np.any(self.receives & ~self.shown):
            return self.shown
        lost = self.of(Action.CANDIDATE_BALLOT) & self.enters("CANVASS")
        return np.asarray(self.shown & (lost | ~self.of(*_ENDED_BY_ALL)))

    @property
    def changes(self) -> Flags:
        """Mark the steps that enter an election state; a restart always does."""
        moved = self.before("election_state") != self.after("election_state")
        return np.asarray(moved | self.of(Action.RESTART))

    def enters(self, state: str) -> Flags:
        """Mark the steps that enter an election state."""
        own = STATE_ENUMS["election_state"].index(state)
        return np.asarray(self.changes & (self.after("election_state") == own))

    def _place(self) -> None:
        """Find for each imported step the interval in which the member read its clock."""
        rows = np.arange(len(self))
        upto = np.maximum.accumulate(np.where(self.shown, rows, -1))
        since = np.minimum.accumulate(np.where(self.shown, rows, len(rows))[::-1])[::-1]
        before, after = np.concatenate([[-1], upto[:-1]]), np.concatenate([since[1:], [len(rows)]])
        # A duty cycle reads the clock once the previous cycle has ended, and then polls messages.
        is_cycle = self.of(*_CYCLES)
        cycle = _last(is_cycle)
        before = np.where(is_cycle, np.where(cycle >= 0, upto[cycle], -1), before)
        time_ns = self._columns.time_ns
        times = np.concatenate([time_ns, [_ANY_NS, _NEVER_NS]])
        # A handler reads the clock after the line of the receipt; the line of a change comes later.
        receives = self.receives & ~self.changes
        self.earliest = np.where(self.shown & receives, time_ns, times[before])
        self.latest = np.where(self.shown & ~receives, time_ns, times[after])

    def since(self, where: Flags) -> Ints:
        """Give for each row the earliest time of the last event of a kind in the same process.

        Before missing steps the event may have been at any time.
        """
        place = _last(where | self.of(Action.RESTART) | ~self.continues)
        earliest = np.where(where, self.earliest, _NEVER_NS)
        return np.where(place >= 0, earliest[place], _NEVER_NS)

    def holds(self, begins: Flags, ends: Flags) -> Ints:
        """Give for each row whether something began before it and has not ended; -1: not known."""
        place = _last(begins | ends | ~self.continues)
        value = np.where(begins, 1, np.where(self.continues, 0, -1))
        return np.where(place >= 0, value[place], -1)


def _last(where: Flags) -> Ints:
    """Give for each row the last marked row before it, -1 for none."""
    upto = np.maximum.accumulate(np.where(where, np.arange(len(where)), -1))
    return np.concatenate([[-1], upto[:-1]])


_Found = Iterator[tuple[TimingRule, str, int, str]]
"""Warnings: the rule, the property of the timeout, the row, and what is wrong."""


@dataclass(frozen=True, slots=True)
class _MemberTimes:
    """The checks of the stream of one member; only timeouts that are given are compared."""

    rules: Rules
    timeouts: Mapping[str, int]
    imported: bool
    rows: _Stream

    def check(self) -> _Found:
        """Give what is wrong in the stream."""
        rows = self.rows
        entered = rows.since(rows.changes)
        restarts, enters = rows.of(Action.RESTART), rows.of(Action.ENTER_ELECTION)
        leaves = rows.changes & rows.had("election_state", "CANVASS")
        first = rows.holds(restarts, leaves | rows.enters("CLOSED"))
        in_order = enters & np.array(["eos=true" in why for why in rows.why], dtype=np.bool_)
        graceful = rows.holds(in_order, enters | restarts) == 1
        canvasses = rows.of(Action.CANVASS) & ~graceful
        ready = rows.of(Action.LEADER_READY) & self.rules.is_149
        timed = rows.given("timeout") != 0
        timed &= rows.certain & rows.changes if self.imported else ~graceful
        leader, early = rows.since(self._from_leader()), TimingRule.EARLY_TIMEOUT
        for where, since, setting, of in (
            (canvasses & (first == 1), entered, STARTUP_CANVASS, "it began to canvass"),
            (canvasses & (first == 0), leader, HEARTBEAT_TIMEOUT, "it last heard a leader"),
            (rows.of(*_BALLOTS), entered, ELECTION, "the ballot began"),
            (ready, entered, HEARTBEAT_TIMEOUT, "it was ready to lead"),
        ):
            for row, ago in self._early(where & timed, since, setting):
                yield early, setting, row, f"the timeout counts as passed {ago} after {of}"
        # A line may give the timeout as the reason of an election or an error.
        log = rows.since(self._about_log())
        for row, ago in self._early(enters, log, HEARTBEAT_TIMEOUT):
            if rows.why[row] == "leader heartbeat timeout":
                text = f"begins an election {ago} after it last heard its leader"
                yield TimingRule.LEADER_HEARD, HEARTBEAT_TIMEOUT, row, text
        for row, ago in self._early(rows.of(Action.ELECTION_ERROR), entered, HEARTBEAT_TIMEOUT):
            if any(error in rows.why[row] for error in _TIMER_ERRORS):
                text = f"{rows.why[row]}: {ago} after the state was entered"
                yield TimingRule.EARLY_ERROR, HEARTBEAT_TIMEOUT, row, text

    def _early(self, where: Flags, since: Ints, setting: str) -> Iterator[tuple[int, str]]:
        """Give the rows at which a timeout has not passed, whatever the exact times are."""
        if setting not in self.timeouts:
            return
        timeout_ns = self.timeouts[setting]
        slack_ns = LOG_RESOLUTION_NS + timeout_ns // _DRIFT if self.imported else 0
        passed_ns = self.rows.latest - since
        for row in np.flatnonzero(where & (passed_ns < timeout_ns - slack_ns)).tolist():
            yield row, f"{passed_ns[row] / 1e9:.3f} s"

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
        self._imported = run.is_imported
        self._parts = list[EventColumns]()
        self._first: dict[tuple[str, int, Action, str], TimingWarning] = {}
        self._choices: dict[str, list[int]] = {}

    def take(self, columns: EventColumns) -> None:
        """Take the next events of a member, before any event of the next member."""
        if self._parts and self._parts[0].member[0] != columns.member[0]:
            self.end()
        self._parts.append(columns)

    def end(self) -> None:
        """Check the events of a member: it has no more."""
        if not self._parts:
            return
        rows = _Stream(columns := join(self._parts), imported=self._imported)
        self._parts = []
        self._count(rows)
        times = _MemberTimes(self._rules, self._timeouts, self._imported, rows)
        for rule, setting, row, text in times.check():
            self._warn(rule, setting, columns, row, text)

    def _warn(
        self, rule: TimingRule, setting: str, columns: EventColumns, row: int, text: str
    ) -> None:
        member, action = int(columns.member[row]), ACTIONS[int(columns.action[row])]
        key = rule.value, member, action, setting
        first = self._first.get(key)
        if first is not None:
            self._first[key] = replace(first, count=first.count + 1)
            return
        self._first[key] = TimingWarning(
            rule=rule,
            member=member,
            step=int(columns.step[row]),
            action=action.value,
            text=text,
            setting=setting,
            timeout_ns=self._timeouts[setting],
        )

    def _count(self, rows: _Stream) -> None:
        """Count the inputs that the spec leaves free: shown or recorded, and inferred."""
        everything = np.ones(len(rows), dtype=np.bool_)
        shown, certain = (rows.shown, rows.certain) if self._imported else (everything, everything)
        moves = rows.continues & (rows.before("election_state") != rows.after("election_state"))
        sets = rows.of(*_LEADS) & (not self._rules.is_149)
        for name, where, is_shown in (
            ("timeouts", rows.of(*_TIMED) & (rows.given("timeout") != 0) & moves, certain),
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
