"""The deterministic simulator: whole members, virtual time, and one queue of events.

The members are those of `canvass run` (`canvass.node.node`). Processes, disks, network and clocks
are simulated. The options determine a run completely. A run has two phases. Faults occur until the
members have taken enough steps. Then the faults stop, and the cluster must recover: all members
that can start must follow one leader, every request must be answered, and all services must reach
one position with equal contents.

There is one exception: hardened against HZ3, a member whose candidate term is above the leader's
term stays out until the next election (``docs/findings/HZ3.md``). If nothing else is wrong, the
leader is restarted, and the member must join then. If it does not, the run is stuck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canvass.cluster import core
from canvass.cluster.duty_cycle import StepFunction, StepRecorder
from canvass.cluster.member import ElectionState, Member, Role
from canvass.cluster.predicates import is_closed, is_quorum
from canvass.simulation.cluster import DISK_BYTES, SimulatedCluster, SimulatedMember
from canvass.simulation.events import Events, Finding
from canvass.simulation.faults import FaultInjector
from canvass.simulation.options import FAULT_TIMEOUTS, LIVENESS_TIMEOUTS, Options


def _stays_out(s: Member, leader_term: int) -> bool:
    """Whether a member canvasses with a candidate term above the leader's term (hardening HZ3)."""
    canvasses = s.election_state is ElectionState.CANVASS
    return canvasses and s.candidate_term_id > leader_term >= 0


def _reason(s: Member, leader_term: int, highest_candidate_term: int) -> str:
    state: ElectionState = s.election_state
    name = str(state.value)
    match state:
        case ElectionState.LEADER_LOG_REPLICATION | ElectionState.LEADER_READY:
            return f"{name}: waits for followers without a deadline (L-A)"
        case ElectionState.FOLLOWER_REPLAY if s.notified_commit_position == 0:
            return f"{name}: waits for a commit position without a deadline (L-B)"
        case _ if s.commit_position > s.recorded_position:
            return f"{name}: has processed more than it has recorded (L-D)"
        case ElectionState.CANVASS if s.log_leadership_term_id > leader_term >= 0:
            return f"{name}: its log term is above the leader's, who does not answer (L-C)"
        case _ if _stays_out(s, leader_term):
            return f"{name}: its candidate term is above the leader's term (hardening HZ3)"
        case ElectionState.FOLLOWER_CATCHUP if s.recorded_position > s.commit_position:
            return f"{name}: has recorded more than it knows to be committed"
        case ElectionState.CLOSED:
            return f"serves as {s.role.value}"
        case _ if leader_term < 0 and s.candidate_term_id < highest_candidate_term:
            return f"{name}: others have a higher candidate term (L-E)"
        case _:
            return name


def reasons(members: Sequence[Member], *, storm: bool = False) -> tuple[str, ...]:
    """Give sentences: whether a leader serves; then each member's state, and a hazard that fits.

    Parameters
    ----------
    members
        The states at the time limit for recovery.
    storm
        Whether the members have taken more steps than any recovery needs.
    """
    led = max(
        (s.module_leadership_term_id for s in members if is_closed(s, Role.LEADER)), default=-1
    )
    serves = "a leader serves" if led >= 0 else "no leader serves"
    if storm:
        serves += ", in a storm of messages"
    leads = [s.leadership_term_id for s in members if s.role is Role.LEADER]
    term = led if led >= 0 else max(leads, default=-1)
    highest = max(s.candidate_term_id for s in members)
    return (
        serves,
        *(
            f"{i} in term {s.module_leadership_term_id}, log term {s.log_leadership_term_id}, "
            f"candidate term {s.candidate_term_id}, recorded {s.recorded_position}, "
            f"committed {s.commit_position}: {_reason(s, term, highest)}"
            for i, s in enumerate(members)
        ),
    )


_LIVENESS_STEPS: Final = 200_000
"""More steps after healing than this are a storm of messages."""
_LOOK_UNITS: Final = 10
"""The interval of checks for recovery, in thousandths of the heartbeat timeout."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run."""

    options: Options
    steps: int
    time_ns: int
    digest: str
    """A hash of every step with its time and positions, of the messages that services processed,
    and of the answers to clients."""
    counts: dict[str, int]
    """Elections won, requests answered, and how often each fault has occurred."""
    actions: dict[str, int]
    """How often each action was taken."""
    findings: tuple[Finding, ...]
    """The violated properties that no record shows, each once."""
    stuck: tuple[str, ...]
    """Where each member waits, if they did not follow one leader and agree after the faults; else
    empty."""
    left_out: tuple[str, ...]
    """The members that joined only after another election, because of hardening HZ3: see
    the module."""
    recovery_ns: int
    """The time from the end of the faults to the recovery, or -1."""


class Simulator:
    """One run of a cluster.

    Parameters
    ----------
    options
        The options of the run.
    recorders
        The recorders of the members, or none.
    step
        The protocol core.
    """

    def __init__(
        self,
        options: Options,
        recorders: Sequence[StepRecorder] = (),
        step: StepFunction = core.step,
    ) -> None:
        self.events = Events(options)
        self.cluster = SimulatedCluster(self.events, recorders, step)
        self.faults = FaultInjector(self.cluster)

    def run(self) -> RunResult:
        """Run both phases."""
        events, clients, options = self.events, self.cluster.clients, self.events.options
        self.faults.begin()
        clients.begin()
        limit_ns = FAULT_TIMEOUTS * options.timing.leader_heartbeat_timeout_ns
        while events.steps < options.steps and events.now_ns < limit_ns:
            events.happen()
        began_ns = events.now_ns
        self._heal()
        left_out: tuple[str, ...] = ()
        recovers = self._recovers()
        if not recovers:
            left_out = self._recovers_with_members_left_out()
            recovers = bool(left_out)
        recovery_ns = events.now_ns - began_ns if recovers else -1
        if recovers:
            self._compare()
        stuck = () if recovers else self._reasons()
        for member in self.cluster.members:
            member.recorder.flush()
        clients.check()
        events.counts["requests answered"] = sum(len(one) for one in clients.answers)
        return RunResult(
            options,
            events.steps,
            events.now_ns,
            events.digest,
            dict(sorted(events.counts.items())),
            dict(sorted(self.cluster.monitors.actions.items())),
            tuple(events.findings.values()),
            stuck,
            left_out,
            recovery_ns,
        )

    def _recovers_with_members_left_out(self) -> tuple[str, ...]:
        """If only hardening HZ3 keeps members out, restart the leader and wait again.

        Return sentences about these members; none if the cluster does not recover.
        """
        out, leader = self._kept_out(), self._leader()
        if not out or leader is None:
            return ()
        self.events.counts["elections that let members back in"] += 1
        self.cluster.crash(leader.id, "leader restarted")
        return out if self._recovers() else ()

    def _heal(self) -> None:
        cluster = self.cluster
        cluster.network.heal()
        self.faults.stop()
        cluster.clients.quiet = True
        for member in cluster.members:
            member.paused_until_ns, member.crash_after = 0, -1
            member.disk_is_slow = member.storage.sync_fails = False
            member.storage.fail_before = -1
            member.storage.capacity = DISK_BYTES
            cluster.start(member.id)
            cluster.wake(member.id, self.events.now_ns)

    def _recovers(self) -> bool:
        """Let events happen until the members agree. Return false after the time limit."""
        events, timing = self.events, self.events.options.timing
        limit_ns = events.now_ns + timing.startup_canvass_timeout_ns
        limit_ns += LIVENESS_TIMEOUTS * timing.leader_heartbeat_timeout_ns
        self._limit_steps = events.steps + _LIVENESS_STEPS
        period_ns = _LOOK_UNITS * events.options.unit_ns
        look_ns = events.now_ns
        while events.now_ns < limit_ns and events.steps < self._limit_steps:
            events.happen()
            if events.now_ns >= look_ns:
                look_ns = events.now_ns + period_ns
                self.faults.resume()
                if self._agree(self.cluster.members):
                    return True
        return False

    def _leader(self) -> SimulatedMember | None:
        leaders = [m for m in self.cluster.members if m.node is not None and m.node.leads]
        return max(leaders, key=lambda m: m.state.module_leadership_term_id, default=None)

    def _agree(self, members: list[SimulatedMember]) -> bool:
        """Whether every request is answered, and ``members`` follow one leader and agree."""
        leader = self._leader()
        if leader is None or not self.cluster.clients.are_answered:
            return False
        positions = set()
        for member in members:
            node, s = member.node, member.state
            if node is None or s.election_state is not ElectionState.CLOSED:
                return False
            if (s.role is Role.LEADER) is not (member is leader):
                return False
            if s.module_leadership_term_id != leader.state.module_leadership_term_id:
                return False
            positions |= {node.module.commit_position, node.archive.recording.end}
            positions |= {agent.log_position for agent in node.module.agents}
            if not all(service.is_quiet for service in member.services):
                return False
        return len(positions) == 1

    def _kept_out(self) -> tuple[str, ...]:
        """Sentences about the members that HZ3 keeps out; none if anything else is wrong."""
        leader, rules = self._leader(), self.events.options.rules
        if leader is None or not rules.is_hardened("HZ3"):
            return ()
        term = leader.state.module_leadership_term_id
        out = [member for member in self.cluster.members if _stays_out(member.state, term)]
        serving = [member for member in self.cluster.members if member not in out]
        if not is_quorum(len(serving), rules.member_count) or not self._agree(serving):
            return ()
        return tuple(
            f"member {member.id} stays out of term {term}: its candidate term is "
            f"{member.state.candidate_term_id} (hardening HZ3)"
            for member in out
        )

    def _compare(self) -> None:
        """Check that services have equal contents, and that requests were applied once."""
        found: dict[tuple[int, int], bytes] = {}
        for member in self.cluster.members:
            assert member.node is not None
            for number, service in enumerate(member.services):
                key = number, member.node.module.agents[number].log_position
                contents = service.on_take_snapshot()
                if found.setdefault(key, contents) != contents:
                    given = f"service {number} of {member.id} differs at {key[1]}"
                    self.events.find("StateMachineSafety", given)
                self.cluster.clients.check_count(service.value)

    def _reasons(self) -> tuple[str, ...]:
        members = self.cluster.members
        storm = self.events.steps >= self._limit_steps
        given = [*reasons([member.state for member in members], storm=storm)]
        given += self.cluster.clients.reasons()
        for member in members:
            if member.node is None:
                given.append(f"{member.id} is down")
            elif is_closed(member.state, Role.LEADER):
                module = member.node.module
                toggle, state = module.control.toggle.name, module.state.control_state.name
                given.append(f"the module of {member.id} is {state}, its toggle {toggle}")
        return tuple(given)
