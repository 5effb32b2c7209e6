"""The timing monitor: do the times of a run agree with the inputs that the spec leaves free?

The spec is untimed. An expired deadline, the set of active members and the start of an election are
inputs of a step, so a run with any timing conforms. If a run has times, the monitor compares each
of these inputs with the member's own clock. A contradiction is a warning, never part of the
verdict. Clocks of different members are never compared.

A recorded event has its time. In an imported run a step without a line lies between the lines
before and after it, and a step with lines may have read its clock at any time since the line
before. A warning is given only if no time in the interval fits, and if the spec does not allow the
step with an active set or a deadline that fits. The place of a step among the lines is inferred as
well: late deadlines and active sets are wrong only if they are wrong a heartbeat timeout earlier
and later, too. A member may receive messages without a line. So it counts as silent, and a leader
as not heard, only if the log prints the messages that would show the contrary.

Three checks use no clock: whether a follower's report was refused, whether the commit position of a
leader in its election falls, and (in `canvass.conformance.run_timing`) whether all members took the
snapshots that one took. The spec leaves these free as well.

`TimingRule` names the checks. `MemberTiming` makes them along the stream of one member.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.quorum import is_quorum
from canvass.cluster.rules import Rules
from canvass.cluster.timing import SLOW_TICK_NS
from canvass.conformance.member_times import (
    NEVER_NS,
    Interval,
    Latest,
    Rows,
    is_heard_throughout,
    rows_of_batch,
)
from canvass.conformance.verdict import TimingRule
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import EventColumns, Ints
from canvass.traces.schema import Source
from canvass.traces.timeouts import ELECTION, HEARTBEAT_TIMEOUT, STARTUP_CANVASS, TERMINATION

Flags = NDArray[np.bool_]


LOG_RESOLUTION_NS: Final = 1_000_000
"""A cluster's clock has milliseconds."""
_DRIFT: Final = 1_000
"""The clocks of cluster and log may differ by a thousandth, as a wall clock is slewed."""

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
GRACEFUL: Final = "graceful_closed_leader_id"
"""The field of the state with the leader whose log stream ended in good order."""
_HEARTBEAT_LOST: Final = "leader heartbeat timeout"
_QUORUM_LOST: Final = "inactive follower quorum"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A step whose input the times contradict.

    Attributes
    ----------
    step
        Of the member.
    setting
        The property of the timeout that was compared with, empty for none.
    instead
        For each input that the times allow, the values that differ from the input of the step:
        fields of the input, or `GRACEFUL`. If the spec allows the step with one of these inputs,
        the times contradict nothing. Empty if no input can explain the step.
    """

    rule: TimingRule
    member: int
    step: int
    action: Action
    setting: str
    text: str
    instead: tuple[dict[str, Any], ...] = ()


@dataclass(slots=True)
class MemberTiming:
    """Checks the stream of one member, batch by batch.

    Parameters
    ----------
    rules, member_id
        The rules and the member of the stream.
    timeouts
        Nanoseconds of each property.
    inferred
        Whether the run was imported: inputs are inferred then, and so are the times of steps that
        no line shows.
    """

    rules: Rules
    member_id: int
    timeouts: Mapping[str, int]
    inferred: bool
    _heard: list[Latest] = field(init=False)
    _acked: list[Latest] = field(init=False)
    _entered: Latest = field(default_factory=Latest)
    _leader: Latest = field(default_factory=Latest)
    _log: Latest = field(default_factory=Latest)
    _asked: Latest = field(default_factory=Latest)
    _first_canvass: Latest = field(default_factory=Latest)
    _in_order: Latest = field(default_factory=Latest)
    _held: list[Rows] = field(default_factory=list)
    _published: int = -1

    def __post_init__(self) -> None:
        members = range(self.rules.member_count)
        self._heard = [Latest() for _ in members]
        self._acked = [Latest() for _ in members]

    def take(
        self, columns: EventColumns, sources: Sequence[Source | None] | None
    ) -> Iterator[Doubt]:
        """Take the next events; give the doubts about them, or about earlier events."""
        self._held.append(rows_of_batch(columns, sources))
        if not self.inferred:
            yield from self._ask(self._held.pop())

    def end(self) -> Iterator[Doubt]:
        """Give the doubts about an imported stream, all lines of which are known now."""
        if self._held:
            yield from self._ask(Rows.joined(self._held))
            self._held = []

    # --- checks -----------------------------------------------------------------------------------

    def _ask(self, rows: Rows) -> Iterator[Doubt]:
        if not len(rows.step):
            return
        at = rows.intervals(inferred=self.inferred)
        restarts, unknown = rows.is_of(Action.RESTART), ~rows.continues
        entered = self._entered.before(rows.changes, at, restarts, unknown)
        first = self._first_canvass.flags(
            restarts, rows.leaves("CANVASS") | rows.enters("CLOSED"), unknown
        )
        leader = self._leader.before(self._from_leader(rows), at, restarts, unknown)
        log = self._log.before(self._about_log(rows), at, restarts, unknown)
        counted = self._counts_sender(rows)
        heard = [
            latest.upto(counted & (rows.peer == j), at, restarts, unknown)
            for j, latest in enumerate(self._heard)
        ]
        yield from self._early_timeouts(rows, at, entered, first, leader)
        cycles = rows.cycles(at) if self.inferred else at
        yield from self._late_timeouts(rows, cycles, entered, first, leader)
        yield from self._followers_that_stay(rows, cycles, log)
        yield from self._active_sets(rows, cycles, heard)
        yield from self._refused_reports(rows)
        yield from self._falling_commit_positions(rows)
        if self.inferred:
            yield from self._elections(rows, at, log, heard)
            yield from self._errors(rows, at, entered)
        else:
            yield from self._terminations(rows, at, restarts, unknown)

    def _slack_ns(self, timeout_ns: int) -> int:
        return LOG_RESOLUTION_NS + timeout_ns // _DRIFT if self.inferred else 0

    def _not_yet(self, at: Interval, since: Interval, timeout_ns: int) -> Flags:
        """Whether less than a timeout has passed, whatever the exact times are."""
        return at.last - since.first < timeout_ns - self._slack_ns(timeout_ns)

    def _passed(self, at: Interval, since: Interval, timeout_ns: int) -> Flags:
        """Whether a timeout has passed, whatever the exact times are."""
        margin_ns = self.timeouts[HEARTBEAT_TIMEOUT] if self.inferred else 0
        return at.first - since.last >= timeout_ns + self._slack_ns(timeout_ns) + margin_ns

    def _deadlines(
        self, rows: Rows, entered: Interval, first: Ints, leader: Interval
    ) -> Iterator[tuple[Flags, Interval, str, str]]:
        """Give the deadlines of election states: the rows that read each, and when each began."""
        canvasses = rows.is_of(Action.CANVASS)
        ballots = rows.is_of(Action.CANDIDATE_BALLOT, Action.FOLLOWER_BALLOT)
        ready = rows.is_of(Action.LEADER_READY) & self.rules.is_149
        yield canvasses & (first == 1), entered, STARTUP_CANVASS, "it began to canvass"
        yield canvasses & (first == 0), leader, HEARTBEAT_TIMEOUT, "it last heard a leader"
        yield ballots, entered, ELECTION, "the ballot began"
        yield ready, entered, HEARTBEAT_TIMEOUT, "it was ready to lead"

    def _early_timeouts(
        self, rows: Rows, at: Interval, entered: Interval, first: Ints, leader: Interval
    ) -> Iterator[Doubt]:
        """Check election steps that take a deadline for expired."""
        closed = [
            (row, "eos=true" in reason) for row, reason in rows.reasons(Action.ENTER_ELECTION)
        ]
        graceful = np.zeros(len(rows.step), dtype=np.bool_)
        graceful[[row for row, in_order in closed if in_order]] = True
        began = rows.is_of(Action.ENTER_ELECTION, Action.RESTART)
        in_order = self._in_order.flags(graceful, began, ~rows.continues)
        for where, since, setting, of in self._deadlines(rows, entered, first, leader):
            early = where & rows.timeout & self._not_yet(at, since, self.timeouts[setting])
            for row in np.flatnonzero(early).tolist():
                others: list[dict[str, Any]] = [{"timeout": False}]
                if in_order[row] == 1:
                    # Whether the leader closed in good order is inferred.
                    others += [
                        {"timeout": False, GRACEFUL: j} for j in range(self.rules.member_count)
                    ]
                yield self._doubt(
                    TimingRule.EARLY_TIMEOUT, rows, row, setting,
                    f"takes the timeout for passed {at.most(since, row)} after {of}",
                    tuple(others),
                )  # fmt: skip

    def _late_timeouts(
        self, rows: Rows, at: Interval, entered: Interval, first: Ints, leader: Interval
    ) -> Iterator[Doubt]:
        """Check election steps that take a deadline for not expired."""
        for where, since, setting, of in self._deadlines(rows, entered, first, leader):
            if since is leader and not self._shows_leaders(rows):
                continue
            late = where & ~rows.timeout & self._passed(at, since, self.timeouts[setting])
            for row in np.flatnonzero(late).tolist():
                yield self._doubt(
                    TimingRule.LATE_TIMEOUT, rows, row, setting,
                    f"takes the timeout for open {at.least(since, row)} after {of}",
                    ({"timeout": True},),
                )  # fmt: skip
        late = rows.is_of(Action.NOMINATE) & ~rows.timeout
        late &= self._passed(at, entered, max(1, self.timeouts[ELECTION] // 2))
        for row in np.flatnonzero(late).tolist():
            yield self._doubt(
                TimingRule.LATE_TIMEOUT, rows, row, ELECTION,
                f"still nominates {at.least(entered, row)} after it began, which takes half of the"
                " timeout at most",
                ({"timeout": True},),
            )  # fmt: skip

    def _active_sets(self, rows: Rows, at: Interval, heard: list[Interval]) -> Iterator[Doubt]:
        """Check the active sets: a leader counts the members that it heard of within the timeout.

        For an imported run the spec is asked about each set between the members that must be active
        and those that may be: a difference need not matter to the step. An import may take several
        duty cycles between two lines where the member took one, so only the last is checked. Cycles
        of a leader that waits for a quorum are not checked: an import adds them, to send in them.
        """
        if self.rules.is_149:
            return  # All members are counted there.
        reads = rows.is_of(
            Action.LEADER_LOG_REPLICATION, Action.LEADER_REPLAY, Action.LEADER_READY,
            Action.UPDATE_LEADER_POSITION,
        )  # fmt: skip
        if self.inferred:
            reads &= ~rows.is_of(Action.LEADER_LOG_REPLICATION) | rows.changes
            reads &= rows.last_cycles
        timeout_ns = self.timeouts[HEARTBEAT_TIMEOUT]
        others = [j for j in range(self.rules.member_count) if j != self.member_id]
        sure = not self.inferred or rows.prints(Action.ON_APPEND_POSITION)
        silences = {j: self._passed(at, heard[j], timeout_ns) & sure for j in others}
        if self.inferred:
            hearings = {j: self._hears_throughout(rows, at, j, timeout_ns) for j in others}
            later = {j: self._hears_soon(rows, at, j, timeout_ns) for j in others}
            silences = {j: silences[j] & ~later[j] for j in others}
        else:
            hearings = {j: self._not_yet(at, heard[j], timeout_ns) for j in others}
        never = np.zeros(len(rows.step), dtype=np.bool_)

        def instead(row: int) -> tuple[dict[str, Any], ...]:
            if not self.inferred:
                return ()
            may = [j for j in range(self.rules.member_count) if not silences.get(j, never)[row]]
            must = {j for j in others if hearings[j][row]}
            return tuple(
                {"active": frozenset(chosen)}
                for size in range(len(may) + 1)
                for chosen in combinations(may, size)
                if must <= set(chosen)
            )

        for j, since in ((j, heard[j]) for j in others):
            counted = (rows.active >> j & 1) == 1
            silent = reads & counted & silences[j]
            for row in np.flatnonzero(silent).tolist():
                of = f"last heard of {at.least(since, row)} before"
                if int(since.last[row]) == NEVER_NS:
                    of = "not heard of since the start"
                yield self._doubt(
                    TimingRule.SILENT_COUNTED, rows, row, HEARTBEAT_TIMEOUT,
                    f"counts member {j} as active, {of}",
                    instead(row),
                )  # fmt: skip
            left_out = reads & ~counted & hearings[j]
            for row in np.flatnonzero(left_out).tolist():
                yield self._doubt(
                    TimingRule.HEARD_LEFT_OUT, rows, row, HEARTBEAT_TIMEOUT,
                    f"leaves out member {j}, last heard of {at.most(since, row)} before",
                    instead(row),
                )  # fmt: skip

    def _heard_of(self, rows: Rows, j: int) -> Flags:
        return np.asarray(self._counts_sender(rows) & (rows.peer == j))

    def _hears_throughout(self, rows: Rows, at: Interval, j: int, timeout_ns: int) -> Flags:
        """Mark the rows at which a member is active, and was and stays active for a timeout."""
        heard = rows.time_ns[self._heard_of(rows, j) & rows.shown]
        forgets = rows.time_ns[rows.is_of(Action.RESTART) | ~rows.continues]
        least_ns = timeout_ns - self._slack_ns(timeout_ns)
        first, last = at.first - timeout_ns, at.last + timeout_ns
        return is_heard_throughout(np.sort(heard), np.sort(forgets), first, last, least_ns)

    def _hears_soon(self, rows: Rows, at: Interval, j: int, margin_ns: int) -> Flags:
        """Mark the rows after which a member is heard of within a margin."""
        heard = np.sort(rows.time_ns[self._heard_of(rows, j) | ~rows.continues])
        place = np.searchsorted(heard, at.first)
        following = np.concatenate([heard, [-NEVER_NS]])[place]
        return np.asarray(following <= at.last + margin_ns)

    def _elections(
        self, rows: Rows, at: Interval, log: Interval, heard: list[Interval]
    ) -> Iterator[Doubt]:
        """Check elections whose reason is a timeout; other reasons depend on no clock."""
        timeout_ns = self.timeouts[HEARTBEAT_TIMEOUT]
        lost = self._not_yet(at, log, timeout_ns)
        for row, reason in rows.reasons(Action.ENTER_ELECTION):
            if reason == _HEARTBEAT_LOST and lost[row]:
                yield self._doubt(
                    TimingRule.LEADER_HEARD, rows, row, HEARTBEAT_TIMEOUT,
                    f"begins an election {at.most(log, row)} after it last heard its leader",
                )  # fmt: skip
            if reason != _QUORUM_LOST:
                continue
            active = [
                j
                for j, since in enumerate(heard)
                if j != self.member_id and self._not_yet(at, since, timeout_ns)[row]
            ]
            if is_quorum(len(active) + 1, self.rules.member_count):
                yield self._doubt(
                    TimingRule.QUORUM_HEARD, rows, row, HEARTBEAT_TIMEOUT,
                    "steps down for want of a quorum, though it just heard of members"
                    f" {', '.join(map(str, active))}",
                )  # fmt: skip

    def _errors(self, rows: Rows, at: Interval, entered: Interval) -> Iterator[Doubt]:
        early = self._not_yet(at, entered, self.timeouts[HEARTBEAT_TIMEOUT])
        for row, reason in rows.reasons(Action.ELECTION_ERROR):
            if early[row] and any(error in reason for error in _TIMER_ERRORS):
                yield self._doubt(
                    TimingRule.EARLY_ERROR, rows, row, HEARTBEAT_TIMEOUT,
                    f"{reason}: {at.most(entered, row)} after the state was entered",
                )  # fmt: skip

    def _followers_that_stay(self, rows: Rows, at: Interval, log: Interval) -> Iterator[Doubt]:
        """Check followers that report their position: the slow tick before looks for the leader."""
        if not self._shows_leaders(rows):
            return
        stays = rows.is_of(Action.UPDATE_FOLLOWER_POSITION) & (rows.termination_position == -1)
        since = log.later(SLOW_TICK_NS)
        for row in np.flatnonzero(
            stays & self._passed(at, since, self.timeouts[HEARTBEAT_TIMEOUT])
        ).tolist():
            yield self._doubt(
                TimingRule.LATE_TIMEOUT, rows, row, HEARTBEAT_TIMEOUT,
                f"still follows {at.least(log, row)} after it last heard its leader",
            )  # fmt: skip

    def _terminations(
        self, rows: Rows, at: Interval, restarts: Flags, unknown: Flags
    ) -> Iterator[Doubt]:
        asked = self._asked.before(rows.is_of(Action.INITIATE_TERMINATION), at, restarts, unknown)
        acks = rows.is_of(Action.ON_TERMINATION_ACK) & (rows.message_term == rows.module_term)
        acked = [
            latest.before(acks & (rows.peer == j), at, restarts, unknown)
            for j, latest in enumerate(self._acked)
        ]
        ends = rows.is_of(Action.TERMINATE) & rows.had("role", "LEADER")
        ends &= self._not_yet(at, asked, self.timeouts[TERMINATION])
        for row in np.flatnonzero(ends).tolist():
            missing = [
                j
                for j, each in enumerate(acked)
                if j != self.member_id and each.last[row] < asked.first[row]
            ]
            if missing:
                yield self._doubt(
                    TimingRule.EARLY_TERMINATION, rows, row, TERMINATION,
                    f"ends {at.most(asked, row)} after it asked the members to, without the"
                    f" acknowledgement of {', '.join(map(str, missing))}",
                )  # fmt: skip

    def _refused_reports(self, rows: Rows) -> Iterator[Doubt]:
        """Check followers that end a copy beyond the commit position that they know.

        This is possible if the leader's publication refused the report of the last position.
        """
        ends = rows.is_of(Action.FOLLOWER_LOG_REPLICATION) & rows.leaves("FOLLOWER_LOG_REPLICATION")
        ends &= rows.log_replication & ~rows.interval
        ends &= rows.notified_commit_position < rows.recorded_position
        for row in np.flatnonzero(ends & (rows.append_position < rows.recorded_position)).tolist():
            yield self._doubt(
                TimingRule.REPORT_REFUSED, rows, row, "",
                f"ends its copy at {rows.recorded_position[row]}, of which it knows"
                f" {rows.notified_commit_position[row]} to be committed: its report was refused",
            )  # fmt: skip

    def _falling_commit_positions(self, rows: Rows) -> Iterator[Doubt]:
        """Check that a recorded leader in its election sends no lower commit position, as in Aeron.

        In an imported run the times of messages that nobody received are inferred.
        """
        if self.inferred:
            return
        begins = rows.enters("INIT") | rows.enters("CANVASS") | ~rows.continues
        sends = rows.is_of(Action.LEADER_LOG_REPLICATION, Action.LEADER_REPLAY)
        sends &= rows.sent_commit >= 0
        for row in np.flatnonzero(begins | sends).tolist():
            sent = int(rows.sent_commit[row])
            if not sends[row]:
                self._published = -1
            elif sent < self._published:
                yield self._doubt(
                    TimingRule.COMMIT_POSITION_FELL, rows, row, "",
                    f"sends commit position {sent} after {self._published}",
                )  # fmt: skip
            self._published = max(self._published, sent)

    def _shows_leaders(self, rows: Rows) -> bool:
        """Whether the stream shows all messages of a leader."""
        kinds = (Action.ON_NEW_LEADERSHIP_TERM, Action.ON_COMMIT_POSITION)
        return not self.inferred or all(rows.prints(kind) for kind in kinds)

    def _doubt(
        self,
        rule: TimingRule,
        rows: Rows,
        row: int,
        setting: str,
        text: str,
        instead: tuple[dict[str, Any], ...] = (),
    ) -> Doubt:
        action = ACTIONS[int(rows.action[row])]
        return Doubt(rule, self.member_id, int(rows.step[row]), action, setting, text, instead)

    # --- messages that set a clock, as in `canvass.cluster.clocks` --------------------------------

    def _from_leader(self, rows: Rows) -> Flags:
        """Mark messages after which a member waits a heartbeat timeout before it is a candidate."""
        said = rows.is_of(Action.ON_NEW_LEADERSHIP_TERM, Action.ON_COMMIT_POSITION)
        said = said & (rows.message_term >= rows.module_term)
        if self.rules.is_hardened("HZ3"):
            said &= ~rows.had("election_state", "CANVASS") | (
                rows.message_term >= rows.candidate_term
            )
        return said

    def _about_log(self, rows: Rows) -> Flags:
        """Mark messages of a follower's leader, and the end of the follower's election."""
        closed = rows.had("election_state", "CLOSED") & rows.had("role", "FOLLOWER")
        said = rows.is_of(Action.ON_NEW_LEADERSHIP_TERM, Action.ON_COMMIT_POSITION)
        said &= rows.message_leader == rows.leader
        said |= rows.is_of(Action.ON_TERMINATION_POSITION)
        ours = said & closed & (rows.message_term == rows.module_term)
        return np.asarray(ours | rows.enters("CLOSED"))

    def _counts_sender(self, rows: Rows) -> Flags:
        """Mark messages after which their sender counts as active."""
        closed = rows.had("election_state", "CLOSED")
        leads = closed & rows.had("role", "LEADER")
        elects = ~closed & ~rows.had("election_state", "INIT")
        canvass = rows.is_of(Action.ON_CANVASS_POSITION)
        noted = leads & (rows.message_log_term <= rows.module_term) & (not self.rules.is_149)
        append = rows.is_of(Action.ON_APPEND_POSITION)
        term = np.where(elects, rows.leadership_term, rows.module_term)
        vote = rows.is_of(Action.ON_VOTE) & rows.had("election_state", "CANDIDATE_BALLOT")
        vote &= (rows.message_candidate_term == rows.candidate_term) & (
            rows.message_candidate == self.member_id
        )
        known = (elects | leads) & rows.had("module_state", "ACTIVE")
        counted: Flags = known & (
            (canvass & (elects | noted)) | (append & (rows.message_term <= term)) | (vote & elects)
        )
        return counted
