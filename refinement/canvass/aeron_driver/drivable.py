"""Steps as requests to the driver, their expected answers, and the steps it cannot execute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.aeron_driver.driver import (
    Cells,
    StreamLayout,
    list_cells,
    state_cells,
    without_implied_terms,
)
from canvass.cluster.member import ElectionState, ModuleState, Role
from canvass.graph.artifact import Graph, StepArrays
from canvass.traces.actions import ACTIONS, Action
from canvass.traces.schema import INPUT_COLUMNS, MESSAGE_COLUMNS, NONE, STATE_COLUMNS, STATE_ENUMS

Rows = NDArray[np.int64]

_TYPE, _PEER, _FIELDS = (
    MESSAGE_COLUMNS.index("type"),
    MESSAGE_COLUMNS.index("peer"),
    MESSAGE_COLUMNS.index("id") + 1,
)


@dataclass(frozen=True)
class DrivableSteps:
    """Steps, laid out as requests and answers.

    Parameters
    ----------
    graph
        The steps in arrays.
    """

    graph: StepArrays

    @cached_property
    def layout(self) -> StreamLayout:
        """The layout of the stream: a step adds at most two entries to a recording log."""
        longest = int(np.diff(self.graph.log_offsets).max(initial=0))
        return StreamLayout(self.graph.rules.member_count, longest + 3)

    @cached_property
    def states(self) -> Cells:
        """All states, laid out as in a request."""
        graph = self.graph
        return state_cells(self.layout, graph.state, graph.members, graph.log_offsets, graph.log)

    @cached_property
    def normal_states(self) -> Cells:
        """All states without implied terms, laid out as in an answer."""
        return without_implied_terms(self.layout, self.states)

    @cached_property
    def sends(self) -> Cells:
        """All lists of sends, laid out as in an answer."""
        sends = self.graph.sends
        cells = np.column_stack([sends[:, _PEER], sends[:, _TYPE], sends[:, _FIELDS:]])
        return list_cells(self.graph.send_offsets, cells, self.layout.send_capacity)

    @cached_property
    def _inputs(self) -> Cells:
        graph, layout = self.graph, self.layout
        rows = np.zeros((len(graph.inputs), layout.state), dtype=np.int32)
        rows[:, 0] = graph.input_action
        message = 2 + len(INPUT_COLUMNS)
        rows[:, 2:message] = graph.inputs
        rows[:, message] = graph.message[:, _TYPE]
        rows[:, message + 1 :] = graph.message[:, _FIELDS:]
        return rows

    def requests(self, source: Rows, given: Rows, hidden: NDArray[Any] | int = 0) -> Cells:
        """Lay out requests, by rows of states and of inputs and by masks of hidden state."""
        rows = np.empty((len(source), self.layout.request_width), dtype=np.int32)
        rows[:, : self.layout.state] = self._inputs[given]
        rows[:, 1] = hidden
        rows[:, self.layout.state :] = self.states[source]
        return rows

    @cached_property
    def edges(self) -> Rows:
        """The rows of the edges with a target; the others do not enable their action."""
        return np.flatnonzero(self.graph.target != NONE)


@dataclass(frozen=True)
class GraphSteps(DrivableSteps):
    """The edges of a graph, laid out as requests and answers."""

    graph: Graph


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
)
"""Departures: kinds of state of Aeron that the spec does not have, in the order of their bits."""


def names_of(mask: int) -> list[str]:
    """Name the departures of a mask."""
    return [name for bit, name in enumerate(HIDDEN) if mask >> bit & 1]


def masks(count: int, seed: int) -> NDArray[Any]:
    """Draw ``count`` masks; each departure is in about half of them."""
    return np.random.default_rng(seed).integers(1, 1 << len(HIDDEN), count, dtype=np.int32)


Flags = NDArray[np.bool_]

ELECTION_ACTIONS: Final = {
    Action.ELECTION_INIT: ElectionState.INIT,
    **{
        action: ElectionState[action.name]
        for action in ACTIONS
        if action.name in ElectionState.__members__
    },
}
"""The election state of each action that is the duty cycle of one election state."""


class Requests:
    """Requests, with their columns by name."""

    def __init__(self, layout: StreamLayout, rows: NDArray[Any]) -> None:
        self._layout, self._rows = layout, rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def member_count(self) -> int:
        """The size of the cluster."""
        return self._layout.member_count

    def is_of(self, *actions: Action) -> Flags:
        """Mark the requests of these actions."""
        return np.isin(self._rows[:, 0], [ACTIONS.index(action) for action in actions])

    def state(self, column: str) -> NDArray[Any]:
        """Give a column of the state before the step."""
        return self._rows[:, self._layout.state + STATE_COLUMNS.index(column)]

    def input(self, column: str) -> NDArray[Any]:
        """Give a column of the input."""
        return self._rows[:, 2 + INPUT_COLUMNS.index(column)]

    def is_hidden(self, departure: str) -> Flags:
        """Mark the requests with a departure of Aeron's hidden state."""
        return np.asarray((self._rows[:, 1] >> HIDDEN.index(departure) & 1) == 1)

    def at(self, *states: ElectionState) -> Flags:
        """Mark the requests in one of these election states."""
        codes = [STATE_ENUMS["election_state"].index(state) for state in states]
        return np.isin(self.state("election_state"), codes)

    def has_role(self, role: Role) -> Flags:
        """Mark the requests in which the member has this role."""
        return np.asarray(self.state("role") == STATE_ENUMS["role"].index(role))

    @property
    def has_process(self) -> Flags:
        """Mark the requests in which the member's process runs."""
        active = STATE_ENUMS["module_state"].index(ModuleState.ACTIVE)
        return np.asarray(self.state("module_state") == active)


@dataclass(frozen=True, slots=True)
class StepClass:
    """Steps that the driver cannot execute, or in which a difference is reviewed.

    Parameters
    ----------
    name
        Name of the class in reports.
    reason
        Why the driver cannot execute the steps; or why Aeron differs from the spec, and why the
        class hides no wrong run.
    where
        Marks the steps.
    """

    name: str
    reason: str
    where: Callable[[Requests], Flags]


def _off_cycle(r: Requests) -> Flags:
    """Mark the requests whose action the duty cycle does not call in the state before the step."""
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
    StepClass(
        "recorded by the archive",
        "RecordLog: the archive records in threads of its own; no code of a member runs.",
        lambda r: r.is_of(Action.RECORD_LOG),
    ),
    StepClass(
        "no process",
        "The process of the member has ended; only Restart can run.",
        lambda r: ~r.has_process & ~r.is_of(Action.RESTART),
    ),
)
"""Obstacles of edges. The first one that applies is the reason."""

DISABLED_OBSTACLES: Final = (
    *OBSTACLES,
    StepClass(
        "not in the duty cycle",
        "The duty cycle never calls this step in this election state.",
        _off_cycle,
    ),
    StepClass(
        "an entry without length",
        "LeaderReady, AppendEntry, ConsumeLog: the entry would end where the log ends already.",
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
    StepClass(
        "not the end of the recording",
        "FollowerLogReplication: the input names an end that is not the end of the recording.",
        lambda r: r.is_of(Action.FOLLOWER_LOG_REPLICATION) & (r.input("position") != -1),
    ),
    StepClass(
        "not the leader that closed",
        "EnterElection names the module's own leader if its log stream ended in good order.",
        lambda r: (
            r.is_of(Action.ENTER_ELECTION)
            & (r.input("graceful_closed_leader_id") != -1)
            & (r.input("graceful_closed_leader_id") != r.state("leader_member_id"))
        ),
    ),
)
"""Obstacles of inputs that the spec disables."""


def class_of(requests: Requests, classes: Sequence[StepClass]) -> NDArray[np.int64]:
    """Give for each request the index of the first class that it is in; -1 if it is in none."""
    found = np.full(len(requests), -1, dtype=np.int64)
    for index in range(len(classes) - 1, -1, -1):
        found[classes[index].where(requests)] = index
    return found
