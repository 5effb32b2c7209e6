"""Whole simulated clusters, with the logs that Aeron's logging agent would write for them.

A run of `canvass.simulation` is watched step by step. This module writes what each member would
have logged, in the order and with the fields that captured logs show. It keeps the steps that the
members took as the truth. Nothing here reads a log.

Simulated faults without a counterpart in Aeron are left out. Aeron's transport drops no single
message, so only cuts lose messages between members. No member loses its disk for good. The revision
has no hardenings.

A simulated leader that shuts the cluster down sends the termination position some milliseconds
after it has appended the request for a snapshot. Aeron's leader sends it at once, so the lines of
that request are written when the position is sent. A member whose module is TERMINATING keeps this
state when it enters an election. This follows from Aeron's source, as do the places of `rollback`
lines: no captured log shows them.

Messages that a cut loses are lost for good here, but Aeron's connection repeats them when a short
cut ends. So if a cut in one direction ends before the receiver has missed its leader, the importer
rightly reports that lines are missing (seed 7009 of `cut-logs`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from canvass.cluster import effects
from canvass.cluster.clocks import MILLISECOND_NS, SECOND_NS, Timing
from canvass.cluster.effects import Outcome
from canvass.cluster.member import NO_INPUT, ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.node.module_state import ControlToggle, ModuleControlState
from canvass.simulation.cluster import SimulatedCluster
from canvass.simulation.events import Monitors
from canvass.simulation.options import PROFILES, Faults, Options, rng_of
from canvass.simulation.simulator import RunResult, Simulator
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import ClusterEvent, LogRecord, ProcessStart
from canvass.traces.alignment.member_lines import NODE_STARTED
from canvass.traces.recorder import RunRecorder
from canvass.traces.schema import Run

CAPTURED: Final = Timing(
    startup_canvass_timeout_ns=5 * SECOND_NS,
    election_timeout_ns=SECOND_NS,
    election_status_interval_ns=100 * MILLISECOND_NS,
    leader_heartbeat_timeout_ns=2 * SECOND_NS,
    leader_heartbeat_interval_ns=200 * MILLISECOND_NS,
    termination_timeout_ns=10 * SECOND_NS,
)
"""The timeouts with which the captured logs were made."""
DEFAULTS: Final = replace(
    CAPTURED, leader_heartbeat_timeout_ns=10 * SECOND_NS, startup_canvass_timeout_ns=60 * SECOND_NS
)
"""Aeron's default timeouts."""

LINE_NS: Final = 200
"""The least time between two lines that a member writes without a pause."""
_WALL_MS: Final = 1_767_000_000_000
_ORIGIN_NS: Final = 1_000 * SECOND_NS
_STREAM_ENDED: Final = "log recording stopped: eos=true"


@dataclass(frozen=True)
class Taken:
    """A step that a member took."""

    time: int
    action: str
    given: Input
    state: Member
    sender: int
    number: int
    sends: tuple[tuple[int, Message], ...]
    first: int


@dataclass(frozen=True)
class _Seen:
    """A step as the simulator saw it after it was taken, and the module's state at that time."""

    action: str
    outcome: Outcome
    control: ModuleControlState | None
    toggle: ControlToggle | None


class _Keeper:
    """Keeps the steps of a member in memory."""

    def __init__(self) -> None:
        self.steps: list[Taken] = []
        self._numbers = 0

    def record(
        self,
        time_ns: int,
        action: str,
        state: Member,
        *,
        inputs: Input = NO_INPUT,
        sender: int = NULL_VALUE,
        number: int = NULL_VALUE,
        sends: Sequence[tuple[int, Message]] = (),
        log_checksums: Sequence[tuple[int, int]] = (),
    ) -> int:
        """See `canvass.cluster.duty_cycle.StepRecorder`."""
        del log_checksums
        first = self._numbers
        self._numbers += len(sends)
        taken = Taken(time_ns, action, inputs, state, sender, number, tuple(sends), first)
        self.steps.append(taken)
        return first


class _Watched(Monitors):
    """Monitors that keep the steps that they look at."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        super().__init__(cluster.events)
        self._cluster = cluster
        self.seen: list[deque[_Seen]] = [deque() for _ in cluster.members]

    def look(self, i: int, action: str, x: Input, before: Member, outcome: Outcome) -> None:
        """Keep the step, and look at it."""
        node = self._cluster.members[i].node
        module = None if node is None else node.module
        self.seen[i].append(
            _Seen(
                action,
                outcome,
                None if module is None else module.state.control_state,
                None if module is None else module.control.toggle,
            )
        )
        super().look(i, action, x, before, outcome)


@dataclass
class SimulatedLogs:
    """A simulated run and its logs.

    Parameters
    ----------
    options, result
        The options and the result of the run.
    steps
        The steps that each member took.
    lines
        The lines that each member logged.
    """

    options: Options
    result: RunResult
    steps: dict[int, list[Taken]]
    lines: dict[int, list[LogRecord]]
    lost: list[LogRecord] = field(default_factory=list)
    """The lines that were lost by kills."""


def calm(options: Options) -> Options:
    """The cluster has no faults."""
    return replace(options, faults=Faults())


def pauses(options: Options) -> Options:
    """Members pause, for more and for less than the heartbeat timeout of a leader."""
    return replace(options, faults=Faults(pause_mean=600))


def partitions(options: Options) -> Options:
    """Links are cut in all possible ways."""
    kinds = ("isolate", "split", "one way")
    return replace(options, faults=Faults(cut_mean=1_000, cut_kinds=kinds))


def kills(options: Options) -> Options:
    """Processes and machines end and start again."""
    faults = Faults(crash_mean=1_000, crash_within_probability=0.5, power_mean=4_000)
    return replace(options, faults=faults)


def operators(options: Options) -> Options:
    """Snapshots, suspensions, and ends of the cluster, with kills between them."""
    faults = Faults(operator_mean=600, termination_mean=5_000, crash_mean=3_000)
    return replace(options, faults=faults)


STORIES: Final = {
    "calm": calm,
    "pauses": pauses,
    "partitions": partitions,
    "kills": kills,
    "operators": operators,
    **PROFILES,
}
"""The faults of a cluster by name: the simulator's profiles, and some of one kind of fault."""


def options_of(story: str, seed: int, count: int = 3, steps: int = 3_000) -> Options:
    """The options of a run, on the clocks of a real cluster and on a transport like Aeron's."""
    found = STORIES[story](Options(seed, count, "1.50", steps))
    faults = replace(found.faults, drop_probability=0.0)
    timing = DEFAULTS if rng_of(seed, "clocks").random() < 0.2 else CAPTURED
    return replace(found, faults=faults, timing=timing)


def simulate(options: Options, *, lost_ns: int = 0) -> SimulatedLogs:
    """Run a cluster, and write its logs.

    Parameters
    ----------
    options
        The options of the run.
    lost_ns
        A kill loses at most the lines of this many last nanoseconds.
    """
    keepers = [_Keeper() for _ in range(options.member_count)]
    simulator = Simulator(options, keepers)
    watched = simulator.cluster.monitors = _Watched(simulator.cluster)
    result = simulator.run()
    logs = SimulatedLogs(options, result, {}, {})
    for i, keeper in enumerate(keepers):
        writer = _Writer(i, options, lost_ns)
        writer.write(keeper.steps, watched.seen[i])
        logs.steps[i], logs.lines[i] = keeper.steps, writer.lines
        logs.lost += writer.lost
    return logs


def _enters_or_leaves_init(taken: Taken, before: Member) -> bool:
    """Whether a step begins an election, or leaves INIT."""
    old, new = before.election_state, taken.state.election_state
    begins = old is ElectionState.CLOSED is not new
    return begins or (old is ElectionState.INIT is not new)


def _join_printed(old: str, before: Member, shown: Member) -> Member:
    """The state whose catch-up position is printed with a change of the election state.

    INIT and CANVASS reset the position only after the line is printed.
    """
    forgets = shown.election_state in (ElectionState.INIT, ElectionState.CANVASS)
    return before if forgets and old != "INIT" else shown


def record_truth(options: Options, folder: Path) -> None:
    """Record a simulated run with its true steps, for the checker."""
    run = Run.of(options.rules, "simulated", {"kind": "simulation"})
    with RunRecorder(folder, run, flush=False) as recorder:
        Simulator(options, [recorder.member(i) for i in range(options.member_count)]).run()


class _Writer:
    """Writes the log of one member."""

    def __init__(self, i: int, options: Options, lost_ns: int) -> None:
        self._id, self._options, self._lost_ns = i, options, lost_ns
        self._rng = rng_of(options.seed, f"lines {i}")
        self.lines: list[LogRecord] = []
        self.lost: list[LogRecord] = []
        self._time = 0
        self._module = "INIT"
        self._acks = 0
        self._ended = True
        self._held: list[tuple[type[ClusterEvent], tuple[Any, ...], dict[str, Any]]] | None = None

    def write(self, steps: Sequence[Taken], seen: deque[_Seen]) -> None:
        """Write the lines of all steps."""
        before: Member | None = None
        for taken in steps:
            known = None
            if seen and seen[0].action == taken.action and seen[0].outcome.next is taken.state:
                known = seen.popleft()
            self._time = max(self._time, _ORIGIN_NS + taken.time)
            self._step(taken, before, known)
            before = taken.state
        assert not seen, "each step that was seen was recorded"

    def _log(self, kind: type[ClusterEvent | ProcessStart], *values: Any, **named: Any) -> None:
        if self._held is not None and issubclass(kind, records.StateChange | records.ServiceAck):
            self._held.append((kind, values, named))
            return
        self._time += LINE_NS
        if kind is not ProcessStart:
            values = (self._id, *values)
        self.lines.append(kind(0, len(self.lines) + 1, self._time, *values, **named))

    # Steps.

    def _step(self, taken: Taken, before: Member | None, seen: _Seen | None) -> None:
        if taken.action == "Restart":
            self._end_shutdown(is_sent=False)
            self._start(taken.state)
            return
        assert before is not None
        after, message = taken.state, taken.given.message
        if message is not None:
            self._receive(message)
        if taken.action == "OnReplayNewLeadershipTermEvent":
            self._replayed(taken.given, before)
        if taken.action == "Terminate":
            self._terminate(before)
            return
        if before.election_state is ElectionState.CLOSED is not after.election_state:
            self._end_shutdown(is_sent=False)
        self._acknowledge(after, seen)
        self._module_changes(taken, before, seen)
        if taken.action == "InitiateTermination":
            self._end_shutdown(is_sent=True)
        if before.role is not after.role:
            self._log(records.RoleChange, before.role.value, after.role.value, "")
        if after.recorded_position < before.recorded_position:
            self._cut(before, after)
        self._election(taken, before, seen)

    def _start(self, after: Member) -> None:
        if not self._ended:
            self._kill()
        wall = _WALL_MS + self._time // MILLISECOND_NS
        self._log(ProcessStart, wall, ())
        self._acks, self._module, self._ended = 0, "INIT", False
        position = after.snapshot_log_position
        self._ack(position, 40)
        self._new_election(after, NODE_STARTED)
        if after.role is not Role.FOLLOWER:
            self._log(records.RoleChange, Role.FOLLOWER.value, after.role.value, "")
        self._change("INIT", after, after, after, "")
        self._state("ACTIVE", "started")

    def _kill(self) -> None:
        """Remove the last lines of a process that was killed."""
        since = self._last_time() - self._rng.randint(0, self._lost_ns)
        while self._lost_ns and len(self.lines) > 1 and self.lines[-1].time_ns > since:
            if isinstance(self.lines[-1], ProcessStart):
                return
            self.lost.append(self.lines.pop())

    def _last_time(self) -> int:
        return self.lines[-1].time_ns if self.lines else 0

    def _receive(self, message: Message) -> None:
        kind = getattr(records, type(message).__name__)
        values = {
            "sender_member_id" if name == "member_id" else name: getattr(message, name)
            for name in message.__struct_fields__
        }
        for name in kind.__struct_fields__[4:]:
            values.setdefault(name, "" if name == "catchup_endpoint" else 0)
        self._log(kind, **values)

    def _replayed(self, given: Input, before: Member) -> None:
        self._log(
            records.ReplayNewLeadershipTerm,
            before.election_state is not ElectionState.CLOSED,
            given.leadership_term_id,
            given.position,
            given.term_base_log_position,
            1,
            0,
            "MILLISECONDS",
        )

    def _cut(self, before: Member, after: Member) -> None:
        self._log(
            records.TruncateLogEntry,
            before.election_state.value,
            before.log_leadership_term_id,
            before.leadership_term_id,
            before.candidate_term_id,
            before.commit_position,
            before.commit_position,
            before.append_position,
            before.append_position,
            after.recorded_position,
        )

    # Elections.

    def _election(self, taken: Taken, before: Member, seen: _Seen | None) -> None:
        after = taken.state
        old, new = before.election_state, after.election_state
        if old is new:
            return
        if old is ElectionState.CLOSED:
            self._new_election(after, self._reason(taken, before))
            self._roll_back(seen)
            self._change("INIT", after, after, after, "")
            return
        if old is ElectionState.INIT:
            self._roll_back(seen)
        if old is ElectionState.FOLLOWER_LOG_REPLICATION and new is ElectionState.CANVASS:
            self._replication_ended(before, after)
        shown = before if new is ElectionState.CLOSED else after
        reason = "error" if taken.action == "ElectionError" else ""
        join = _join_printed(old.value, before, shown)
        self._change(old.value, after, shown, join, reason)

    def _reason(self, taken: Taken, before: Member) -> str:
        if taken.given.message is not None:
            return f"unexpected {type(taken.given.message).__name__}"
        if taken.given.graceful_closed_leader_id != NULL_VALUE:
            return _STREAM_ENDED
        leads = before.role is Role.LEADER
        return "inactive follower quorum" if leads else "leader heartbeat timeout"

    def _new_election(self, after: Member, reason: str) -> None:
        self._log(
            records.NewElection,
            after.log_leadership_term_id,
            after.commit_position,
            after.append_position,
            reason,
        )

    def _change(self, old: str, after: Member, shown: Member, join: Member, reason: str) -> None:
        self._log(
            records.ElectionStateChange,
            old,
            after.election_state.value,
            after.leader_member_id,
            shown.candidate_term_id,
            shown.leadership_term_id,
            after.commit_position,
            shown.log_leadership_term_id,
            shown.append_position,
            join.catchup_join_position,
            reason,
        )

    def _replication_ended(self, before: Member, after: Member) -> None:
        if before.log_replication:
            position = after.append_position
            channel = "aeron:udp?endpoint=127.0.0.1:29001"
            self._log(records.ReplicationEnded, "ELECTION", channel, 0, 0, position, False)

    # The module and its services.

    def _state(self, new: str, reason: str) -> None:
        self._log(records.StateChange, self._module, new, reason)
        self._module = new

    def _ack(self, position: int, relevant_id: int) -> None:
        for service in range(self._options.service_count):
            self._log(
                records.ServiceAck, position, 0, "MILLISECONDS", self._acks, relevant_id, service
            )
        self._acks += 1

    def _acknowledge(self, after: Member, seen: _Seen | None) -> None:
        """Write the services' acknowledgements in a step that waits for them."""
        for effect in () if seen is None else seen.outcome.effects:
            match effect:
                case effects.JoinLog(position) | effects.StartReplay(position, _):
                    self._ack(position, NULL_VALUE)
                case effects.WriteSnapshot():
                    self._ack(after.snapshot_log_position, 7)
                case _:
                    pass

    def _module_changes(self, taken: Taken, before: Member, seen: _Seen | None) -> None:
        new = self._control(seen)
        if new == self._module or seen is None or _enters_or_leaves_init(taken, before):
            return
        if taken.action == "TakeSnapshot":
            ends = new == "TERMINATING"
            self._state(new, "null != clusterTermination" if ends else "snapshot complete")
        elif taken.action != "ConsumeLog":
            toggle = "" if seen.toggle is None else seen.toggle.name
            if seen.toggle is ControlToggle.SHUTDOWN and taken.action != "InitiateTermination":
                self._held = []
            self._state(new, f"ClusterControl.{toggle}")
        else:
            self._state(new, f"ReplayClusterAction.{new}")

    def _end_shutdown(self, *, is_sent: bool) -> None:
        """Write the lines that wait for the termination position, or discard them."""
        held, self._held = self._held, None
        for kind, values, named in held or ():
            if is_sent:
                self._log(kind, *values, **named)
        if held and not is_sent:
            self._module = "ACTIVE"

    def _control(self, seen: _Seen | None) -> str:
        """The state of Aeron's module after a step; TERMINATING stays."""
        if seen is None or seen.control is None or self._module == "TERMINATING":
            return self._module
        return seen.control.name

    def _roll_back(self, seen: _Seen | None) -> None:
        """Write the state change with which INIT undoes appends that may never be committed."""
        new = self._control(seen)
        if new != self._module:
            self._state(new, "rollback")

    def _terminate(self, before: Member) -> None:
        position = before.termination_position
        if self._module != "TERMINATING":
            self._state("TERMINATING", f"terminationPosition={position}")
        self._ack(position, NULL_VALUE)
        self._state("CLOSED", "expected termination")
        self._ended = True
        assert before.module_state is ModuleState.ACTIVE
