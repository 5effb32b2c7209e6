"""The checks of the timing monitor one by one, on a few events of member 0 of three members."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pytest

from canvass.cluster.rules import Rules
from canvass.conformance import timing
from canvass.conformance.member_times import Rows
from canvass.conformance.timing import GRACEFUL, Doubt, MemberTiming
from canvass.conformance.verdict import TimingRule
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.layout import STATE_ENUMS
from canvass.traces.timeouts import ELECTION, HEARTBEAT_TIMEOUT, STARTUP_CANVASS, TERMINATION

_S: Final = 1_000_000_000
TIMEOUTS: Final = {
    ELECTION: 1 * _S,
    HEARTBEAT_TIMEOUT: 10 * _S,
    STARTUP_CANVASS: 60 * _S,
    TERMINATION: 5 * _S,
}
CELLS: Final = {
    "timeout": False,
    "active": 0,
    "peer": -1,
    "message_term": -1,
    "message_log_term": -1,
    "message_leader": -1,
    "message_candidate": -1,
    "message_candidate_term": -1,
    "module_term": 0,
    "leadership_term": 0,
    "candidate_term": 0,
    "leader": -1,
    "termination_position": -1,
    "interval": False,
    "recorded_position": 0,
    "append_position": 0,
    "notified_commit_position": 0,
    "log_replication": False,
    "sent_commit": -1,
    "why": "",
    "shown": True,
    "continues": True,
}
"""The columns of `Rows` that an event may give, with the value of an event that does not."""


@dataclass(frozen=True)
class Event:
    """An event, its second, the state after it, and columns of `Rows`."""

    action: Action
    second: float
    state: str = "CANVASS"
    role: str = "FOLLOWER"
    module: str = "ACTIVE"
    cells: dict[str, Any] = field(default_factory=dict)

    @property
    def kept(self) -> list[int]:
        named = {"module_state": self.module, "role": self.role, "election_state": self.state}
        return [STATE_ENUMS[column].index(name) for column, name in named.items()]


def event(action: Action, second: float, state: str = "CANVASS", **cells: Any) -> Event:
    names = {name: cells.pop(name) for name in ("role", "module") if name in cells}
    return Event(action, second, state, cells=cells, **names)


START: Final = event(Action.RESTART, 0, "INIT")


def rows_of(events: list[Event]) -> Rows:
    states = np.array([one.kept for one in [events[0], *events]])
    columns = {
        name: np.array([one.cells.get(name, value) for one in events])
        for name, value in CELLS.items()
    }
    return Rows(
        step=np.arange(len(events)),
        time_ns=np.array([round(one.second * _S) for one in events]),
        action=np.array([ACTIONS.index(one.action) for one in events]),
        old=states[:-1],
        new=states[1:],
        **columns,
    )


def doubts_of(
    events: list[Event], revision: str = "1.50", *, imported: bool = False
) -> list[Doubt]:
    member = MemberTiming(Rules.of(revision), 0, TIMEOUTS, imported)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "rows_of_batch", lambda rows, _: rows)
        rows: Any = rows_of(events)
        at_once = list(member.take(rows, None))
    later = list(member.end())
    assert not (at_once if imported else later)
    return at_once + later


def found(events: list[Event], revision: str = "1.50", *, imported: bool = False) -> list[str]:
    """The rules of the doubts about the last event."""
    doubts = doubts_of(events, revision, imported=imported)
    return [one.rule.name for one in doubts if one.step == len(events) - 1]


EARLY, LATE = TimingRule.EARLY_TIMEOUT.name, TimingRule.LATE_TIMEOUT.name


# --- deadlines ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "state", "timeout_s", "revision"),
    [
        (Action.CANVASS, "CANVASS", 60, "1.50"),
        (Action.CANDIDATE_BALLOT, "CANDIDATE_BALLOT", 1, "1.50"),
        (Action.FOLLOWER_BALLOT, "FOLLOWER_BALLOT", 1, "1.50"),
        (Action.LEADER_READY, "LEADER_READY", 10, "1.49"),
    ],
)
def test_a_deadline_expires_a_timeout_after_the_state_was_entered(
    action: Action, state: str, timeout_s: int, revision: str
) -> None:
    def at(elapsed_s: float, *, timeout: bool) -> list[str]:
        enters = event(Action.ELECTION_INIT, 1, state)
        reads = event(action, 1 + elapsed_s, state, timeout=timeout)
        return found([START, enters, reads], revision)

    assert at(timeout_s - 0.1, timeout=True) == [EARLY]
    assert at(timeout_s - 0.1, timeout=False) == []
    assert at(timeout_s, timeout=True) == []
    assert at(timeout_s, timeout=False) == [LATE]


def test_a_leader_that_is_ready_has_no_deadline_since_revision_1_50() -> None:
    enters = event(Action.ELECTION_INIT, 1, "LEADER_READY", role="LEADER")
    reads = event(Action.LEADER_READY, 1.5, "LEADER_READY", role="LEADER", timeout=True)

    assert found([START, enters, reads]) == []


def test_a_nomination_takes_half_of_the_election_timeout_at_most() -> None:
    def at(elapsed_s: float, *, timeout: bool) -> list[str]:
        enters = event(Action.CANVASS, 1, "NOMINATE")
        return found([START, enters, event(Action.NOMINATE, 1 + elapsed_s, timeout=timeout)])

    assert at(0.4, timeout=False) == []
    assert at(0.5, timeout=False) == [LATE]
    assert at(0.5, timeout=True) == []


CANVASSES_AGAIN: Final = [
    START,
    event(Action.ELECTION_INIT, 1, "CANVASS"),
    event(Action.CANVASS, 2, "NOMINATE"),
    event(Action.NOMINATE, 3, "CANVASS"),
]


@pytest.mark.parametrize("says", [Action.ON_NEW_LEADERSHIP_TERM, Action.ON_COMMIT_POSITION])
def test_a_later_canvass_ends_a_heartbeat_timeout_after_the_leader_was_heard(says: Action) -> None:
    def at(elapsed_s: float, *, timeout: bool, term: int = 0, **cells: Any) -> list[str]:
        hears = event(says, 4, peer=1, message_term=term, **cells)
        reads = event(Action.CANVASS, 4 + elapsed_s, timeout=timeout)
        return found([*CANVASSES_AGAIN, hears, reads])

    assert at(9.9, timeout=True) == [EARLY]
    assert at(9.9, timeout=False) == []
    assert at(10, timeout=True) == []
    assert at(10, timeout=False) == [LATE]
    assert at(9.9, timeout=True, term=-1) == []
    assert at(9.9, timeout=True, candidate_term=5) == [EARLY]


def test_hardened_members_that_canvass_hear_no_leader_of_a_term_below_their_candidate_term() -> (
    None
):
    def after(message_term: int) -> list[str]:
        hears = event(
            Action.ON_COMMIT_POSITION, 4, peer=1, message_term=message_term, candidate_term=5
        )
        return found([*CANVASSES_AGAIN, hears, event(Action.CANVASS, 5, timeout=True)], "hardened")

    assert after(4) == []
    assert after(5) == [EARLY]


def test_another_leader_may_have_closed_in_good_order_only_if_the_log_says_that_one_did() -> None:
    def instead(reason: str) -> tuple[dict[str, Any], ...]:
        closes = event(Action.ENTER_ELECTION, 4, "INIT", why=reason)
        reads = event(Action.CANVASS, 6, timeout=True)
        hears = event(Action.ON_COMMIT_POSITION, 5.5, peer=1, message_term=0)
        init = event(Action.ELECTION_INIT, 5, "CANVASS")
        events = [*CANVASSES_AGAIN, event(Action.CANVASS, 3.5, "CLOSED"), closes, init, hears]
        (doubt,) = (one for one in doubts_of([*events, reads]) if one.rule.name == EARLY)
        return doubt.instead

    assert instead("log disconnected, eos=false") == ({"timeout": False},)
    assert instead("log disconnected, eos=true") == (
        {"timeout": False},
        *({"timeout": False, GRACEFUL: member} for member in range(3)),
    )


def test_a_follower_that_hears_its_leader_or_is_asked_to_terminate_may_stay() -> None:
    def after(action: Action, *, termination: int = -1, **cells: Any) -> list[str]:
        closes = event(Action.FOLLOWER_READY, 1, "CLOSED")
        hears = event(action, 8, "CLOSED", peer=1, message_term=0, leader=1, **cells)
        stays = event(
            Action.UPDATE_FOLLOWER_POSITION, 13, "CLOSED", termination_position=termination
        )
        return found([START, closes, hears, stays])

    assert after(Action.ON_COMMIT_POSITION, message_leader=1) == []
    assert after(Action.ON_NEW_LEADERSHIP_TERM, message_leader=1) == []
    assert after(Action.ON_TERMINATION_POSITION) == []
    assert after(Action.ON_COMMIT_POSITION, message_leader=2) == [LATE]
    assert after(Action.ON_COMMIT_POSITION, message_leader=2, termination=96) == []
    assert after(Action.ON_COMMIT_POSITION, message_leader=1, module_term=1) == [LATE]


@pytest.mark.parametrize(
    ("action", "state"),
    [(Action.CANVASS, "CANVASS"), (Action.UPDATE_FOLLOWER_POSITION, "CLOSED")],
)
def test_no_leader_is_silent_in_a_log_that_does_not_print_its_messages(
    action: Action, state: str
) -> None:
    def after(*shown: Action) -> list[str]:
        hears = [event(each, 4, peer=1, message_term=0, message_leader=9) for each in shown]
        closes = event(Action.FOLLOWER_READY, 5, state)
        cycles = [event(action, second, state) for second in (50, 99)]
        return found([*CANVASSES_AGAIN, *hears, closes, *cycles], imported=True)

    assert after(Action.ON_NEW_LEADERSHIP_TERM, Action.ON_COMMIT_POSITION) == [LATE]
    assert after(Action.ON_NEW_LEADERSHIP_TERM) == []
    assert after(Action.ON_COMMIT_POSITION) == []


# --- active sets ----------------------------------------------------------------------------------

SILENT, LEFT_OUT = TimingRule.SILENT_COUNTED.name, TimingRule.HEARD_LEFT_OUT.name
LEADS: Final = [START, event(Action.LEADER_READY, 1, "CLOSED", role="LEADER")]
STANDS: Final = [START, event(Action.NOMINATE, 1, "CANDIDATE_BALLOT")]


def sets_after(events: list[Event], hears: Event, revision: str = "1.50") -> list[str]:
    """Give the doubts about an active set without members 1 and 2, a second after a message."""
    reads = Event(
        Action.UPDATE_LEADER_POSITION, hears.second + 1, hears.state, hears.role, hears.module
    )
    return found([*events, hears, reads], revision)


def test_a_leader_counts_a_member_for_a_heartbeat_timeout() -> None:
    def at(elapsed_s: float, active: int) -> list[str]:
        state = {"state": "CLOSED", "role": "LEADER"}
        hears = event(Action.ON_APPEND_POSITION, 5, peer=1, message_term=0, **state)
        reads = event(Action.UPDATE_LEADER_POSITION, 5 + elapsed_s, active=active, **state)
        return found([*LEADS, hears, reads])

    assert at(9.9, 0b001) == [LEFT_OUT]
    assert at(9.9, 0b011) == []
    assert at(10, 0b001) == []
    assert at(10, 0b011) == [SILENT]
    assert at(1, 0b111) == [SILENT]


@pytest.mark.parametrize(
    ("action", "cells", "counts"),
    [
        (Action.ON_APPEND_POSITION, {"message_term": 0}, True),
        (Action.ON_APPEND_POSITION, {"message_term": 1}, False),
        (Action.ON_APPEND_POSITION, {"message_term": 0, "module": "CLOSED"}, False),
        (Action.ON_APPEND_POSITION, {"message_term": 0, "role": "FOLLOWER"}, False),
        (Action.ON_CANVASS_POSITION, {"message_log_term": 0}, True),
        (Action.ON_CANVASS_POSITION, {"message_log_term": 1}, False),
        (Action.ON_VOTE, {"message_candidate": 0, "message_candidate_term": 0}, False),
        (Action.ON_COMMIT_POSITION, {"message_term": 0}, False),
    ],
)
def test_a_leader_counts_the_senders_of_reports_and_canvasses(
    action: Action, cells: dict[str, Any], counts: bool
) -> None:
    state = {"state": "CLOSED", "role": "LEADER"} | cells
    known = {name: state[name] for name in ("role", "module") if name in state}
    before = event(Action.LEADER_READY, 2, "CLOSED", **known)
    hears = event(action, 5, peer=1, **state)

    assert sets_after([*LEADS, before], hears) == ([LEFT_OUT] if counts else [])
    assert sets_after([*LEADS, before], hears, "1.49") == []


@pytest.mark.parametrize(
    ("action", "cells", "counts"),
    [
        (Action.ON_CANVASS_POSITION, {"message_log_term": 7}, True),
        (Action.ON_APPEND_POSITION, {"message_term": 3, "leadership_term": 3}, True),
        (Action.ON_APPEND_POSITION, {"message_term": 4, "leadership_term": 3}, False),
        (Action.ON_VOTE, {"message_candidate": 0, "message_candidate_term": 0}, True),
        (Action.ON_VOTE, {"message_candidate": 1, "message_candidate_term": 0}, False),
        (Action.ON_VOTE, {"message_candidate": 0, "message_candidate_term": 1}, False),
    ],
)
def test_a_candidate_counts_the_senders_of_its_votes_too(
    action: Action, cells: dict[str, Any], counts: bool
) -> None:
    hears = event(action, 5, "CANDIDATE_BALLOT", peer=1, **cells)

    assert sets_after(STANDS, hears) == ([LEFT_OUT] if counts else [])


def test_a_member_in_init_counts_nobody_and_a_vote_counts_in_a_ballot_only() -> None:
    init = [START, event(Action.ENTER_ELECTION, 1, "INIT")]
    canvasses = [START, event(Action.ELECTION_INIT, 1, "CANVASS")]
    canvass = event(Action.ON_CANVASS_POSITION, 5, "INIT", peer=1)
    vote = event(
        Action.ON_VOTE, 5, "CANVASS", peer=1, message_candidate=0, message_candidate_term=0
    )

    assert sets_after(init, canvass) == []
    assert sets_after(canvasses, vote) == []


def test_each_recorded_cycle_that_reads_an_active_set_is_checked_and_no_other_step() -> None:
    def step(action: Action, second: float) -> Event:
        cells = {"active": 0b111, "shown": False}
        return event(action, second, "CLOSED", role="LEADER", **cells)

    cycles = [step(Action.UPDATE_LEADER_POSITION, second) for second in (3, 4)]

    doubts = doubts_of([*LEADS, step(Action.APPEND_ENTRY, 2), *cycles])

    assert [(one.rule.name, one.step) for one in doubts] == [
        (SILENT, step) for _member in (1, 2) for step in (3, 4)
    ]


def captured_set(
    *,
    by: Action = Action.ON_APPEND_POSITION,
    cycle: Action = Action.UPDATE_LEADER_POSITION,
    then: str = "CLOSED",
    late: float = 0,
) -> list[Doubt]:
    """Give the doubts about a cycle at second 30 that counts all members, in a captured log.

    Parameters
    ----------
    by
        The messages of member 1, every other second.
    cycle, then
        The cycle and the state after it.
    late
        A second at which member 2 is heard of, or 0 for none.
    """
    state = "LEADER_LOG_REPLICATION" if cycle is Action.LEADER_LOG_REPLICATION else "CLOSED"
    lead = {"role": "LEADER"}
    cells = {"message_term": 0, "message_log_term": 0}
    heard = [(second, 1) for second in range(3, 60, 2)] + [(late, 2)] * (late > 0)
    events = [event(by, second, state, peer=peer, **lead, **cells) for second, peer in heard]
    # The cycles before and after show when the cycle began.
    events += [
        event(Action.UPDATE_LEADER_POSITION, second, state, active=0b011, **lead)
        for second in (29.5, 30.5)
    ]
    events.sort(key=lambda one: one.second)
    place = sum(one.second < 30 for one in events)
    events[place:] = [
        Event(one.action, one.second, then, one.role, one.module, one.cells)
        for one in events[place:]
    ]
    events.insert(place, event(cycle, 30, then, active=0b111, **lead))
    start = [START, event(Action.NOMINATE, 1, state, **lead)]
    return doubts_of([*start, *events], imported=True)


def test_a_captured_cycle_counts_the_members_heard_of_all_the_time_and_may_count_itself() -> None:
    (doubt,) = captured_set()

    assert (doubt.rule.name, doubt.action) == (SILENT, Action.UPDATE_LEADER_POSITION)
    assert doubt.instead == ({"active": frozenset({1})}, {"active": frozenset({0, 1})})


def test_a_member_that_a_captured_leader_hears_of_soon_after_is_not_silent() -> None:
    assert captured_set(late=36) == []
    assert len(captured_set(late=58)) == 1


def test_no_member_is_silent_in_a_log_that_prints_no_reports() -> None:
    assert captured_set(by=Action.ON_CANVASS_POSITION) == []


def test_a_captured_leader_that_waits_for_a_quorum_is_checked_when_it_has_one() -> None:
    cycle = Action.LEADER_LOG_REPLICATION

    assert captured_set(cycle=cycle, then="LEADER_LOG_REPLICATION") == []
    assert len(captured_set(cycle=cycle, then="LEADER_REPLAY")) == 1


# --- terminations, errors and elections -----------------------------------------------------------


def test_a_leader_terminates_after_a_timeout_or_with_all_acknowledgements() -> None:
    def at(second: float, *acks: tuple[int, int], role: str = "LEADER") -> list[str]:
        state = {"state": "CLOSED", "role": role}
        events = [START, event(Action.LEADER_READY, 1, **state)]
        events.append(event(Action.INITIATE_TERMINATION, 2, **state))
        events += [
            event(Action.ON_TERMINATION_ACK, 3, peer=peer, message_term=term, **state)
            for peer, term in acks
        ]
        doubts = doubts_of([*events, event(Action.TERMINATE, second, **state)])
        return [one.text.rpartition(" of ")[2] for one in doubts]

    assert at(6.9) == ["1, 2"]
    assert at(6.9, (1, 0)) == ["2"]
    assert at(6.9, (1, 0), (2, 1)) == ["2"]
    assert at(6.9, (1, 0), (2, 0)) == []
    assert at(7) == []
    assert at(6.9, role="FOLLOWER") == []


@pytest.mark.parametrize(
    ("reason", "second", "expected"),
    [
        ("WARN - failed to join live log", 5, ["EARLY_ERROR"]),
        ("WARN - failed to join live log", 12, []),
        ("ERROR - unexpected close", 5, []),
    ],
)
def test_an_error_that_a_timer_raises_comes_a_heartbeat_timeout_after_the_state_was_entered(
    reason: str, second: float, expected: list[str]
) -> None:
    begins = event(Action.ELECTION_INIT, 0.5, "CANVASS")
    enters = event(Action.CANVASS, 1, "FOLLOWER_LOG_AWAIT")
    fails = event(Action.ELECTION_ERROR, second, "INIT", why=reason)

    assert found([START, begins, enters, fails], imported=True) == expected


@pytest.mark.parametrize(
    ("action", "peer", "revision", "expected"),
    [
        (Action.ON_APPEND_POSITION, 1, "1.50", ["QUORUM_HEARD"]),
        (Action.ON_APPEND_POSITION, 0, "1.50", []),
        (Action.ON_CANVASS_POSITION, 1, "1.50", ["QUORUM_HEARD"]),
        (Action.ON_CANVASS_POSITION, 1, "1.49", []),
    ],
)
def test_a_leader_that_lacks_a_quorum_has_heard_of_too_few_members(
    action: Action, peer: int, revision: str, expected: list[str]
) -> None:
    cells = {"peer": peer, "message_term": 0, "message_log_term": 0}
    hears = event(action, 5, "CLOSED", role="LEADER", **cells)
    ends = event(Action.ENTER_ELECTION, 6, "INIT", why="inactive follower quorum")
    fails = event(Action.ENTER_ELECTION, 6, "INIT", why="log disconnected")

    assert found([*LEADS, hears, ends], revision, imported=True) == expected
    assert found([*LEADS, hears, fails], revision, imported=True) == []


def test_an_election_for_want_of_a_leader_begins_a_heartbeat_timeout_after_it_was_heard() -> None:
    def at(second: float, reason: str) -> list[str]:
        closes = event(Action.FOLLOWER_READY, 1, "CLOSED", leader=1)
        cells = {"peer": 1, "leader": 1, "message_leader": 1, "message_term": 0}
        hears = event(Action.ON_COMMIT_POSITION, 5, "CLOSED", **cells)
        ends = event(Action.ENTER_ELECTION, second, "INIT", why=reason)
        return found([START, closes, hears, ends], imported=True)

    assert at(14, "leader heartbeat timeout") == ["LEADER_HEARD"]
    assert at(15, "leader heartbeat timeout") == []
    assert at(14, "log disconnected") == []


# --- positions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ["REPORT_REFUSED"]),
        ({"interval": True}, []),
        ({"log_replication": False}, []),
        ({"notified_commit_position": 96}, []),
        ({"append_position": 96}, []),
    ],
)
def test_a_report_is_refused_if_a_copy_ends_beyond_the_known_and_the_reported_position(
    changed: dict[str, Any], expected: list[str]
) -> None:
    cells = {
        "recorded_position": 96,
        "append_position": 64,
        "notified_commit_position": 64,
        "log_replication": True,
    }
    enters = event(Action.CANVASS, 1, "FOLLOWER_LOG_REPLICATION")
    ends = event(Action.FOLLOWER_LOG_REPLICATION, 2, "CANVASS", **(cells | changed))

    assert found([START, enters, ends]) == expected


@pytest.mark.parametrize("state", ["", "INIT", "CANVASS"])
def test_the_commit_position_of_a_leader_may_fall_in_another_election_only(state: str) -> None:
    def sends(position: int, second: float) -> Event:
        return event(Action.LEADER_REPLAY, second, "LEADER_REPLAY", sent_commit=position)

    between = [event(Action.ENTER_ELECTION, 3, state)] if state else []
    events = [START, event(Action.CANVASS, 1, "LEADER_REPLAY"), sends(96, 2), *between]

    assert found([*events, sends(96, 4)]) == []
    assert found([*events, sends(95, 4)]) == ([] if state else ["COMMIT_POSITION_FELL"])
    assert found([*events, sends(95, 4)], imported=True) == []
