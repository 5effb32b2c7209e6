"""What each action reads and writes: the frames of the steps.

An action of the spec leaves most of a member's state alone. `frame_of` says, for an action and the
regime that a member is in, which fields the step can depend on (``reads``) and which it can change
(``writes``). All other fields are the *frame* of the step: they must be equal before and after, and
as nothing depends on them they are erased from the canonical form.

The table is in `canvass.steps.frame_table`. To
name too many fields costs canonical steps; to name too few would be wrong, so tests change erased
fields at random and see that the outcome does not. Nothing here looks at values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from canvass.steps.frame_table import SENDER_RECORD, TABLE, TERMINATE_READS
from canvass.steps.regimes import LOG, Lookup, Regime
from canvass.traces.actions import Action
from canvass.traces.layout import MEMBER_COLUMNS, STATE_COLUMNS

RECORDS: Final = frozenset(f"members.{name}" for name in MEMBER_COLUMNS)
FIELDS: Final = frozenset({*STATE_COLUMNS, *RECORDS, LOG})
"""All fields of a member state; ``members.vote`` is that field of every record."""

REGIME_FIELDS: Final = frozenset({"module_state", "role", "election_state"})
"""What the regime follows from, and so what every step reads."""

PERSISTENT: Final = frozenset(
    {
        "persisted_candidate_term_id",
        LOG,
        "recorded_position",
        "snapshot_leadership_term_id",
        "snapshot_term_base_log_position",
        "snapshot_log_position",
    }
)
"""What survives a restart."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What the steps of one action in one regime depend on and change."""

    reads: frozenset[str]
    writes: frozenset[str]
    overwrites: frozenset[str]
    """Fields written whatever they were: they are erased from the state before."""
    lookups: frozenset[Lookup]
    record_of: str = ""
    """The field of the message that names the one member whose record is touched; empty for all."""

    @property
    def before(self) -> frozenset[str]:
        """The fields kept of the state before the step."""
        return (self.reads | self.writes) - self.overwrites

    @property
    def after(self) -> frozenset[str]:
        """The fields kept of the state after the step."""
        return self.reads | self.writes

    @property
    def untouched(self) -> frozenset[str]:
        """The fields that must be equal before and after the step."""
        return FIELDS - self.reads - self.writes


NEWER_TERM_FIELD: Final = {
    Action.ON_REQUEST_VOTE: "candidate_term_id",
    Action.ON_NEW_LEADERSHIP_TERM: "leadership_term_id",
    Action.ON_COMMIT_POSITION: "leadership_term_id",
}
"""The term of a message that starts an election if it is above the module's."""

INPUT_FIELDS: Final[dict[Action, frozenset[str]]] = {
    action: frozenset(fields.split())
    for action, fields in {
        Action.CANVASS: "interval timeout",
        Action.NOMINATE: "interval timeout",
        Action.CANDIDATE_BALLOT: "timeout accepted",
        Action.FOLLOWER_BALLOT: "timeout",
        Action.LEADER_LOG_REPLICATION: "interval commit_interval active",
        Action.LEADER_REPLAY: "interval commit_interval active",
        Action.LEADER_READY: "interval commit_interval timeout active position",
        Action.FOLLOWER_LOG_REPLICATION: "interval position",
        Action.FOLLOWER_REPLAY: "interval",
        Action.FOLLOWER_CATCHUP: "interval",
        Action.ENTER_ELECTION: "graceful_closed_leader_id",
        Action.APPEND_ENTRY: "position",
        Action.RECORD_LOG: "position",
        Action.CONSUME_LOG: "position",
        Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT: (
            "position leadership_term_id term_base_log_position"
        ),
        Action.UPDATE_LEADER_POSITION: "commit_interval active",
        Action.ON_CANVASS_POSITION: "active",
        Action.ON_REQUEST_VOTE: "active",
    }.items()
}
"""What an action reads of its input but the message: ``FieldsReadBy`` of ``MemberGraph.tla``."""

_MESSAGE_ACTIONS: Final = frozenset(action for action in Action if action.value.startswith("On"))
_ALL: Final = Frame(FIELDS, FIELDS, frozenset(), frozenset(Lookup))
_NOTHING: Final = Frame(REGIME_FIELDS, frozenset(), frozenset(), frozenset())


@cache
def frame_of(action: Action, regime: Regime) -> Frame:
    """Give the frame of an action's steps in a regime.

    In a regime in which the action is not enabled nothing is framed; a message that the regime
    ignores frames everything.
    """
    if action is Action.RESTART:
        others = FIELDS - PERSISTENT
        reads = PERSISTENT - {"persisted_candidate_term_id"}
        return Frame(reads, others | {"persisted_candidate_term_id"}, others, frozenset())
    if action is Action.TERMINATE and regime in (Regime.CLOSED_LEADER, Regime.CLOSED_OTHER):
        others = FIELDS - PERSISTENT
        unread = others - TERMINATE_READS - REGIME_FIELDS
        return Frame(
            TERMINATE_READS | REGIME_FIELDS,
            others | {LOG},
            unread,
            frozenset({Lookup.MODULE_TERM}),
        )
    row = TABLE.get(action, {}).get(regime)
    if row is None:
        ignored = action in _MESSAGE_ACTIONS and action is not (
            Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT
        )
        return _NOTHING if ignored else _ALL
    read, writes, lookups = row
    return Frame(
        frozenset(read.split()) | REGIME_FIELDS,
        frozenset(writes.split()),
        frozenset(),
        lookups,
        "follower_member_id" if (action, regime) in SENDER_RECORD else "",
    )
