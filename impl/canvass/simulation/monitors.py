"""The monitors of a simulated cluster: safety, repeated messages, and services."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from canvass.archive.recording import Recording
from canvass.cluster.effects import Send
from canvass.cluster.member import ElectionState, Input, Member, ModuleState, Role
from canvass.cluster.messages import AppendPosition, CanvassPosition, CommitPosition, Message
from canvass.cluster.outcome import Outcome
from canvass.cluster.timing import Timing
from canvass.cluster.transitions import persistent_member
from canvass.simulation.events import Events
from canvass.simulation.log_contents import EntryLog
from canvass.simulation.safety_monitor import SafetyMonitor, Violation

_CANVASSING: Final = (ElectionState.CANVASS, ElectionState.NOMINATE)


class HeartbeatMonitor:
    """Checks that each member repeats its messages in time.

    The spec is untimed, so it always allows a member to be silent. Only a clock can find a silent
    member. The monitor checks at the end of each duty cycle, so not during a pause.
    """

    def __init__(self, timing: Timing, count: int) -> None:
        self._timing, self._count = timing, count
        self._since_ns = [0] * count

    def step(self, i: int, now_ns: int, before: Member, outcome: Outcome) -> None:
        """Note a step of member ``i`` if it changes the state or sends the message that is due."""
        after = outcome.next
        if after.election_state is not before.election_state or after.role is not before.role:
            self._since_ns[i] = now_ns
            return
        due = self._due(after)
        if due is not None and any(
            isinstance(effect, Send) and isinstance(effect.message, due[0])
            for effect in outcome.effects
        ):
            self._since_ns[i] = now_ns

    def late(self, i: int, now_ns: int, s: Member) -> str:
        """A sentence if member ``i`` has not sent its message in time by the end of a cycle."""
        due = self._due(s)
        if due is None or now_ns < self._since_ns[i] + due[1]:
            return ""
        return f"{i} in {s.election_state.value} has sent no {due[0].__name__} for an interval"

    def _due(self, s: Member) -> tuple[type[Message], int] | None:
        """The message that a member must repeat in its state, and the interval; None if none."""
        if self._count == 1 or s.module_state is not ModuleState.ACTIVE:
            return None
        if s.election_state in _CANVASSING:
            return CanvassPosition, self._timing.election_status_interval_ns
        if s.election_state is ElectionState.CLOSED:
            said = CommitPosition if s.role is Role.LEADER else AppendPosition
            return said, self._timing.leader_heartbeat_interval_ns
        return None


class Monitors:
    """All monitors of one run.

    Attributes
    ----------
    actions
        How often each action was taken.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        options = events.options
        count = options.member_count
        self.actions: Counter[str] = Counter()
        self._processed: dict[tuple[int, int], bytes] = {}
        self._logs = [EntryLog() for _ in range(count)]
        """The recorded log of each member."""
        self._states = [persistent_member(options.rules) for _ in range(count)]
        self._safety = SafetyMonitor(
            options.rules, self._logs.__getitem__, EntryLog(), self._states
        )
        self._heartbeats = HeartbeatMonitor(options.timing, count)

    def _report(self, violations: Sequence[Violation]) -> None:
        for name, violation in violations:
            self._events.find(name, violation)

    def look(
        self, i: int, action: str, x: Input, before: Member, outcome: Outcome, recording: Recording
    ) -> None:
        """Check safety after a step and its effects."""
        events, after = self._events, outcome.next
        events.steps += 1
        self.actions[action] += 1
        self._states[i] = after
        reached = x.position, after.recorded_position, after.commit_position
        events.hash(repr((events.now_ns, i, action, *reached)).encode())
        log = self._logs[i]
        if log.end != after.recorded_position or action == "Restart":
            log.follow(recording, after.recorded_position)
        known = len(self._safety.committed)
        self._report(self._safety.step(i, action, before, outcome))
        self._heartbeats.step(i, events.now_ns, before, outcome)
        events.counts["entries committed"] += len(self._safety.committed) - known
        if after.election_state is ElectionState.CLOSED is not before.election_state:
            events.counts["elections closed"] += 1
            events.counts["elections won"] += after.role is Role.LEADER

    def look_at_cycle(self, i: int, s: Member) -> None:
        """Check the repeated messages of member ``i`` at the end of a duty cycle."""
        lateness = self._heartbeats.late(i, self._events.now_ns, s)
        if lateness:
            self._events.find("PositionIsRepeated", lateness)

    def look_at_restart(self, i: int, found: Member, recording: Recording) -> None:
        """Check the data that member ``i`` finds on its disk."""
        self._logs[i].follow(recording, recording.end)
        self._report(self._safety.restart(i, self._states[i], found))

    def look_at_restored(self, i: int, found: Member, recording: Recording) -> None:
        """Check the data that an operator has put on a new disk of member ``i``."""
        self._states[i] = found
        self._logs[i].follow(recording, recording.end)
        self._report(self._safety.restored(i, found))

    def look_at_message(self, service: int, position: int, payload: bytes) -> None:
        """Check that all members' services process the same message at a position."""
        first = self._processed.setdefault((service, position), payload)
        self._events.hash(f"{self._events.now_ns} {service} {position}".encode() + payload)
        if first != payload:
            violation = f"services process different messages at {position}"
            self._events.find("StateMachineSafety", violation)
