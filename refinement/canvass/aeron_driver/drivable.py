"""Which steps the driver can take, and why not the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.aeron_driver.stream import StreamLayout
from canvass.cluster.member import ElectionState, ModuleState, Role
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.layout import INPUT_COLUMNS, STATE_COLUMNS, STATE_ENUMS

HIDDEN: Final = (
    "a recording exists with nothing in it",
    "the module is suspended",
    "the quorum position has gone backwards before",
    "the live destination was added already",
    "forgotten member records hold old values",
    "a catch-up or copy of earlier has left its positions",
    "the election began when the process started",
    "the election began in the module's term",
    "replay or catch-up began before the commit position",
    "replay and copy wait to be closed",
    "the archive is slow to record",
    "the log joins elsewhere than the own log ends",
    "the termination was asked for by another member",
)
"""The departures, in the order of their bits."""

VARIED: Final = HIDDEN.index("the archive is slow to record")
"""How many of them a drive varies: the others are asked for by situations of their own
(`canvass.aeron_driver.situations`).
"""


def names_of(mask: int) -> list[str]:
    """Name the departures of a mask."""
    return [name for bit, name in enumerate(HIDDEN) if mask >> bit & 1]


def masks(count: int, seed: int) -> NDArray[Any]:
    """Draw a mask for each of some steps: each departure in half of them."""
    return np.random.default_rng(seed).integers(1, 1 << VARIED, count, dtype=np.int32)


def single_masks(mask: int) -> list[int]:
    """Give the masks of the departures of a mask, one by one."""
    return [1 << bit for bit in range(len(HIDDEN)) if mask >> bit & 1]


Flags = NDArray[np.bool_]

ELECTION_ACTIONS: Final = {
    Action.ELECTION_INIT: ElectionState.INIT,
    **{
        action: ElectionState[action.name]
        for action in ACTIONS
        if action.name in ElectionState.__members__
    },
}
"""The state of an election that each action of its duty cycle belongs to."""


class Requests:
    """Requests with their columns by name."""

    def __init__(self, layout: StreamLayout, rows: NDArray[Any]) -> None:
        self._layout, self._rows = layout, rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def member_count(self) -> int:
        """The size of the cluster."""
        return self._layout.member_count

    def is_of(self, *actions: Action) -> Flags:
        """Whether each request is of one of some actions."""
        return np.isin(self._rows[:, 0], [ACTIONS.index(action) for action in actions])

    def state(self, column: str) -> NDArray[Any]:
        """A column of the state before the step."""
        return self._rows[:, self._layout.state + STATE_COLUMNS.index(column)]

    def input(self, column: str) -> NDArray[Any]:
        """A column of the input."""
        return self._rows[:, 2 + INPUT_COLUMNS.index(column)]

    def is_hidden(self, departure: str) -> Flags:
        """Whether some hidden state of Aeron departs from the usual."""
        return np.asarray((self._rows[:, 1] >> HIDDEN.index(departure) & 1) == 1)

    def at(self, *states: ElectionState) -> Flags:
        """Whether the election is in one of some states."""
        codes = [STATE_ENUMS["election_state"].index(state) for state in states]
        return np.isin(self.state("election_state"), codes)

    def has_role(self, role: Role) -> Flags:
        """Whether the member has a role."""
        return np.asarray(self.state("role") == STATE_ENUMS["role"].index(role))

    @property
    def has_process(self) -> Flags:
        """Whether the member's process runs."""
        active = STATE_ENUMS["module_state"].index(ModuleState.ACTIVE)
        return np.asarray(self.state("module_state") == active)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why some steps cannot be driven."""

    name: str
    reason: str
    where: Callable[[Requests], Flags]


def _off_cycle(r: Requests) -> Flags:
    """Whether the duty cycle takes other steps than this one in the state."""
    found = np.zeros(len(r), dtype=np.bool_)
    for action, state in ELECTION_ACTIONS.items():
        found |= r.is_of(action) & ~r.at(state)
    closed = r.at(ElectionState.CLOSED)
    found |= r.is_of(
        Action.UPDATE_LEADER_POSITION, Action.INITIATE_TERMINATION, Action.APPEND_ENTRY
    ) & ~(closed & r.has_role(Role.LEADER))
    found |= r.is_of(Action.UPDATE_FOLLOWER_POSITION) & ~(closed & r.has_role(Role.FOLLOWER))
    found |= r.is_of(Action.ENTER_ELECTION, Action.TERMINATE) & ~closed
    found |= r.is_of(Action.TERMINATE) & (r.state("termination_position") == -1)
    found |= r.is_of(Action.ELECTION_ERROR) & closed
    replays = r.state("replay_stop_position") != -1
    consumes = (closed & r.has_role(Role.FOLLOWER)) | r.at(ElectionState.FOLLOWER_CATCHUP) | replays
    ends = (
        closed
        & (r.state("termination_position") != -1)
        & (r.state("commit_position") >= r.state("termination_position"))
    )
    found |= r.is_of(Action.CONSUME_LOG, Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT) & (
        ~consumes | ends
    )
    found |= r.is_of(Action.TAKE_SNAPSHOT) & ~(consumes | closed)
    return found


OBSTACLES: Final = (
    Obstacle(
        "recorded by the archive",
        "RecordLog: the archive records in threads of its own; no code of a member runs.",
        lambda r: r.is_of(Action.RECORD_LOG),
    ),
    Obstacle(
        "no process",
        "The process of the member has ended; nothing but Restart runs.",
        lambda r: ~r.has_process & ~r.is_of(Action.RESTART),
    ),
)
"""For edges of a graph; the first that applies is the reason."""

DISABLED_OBSTACLES: Final = (
    *OBSTACLES,
    Obstacle(
        "not in the duty cycle",
        "The duty cycle takes the steps of its own state; this one is never called there.",
        _off_cycle,
    ),
    Obstacle(
        "an entry without length",
        "LeaderReady, AppendEntry, ConsumeLog: an entry that ends where the log ends is none.",
        lambda r: (
            (r.input("position") != -1)
            & (
                (
                    r.is_of(Action.LEADER_READY, Action.APPEND_ENTRY)
                    & (r.input("position") <= r.state("publication_position"))
                )
                | (
                    r.is_of(Action.CONSUME_LOG, Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT)
                    & (r.input("position") <= r.state("commit_position"))
                )
            )
        ),
    ),
    Obstacle(
        "not the end of the recording",
        "FollowerLogReplication: the input says that a recording ends where it does not end.",
        lambda r: r.is_of(Action.FOLLOWER_LOG_REPLICATION) & (r.input("position") != -1),
    ),
    Obstacle(
        "not the leader that closed",
        "EnterElection names the module's own leader if its log stream ended in good order.",
        lambda r: (
            r.is_of(Action.ENTER_ELECTION)
            & (r.input("graceful_closed_leader_id") != -1)
            & (r.input("graceful_closed_leader_id") != r.state("leader_member_id"))
        ),
    ),
)
"""The same for inputs that the spec disables."""


def obstacle_of(requests: Requests, obstacles: tuple[Obstacle, ...]) -> NDArray[np.int64]:
    """Give for each request the index of the first obstacle that applies, -1 for none."""
    found = np.full(len(requests), -1, dtype=np.int64)
    for index in range(len(obstacles) - 1, -1, -1):
        found[obstacles[index].where(requests)] = index
    return found
