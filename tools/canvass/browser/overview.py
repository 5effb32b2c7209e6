"""The election's state machine as the spec has it: `election.json`, with places to draw it at.

The file has the changes of the election state that TLC printed; a test reads them off state graphs
and compares. The places, and which edges the published diagram has, are said here by hand.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

import msgspec
from msgspec import Struct

from canvass.browser.api import Overview, OverviewEdge, OverviewState
from canvass.cluster.member import ElectionState

EDGES_FILE: Final = "election.json"

COLUMN: Final = 340.0
ROW: Final = 90.0
_PLACES: Final[dict[str, tuple[float, float, str]]] = {
    "INIT": (0, 0, "start"),
    "CANVASS": (0, 1, "start"),
    "NOMINATE": (0, 2, "candidate"),
    "CANDIDATE_BALLOT": (0, 3, "candidate"),
    "LEADER_LOG_REPLICATION": (0, 4, "leader"),
    "LEADER_REPLAY": (0, 5, "leader"),
    "LEADER_INIT": (0, 6, "leader"),
    "LEADER_READY": (0, 7, "leader"),
    "CLOSED": (0, 9, "outside"),
    "FOLLOWER_BALLOT": (1, 3, "follower"),
    "FOLLOWER_REPLAY": (1, 4, "follower"),
    "FOLLOWER_LOG_INIT": (1, 6, "follower"),
    "FOLLOWER_READY": (1, 8, "follower"),
    "FOLLOWER_LOG_REPLICATION": (2, 2, "follower"),
    "FOLLOWER_CATCHUP_INIT": (2, 4, "follower"),
    "FOLLOWER_CATCHUP_AWAIT": (2, 5, "follower"),
    "FOLLOWER_CATCHUP": (2, 6, "follower"),
    "FOLLOWER_LOG_AWAIT": (2, 7, "follower"),
}
"""Column, row and phase of each state: leaders on the left, followers in the middle, those that
must catch up on the right, as in the published diagram.
"""

SEEDS: Final = frozenset(
    {
        ("INIT", "CANVASS"),
        ("INIT", "LEADER_LOG_REPLICATION"),
        ("CANVASS", "NOMINATE"),
        ("CANVASS", "FOLLOWER_BALLOT"),
        ("CANVASS", "FOLLOWER_LOG_REPLICATION"),
        ("CANVASS", "FOLLOWER_REPLAY"),
        ("NOMINATE", "CANDIDATE_BALLOT"),
        ("NOMINATE", "FOLLOWER_BALLOT"),
        ("CANDIDATE_BALLOT", "CANVASS"),
        ("CANDIDATE_BALLOT", "LEADER_LOG_REPLICATION"),
        ("FOLLOWER_BALLOT", "CANVASS"),
        ("FOLLOWER_BALLOT", "FOLLOWER_LOG_REPLICATION"),
        ("FOLLOWER_BALLOT", "FOLLOWER_REPLAY"),
        ("LEADER_LOG_REPLICATION", "LEADER_REPLAY"),
        ("LEADER_REPLAY", "LEADER_INIT"),
        ("LEADER_INIT", "LEADER_READY"),
        ("LEADER_READY", "CLOSED"),
        ("FOLLOWER_LOG_REPLICATION", "CANVASS"),
        ("FOLLOWER_REPLAY", "FOLLOWER_CATCHUP_INIT"),
        ("FOLLOWER_REPLAY", "FOLLOWER_LOG_INIT"),
        ("FOLLOWER_CATCHUP_INIT", "FOLLOWER_CATCHUP_AWAIT"),
        ("FOLLOWER_CATCHUP_AWAIT", "FOLLOWER_CATCHUP"),
        ("FOLLOWER_CATCHUP", "FOLLOWER_LOG_INIT"),
        ("FOLLOWER_LOG_INIT", "FOLLOWER_LOG_AWAIT"),
        ("FOLLOWER_LOG_INIT", "FOLLOWER_READY"),
        ("FOLLOWER_LOG_AWAIT", "FOLLOWER_READY"),
        ("FOLLOWER_READY", "CLOSED"),
    }
)
"""The edges that the published state diagram and its text name."""


class Change(Struct, frozen=True):
    """A change of the election state, with the actions that make it."""

    source: str
    target: str
    actions: tuple[str, ...]


@cache
def stored_edges() -> tuple[Change, ...]:
    """Read the changes that the package has."""
    text = files("canvass.browser").joinpath(EDGES_FILE).read_bytes()
    return msgspec.json.decode(text, type=tuple[Change, ...])


def overview() -> Overview:
    """Give the state machine with its places."""
    states = tuple(
        OverviewState(
            name=state.value,
            x=_PLACES[state.value][0] * COLUMN,
            y=_PLACES[state.value][1] * ROW,
            phase=_PLACES[state.value][2],
        )
        for state in ElectionState
    )
    edges = tuple(
        OverviewEdge(
            source=one.source,
            target=one.target,
            actions=one.actions,
            seeds=(one.source, one.target) in SEEDS,
        )
        for one in stored_edges()
    )
    return Overview(states=states, edges=edges)
