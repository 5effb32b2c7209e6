"""A member that does not send in time what its state has to repeat is reported, and no other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from canvass.cluster.clocks import Timing
from canvass.cluster.effects import Outcome, Send
from canvass.cluster.member import ElectionState, Member, ModuleState, Role
from canvass.cluster.messages import AppendPosition, CanvassPosition, CommitPosition, Message
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.simulation.events import HeartbeatMonitor

TIMING = Timing()
CANVASS_NS = TIMING.election_status_interval_ns
HEARTBEAT_NS = TIMING.leader_heartbeat_interval_ns


def member(state: ElectionState, role: Role = Role.FOLLOWER) -> Member:
    found = persistent_member(Rules.of("hardened", 3))
    return replace(found, module_state=ModuleState.ACTIVE, election_state=state, role=role)


CASES = (
    (member(ElectionState.CANVASS), CanvassPosition(0, 0, 0, 1), CANVASS_NS),
    (member(ElectionState.NOMINATE), CanvassPosition(0, 0, 0, 1), CANVASS_NS),
    (member(ElectionState.CLOSED), AppendPosition(0, 0, 1, 0), HEARTBEAT_NS),
    (member(ElectionState.CLOSED, Role.LEADER), CommitPosition(0, 0, 1), HEARTBEAT_NS),
)


@pytest.mark.parametrize(("s", "message", "interval_ns"), CASES)
def test_silence_for_an_interval_is_reported(s: Member, message: Message, interval_ns: int) -> None:
    monitor = HeartbeatMonitor(TIMING, 3)
    monitor.step(1, 1_000, s, Outcome(s, (Send(0, message),)))

    assert monitor.late(1, 1_000 + interval_ns - 1, s) == ""
    assert type(message).__name__ in monitor.late(1, 1_000 + interval_ns, s)


@pytest.mark.parametrize(("s", "message", "interval_ns"), CASES)
def test_another_message_or_none_is_no_repetition(
    s: Member, message: Message, interval_ns: int
) -> None:
    monitor = HeartbeatMonitor(TIMING, 3)
    monitor.step(1, 0, s, Outcome(s, (Send(0, message),)))
    others = [m for _, m, _ in CASES if type(m) is not type(message)]
    for other in others:
        monitor.step(1, interval_ns - 1, s, Outcome(s, (Send(0, other),)))

    assert monitor.late(1, interval_ns, s)


def test_an_interval_begins_with_the_state() -> None:
    monitor = HeartbeatMonitor(TIMING, 3)
    canvass, nominate = member(ElectionState.CANVASS), member(ElectionState.NOMINATE)
    monitor.step(1, 5 * CANVASS_NS, canvass, Outcome(nominate))

    assert monitor.late(1, 6 * CANVASS_NS - 1, nominate) == ""
    assert monitor.late(1, 6 * CANVASS_NS, nominate)


def test_a_member_alone_and_one_that_has_nothing_to_repeat_are_never_late() -> None:
    canvass, ballot = member(ElectionState.CANVASS), member(ElectionState.CANDIDATE_BALLOT)

    assert HeartbeatMonitor(TIMING, 1).late(0, 9 * HEARTBEAT_NS, canvass) == ""
    assert HeartbeatMonitor(TIMING, 3).late(1, 9 * HEARTBEAT_NS, ballot) == ""
