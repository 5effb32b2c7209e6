"""Which events a member's log prints: the parameter that makes other releases and disabled events
the same problem.

A step whose event is not in the vocabulary is silent. Nothing here looks at the order of lines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from canvass.cluster.messages import MESSAGE_TYPES
from canvass.traces.aeron_log import records
from canvass.traces.aeron_log.records import ClusterEvent

PRINTED_STEPS: Final[frozenset[type[ClusterEvent]]] = frozenset(
    {
        records.ElectionStateChange,
        records.RoleChange,
        records.NewElection,
        records.TruncateLogEntry,
        records.ReplayNewLeadershipTerm,
        records.StateChange,
    }
)
"""The events that steps print, receipts of messages aside."""

RECEIPTS: Final[frozenset[type[ClusterEvent]]] = frozenset(
    getattr(records, message.__name__) for message in MESSAGE_TYPES
)
"""The events that receipts of consensus messages print."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The events that one log prints.

    Parameters
    ----------
    events
        Kinds of records.
    change_before_role
        Whether the change of an election state comes before the change of the role in the same
        step, and a change to CANVASS still shows the leader that the member had.
    """

    events: frozenset[type[ClusterEvent]]
    change_before_role: bool = False

    def prints(self, kind: type[ClusterEvent]) -> bool:
        """Whether the log has lines of that event."""
        return kind in self.events

    @property
    def silent_messages(self) -> frozenset[str]:
        """The names of the messages whose receipts the log does not print."""
        return frozenset(kind.__name__ for kind in RECEIPTS - self.events)

    @property
    def is_open(self) -> bool:
        """Whether messages are silent whose receipt a replay does not infer."""
        return bool(self.silent_messages - _INFERRED)


_INFERRED: Final = frozenset(
    {"AppendPosition", "CanvassPosition", "CatchupPosition", "CommitPosition", "Vote"}
)
"""The messages whose contents are taken from other lines where no line shows their receipt."""

ALL_EVENTS: Final = Vocabulary(PRINTED_STEPS | RECEIPTS)


def vocabulary_of(
    kinds: Iterable[frozenset[type[ClusterEvent]]],
    *,
    rare: bool = True,
    reached: Collection[str] = (),
    change_before_role: bool = False,
) -> Vocabulary:
    """The vocabulary of a cluster, whose members run one release with one setting.

    Parameters
    ----------
    kinds
        The events that the logs of members print.
    rare
        Whether rare events are taken to be enabled though no line shows them: their absence is no
        sign of the setting.
    reached
        The states that members have reached, and that followers have reached outside elections:
        what they reach with a rare event only is such a sign.
    change_before_role
        As in `Vocabulary`.
    """
    seen = frozenset().union(*kinds)
    likely = {kind for kind, state in _RARE.items() if state not in reached} if rare else set()
    events = (PRINTED_STEPS | RECEIPTS) & (seen | likely)
    return Vocabulary(events, change_before_role)


_RARE: Final[Mapping[type[ClusterEvent], str]] = {
    records.CatchupPosition: "FOLLOWER_CATCHUP",
    records.StopCatchup: "",
    records.TerminationPosition: "TERMINATING",
    records.TerminationAck: "",
    records.TruncateLogEntry: "",
    records.RoleChange: "CANDIDATE_BALLOT",
}
"""Rare events, each with the state that no follower reaches without it, if there is one."""
