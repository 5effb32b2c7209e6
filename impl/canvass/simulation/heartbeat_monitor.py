"""Heartbeat monitor: does each member repeat its messages in time?

The spec is untimed, so a step that sends nothing is always allowed. Only a clock can find a silent
member. The monitor looks at the end of each duty cycle of a running process, after a pause or a
slow disk has ended.
"""

from __future__ import annotations

from typing import Final

from canvass.cluster.effects import Send
from canvass.cluster.member import ElectionState, Member, ModuleState, Role
from canvass.cluster.messages import AppendPosition, CanvassPosition, CommitPosition, Message
from canvass.cluster.outcome import Outcome
from canvass.cluster.timing import Timing

_CANVASSING: Final = (ElectionState.CANVASS, ElectionState.NOMINATE)


class HeartbeatMonitor:
    """Keeps the time of the last repeated message of each member."""

    def __init__(self, timing: Timing, count: int) -> None:
        self._timing, self._count = timing, count
        self._since_ns = [0] * count

    def step(self, i: int, now_ns: int, before: Member, outcome: Outcome) -> None:
        """Take note of a step of member ``i``: it changes its state, or says what is due."""
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
        """Say what member ``i`` has not said in time, at the end of a cycle; or nothing."""
        due = self._due(s)
        if due is None or now_ns < self._since_ns[i] + due[1]:
            return ""
        return f"{i} in {s.election_state.value} has sent no {due[0].__name__} for an interval"

    def _due(self, s: Member) -> tuple[type[Message], int] | None:
        """What the state of a member has to repeat, and how often."""
        if self._count == 1 or s.module_state is not ModuleState.ACTIVE:
            return None
        if s.election_state in _CANVASSING:
            return CanvassPosition, self._timing.election_status_interval_ns
        if s.election_state is ElectionState.CLOSED:
            said = CommitPosition if s.role is Role.LEADER else AppendPosition
            return said, self._timing.leader_heartbeat_interval_ns
        return None
