"""The checks of the timing monitor one by one, on a few events of member 0 of three members."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pytest

from canvass.cluster.rules import Rules
from canvass.conformance.findings import TimingRule, TimingWarning
from canvass.conformance.timing import RunTiming
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.columns import EventColumns
from canvass.traces.schema import (
    INPUT_COLUMNS,
    MESSAGE_COLUMNS,
    STATE_COLUMNS,
    STATE_ENUMS,
    Run,
    Source,
)
from canvass.traces.timeouts import ELECTION, HEARTBEAT_TIMEOUT, STARTUP_CANVASS

_S: Final = 1_000_000_000
TIMEOUTS: Final = {
    ELECTION: 1 * _S,
    HEARTBEAT_TIMEOUT: 10 * _S,
    STARTUP_CANVASS: 60 * _S,
}
STATE: Final = {
    "module_term": "module_leadership_term_id",
    "leadership_term": "leadership_term_id",
    "candidate_term": "candidate_term_id",
    "leader": "leader_member_id",
    "termination_position": "termination_position",
}
"""The fields of the state before an event that an event may give."""
MESSAGE: Final = {
    "peer": "peer",
    "message_term": "leadership_term_id",
    "message_log_term": "log_leadership_term_id",
    "message_leader": "leader_member_id",
    "message_candidate": "candidate_member_id",
    "message_candidate_term": "candidate_term_id",
}


@dataclass(frozen=True)
class Event:
    """An event, its second, the state after it, and cells of its message, input and line."""

    action: Action
    second: float
    state: str = "CANVASS"
    role: str = "FOLLOWER"
    module: str = "ACTIVE"
    cells: dict[str, Any] = field(default_factory=dict)

    @property
    def after(self) -> dict[str, int]:
        named = {"module_state": self.module, "role": self.role, "election_state": self.state}
        return {column: STATE_ENUMS[column].index(name) for column, name in named.items()}

    @property
    def before(self) -> dict[str, int]:
        names = {"leader": -1, "termination_position": -1}
        return {column: self.cells.get(n, names.get(n, 0)) for n, column in STATE.items()}

    @property
    def message(self) -> dict[str, int]:
        return {column: self.cells.get(name, -1) for name, column in MESSAGE.items()}

    @property
    def given(self) -> dict[str, int]:
        return {name: int(self.cells.get(name, 0)) for name in ("timeout", "active")}


def event(action: Action, second: float, state: str = "CANVASS", **cells: Any) -> Event:
    names = {name: cells.pop(name) for name in ("role", "module") if name in cells}
    return Event(action, second, state, cells=cells, **names)


START: Final = event(Action.RESTART, 0, "INIT")


def columns_of(events: list[Event]) -> EventColumns:
    count = len(events)

    def table(names: tuple[str, ...], rows: list[dict[str, int]]) -> Any:
        return np.array([[row.get(name, 0) for name in names] for row in rows])

    zeros, none = np.zeros(count, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    states = [
        one.after | after.before for one, after in zip(events, [*events[1:], START], strict=True)
    ]
    return EventColumns(
        member_count=3,
        runs=("run",),
        run=zeros,
        member=zeros,
        step=np.arange(count),
        time_ns=np.array([round(one.second * _S) for one in events]),
        action=np.array([ACTIONS.index(one.action) for one in events]),
        inputs=table(INPUT_COLUMNS, [one.given for one in events]),
        message=table(MESSAGE_COLUMNS, [one.message for one in events]),
        state=table(STATE_COLUMNS, states),
        members=np.zeros((count, 3, 6), dtype=np.int64),
        log_offsets=np.zeros(count + 1, dtype=np.int64),
        log=none,
        send_offsets=np.zeros(count + 1, dtype=np.int64),
        sends=none,
        checksum_offsets=np.zeros(count + 1, dtype=np.int64),
        checksums=none,
    )


def warned(
    events: list[Event], revision: str = "1.50", *, imported: bool = False
) -> list[TimingWarning]:
    """The warnings about the events of member 0, of which a log shows all."""
    named = {name: f"{value_ns}ns" for name, value_ns in TIMEOUTS.items()}
    source = {"timeouts": named} | ({"kind": "aeron-log"} if imported else {})
    timing = RunTiming(Run.of(Rules.of(revision), "run", source))
    lines = [Source("log", (1,), (), one.cells.get("why", "")) for one in events]
    timing.take(replace(columns_of(events), sources=lines if imported else None))
    timing.end()
    return list(timing.warnings())


def found(events: list[Event], revision: str = "1.50", *, imported: bool = False) -> list[str]:
    """The rules of the warnings about the last event."""
    last = len(events) - 1
    return [
        one.rule.name for one in warned(events, revision, imported=imported) if one.step == last
    ]


EARLY: Final = TimingRule.EARLY_TIMEOUT.name


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


def test_a_leader_that_is_ready_has_no_deadline_since_revision_1_50() -> None:
    enters = event(Action.ELECTION_INIT, 1, "LEADER_READY", role="LEADER")
    reads = event(Action.LEADER_READY, 1.5, "LEADER_READY", role="LEADER", timeout=True)

    assert found([START, enters, reads]) == []


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


def test_a_leader_that_closed_in_good_order_is_not_waited_for() -> None:
    def after(reason: str) -> list[str]:
        closes = event(Action.ENTER_ELECTION, 4, "INIT", why=reason)
        reads = event(Action.CANVASS, 6, "NOMINATE", timeout=True)
        hears = event(Action.ON_COMMIT_POSITION, 5.5, peer=1, message_term=0)
        init = event(Action.ELECTION_INIT, 5, "CANVASS")
        events = [*CANVASSES_AGAIN, event(Action.CANVASS, 3.5, "CLOSED"), closes, init, hears]
        return found([*events, reads], imported=True)

    assert after("log disconnected, eos=false") == [EARLY]
    assert after("log disconnected, eos=true") == []


@pytest.mark.parametrize(("then", "expected"), [("NOMINATE", True), ("CANVASS", False)])
def test_an_inferred_deadline_counts_if_a_line_shows_that_the_state_was_left(
    then: str, *, expected: bool
) -> None:
    hears = event(Action.ON_COMMIT_POSITION, 4, peer=1, message_term=0)
    reads = event(Action.CANVASS, 5, then, timeout=True)

    assert (found([*CANVASSES_AGAIN, hears, reads], imported=True) == [EARLY]) is expected


# --- errors and elections -------------------------------------------------------------------------


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
