"""The frames of steps: the fields that each action reads and writes.

An action leaves most fields of a member's state alone. `frame_of` gives, for an action and the
regime of a member, the fields that the step can depend on (``reads``) and those that it can change
(``writes``). All other fields are the *frame* of the step: they must be equal before and after. No
outcome depends on them, so they are erased from the canonical form.

Too many fields here cost more canonical steps; too few would be wrong. So tests change erased
fields at random and check that the outcome stays. Nothing here looks at values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from typing import Final

from canvass.cluster.member import ElectionState
from canvass.traces.actions import ACTION_INPUTS, Action
from canvass.traces.layout import MEMBER_COLUMNS, STATE_COLUMNS

LOG: Final = "recording_log"
"""The one field of a state that is a list of entries."""
OPTIONAL_INPUT: Final = "entry_position"
"""An input that few steps have. It is part of a step's key only if it is given."""


LEADER_STATES: Final = frozenset(
    {
        ElectionState.LEADER_LOG_REPLICATION,
        ElectionState.LEADER_REPLAY,
        ElectionState.LEADER_INIT,
        ElectionState.LEADER_READY,
    }
)


class Regime(IntEnum):
    """The cases that the operators tell apart before anything else."""

    INACTIVE = 0
    """The module is not ACTIVE."""
    CLOSED_LEADER = 1
    CLOSED_OTHER = 2
    """No election runs, and the member is no leader."""
    CLOSED_NEWER = 3
    """No election runs, and a message of a newer term than the module's starts one."""
    ELECTION_LEADER = 4
    """In an election, as its leader or in a state of a leader."""
    ELECTION_OTHER = 5


class Lookup(IntEnum):
    """A term that a step may look up in the recording log."""

    OWN_LOG_TERM = 0
    AFTER_OWN_LOG_TERM = 1
    MESSAGE_LOG_TERM = 2
    AFTER_MESSAGE_LOG_TERM = 3
    MODULE_TERM = 4
    LEADERSHIP_TERM = 5
    REPLICATION_TERM = 6
    INPUT_TERM = 7
    RECORD_TERMS = 8
    """The terms of all member records: hardening HZ1 looks them up."""


# Parts that several operators share, named as in the spec. A part is the text of the fields that it
# reads or writes. An operator that may keep a field that it writes reads it, too.
_RECORD_POSITION = "members.leadership_term_id members.log_position"
_RECORD_VOTE = "members.candidate_term_id members.vote members.ballot_sent"
_FORGET_RECORDS = f"{_RECORD_POSITION} {_RECORD_VOTE}"
_END_REPLICATION = (
    "log_replication replication_leadership_term_id replication_stop_position"
    " replication_term_base_log_position"
)
_ENTER_INIT = f"{_END_REPLICATION} catchup_join_position replay_stop_position {_FORGET_RECORDS}"
_ENTER_CANVASS = f"{_ENTER_INIT} leader_member_id"
_CANVASS_READS = "leadership_term_id append_position"
_SNAPSHOT_TERM = "snapshot_leadership_term_id snapshot_term_base_log_position"
_BEGIN_ELECTION = (
    f"{_ENTER_CANVASS} publication_position log_subscription catchup_destination append_position"
    " notified_commit_position candidate_term_id persisted_candidate_term_id leadership_term_id"
)
_BEGIN_READS = "recorded_position"
_TERMINATION = "termination_position termination_leadership_term_id"
_NEW_ELECTION = f"{_BEGIN_ELECTION} log_leadership_term_id graceful_closed_leader_id {_TERMINATION}"
_NEW_ELECTION_READS = f"{_BEGIN_READS} module_leadership_term_id"
_ENTER_LEADER = "leader_member_id leadership_term_id publication_position"
_ELECTION_COMPLETE = (
    f"module_leadership_term_id module_notified_commit_position {_RECORD_VOTE}"
    " log_leadership_term_id leadership_term_id candidate_term_id append_position"
    " notified_commit_position catchup_join_position graceful_closed_leader_id commit_position"
)
_TAKEN_OVER = (
    "module_leadership_term_id module_notified_commit_position commit_position publication_position"
)
_COUNTED = f"{_RECORD_POSITION} {LOG} leader_member_id"
_QUORUM_READS = f"{_COUNTED} append_position leadership_term_id commit_position"
_LEADERSHIP_READS = f"{_QUORUM_READS} log_leadership_term_id module_leadership_term_id"

_SHARED: Final = frozenset({Lookup.RECORD_TERMS})
_OWN: Final = _SHARED | {Lookup.AFTER_OWN_LOG_TERM}
_ASKED: Final = _SHARED | {Lookup.MESSAGE_LOG_TERM, Lookup.AFTER_MESSAGE_LOG_TERM}

Row = tuple[str, str, frozenset[Lookup]]


def _row(reads: str, writes: str = "", lookups: Iterable[Lookup] = ()) -> Row:
    return reads, writes, frozenset(lookups)


_LEADER, _OTHER, _NEWER = Regime.CLOSED_LEADER, Regime.CLOSED_OTHER, Regime.CLOSED_NEWER
_E_LEADER, _E_OTHER = Regime.ELECTION_LEADER, Regime.ELECTION_OTHER


def _election(row: Row) -> dict[Regime, Row]:
    return {_E_LEADER: row, _E_OTHER: row}


def _active(row: Row) -> dict[Regime, Row]:
    return dict.fromkeys((_LEADER, _OTHER, _E_LEADER, _E_OTHER), row)


# A single member leads its next term in the step that starts the election; with HZ5 in force it
# opens the term then.
_STARTED: Final = _row(f"{_NEW_ELECTION_READS} {_SNAPSHOT_TERM}", f"{_NEW_ELECTION} {LOG}")
_START: Final = {_NEWER: _STARTED}
_TRACK: Final = _row(
    "publication_position leadership_term_id", f"{_RECORD_POSITION} members.catchup_replay"
)
_NOTED: Final = _row(
    "module_leadership_term_id leader_member_id", "module_notified_commit_position"
)
_TERM_READ: Final = _row("module_leadership_term_id")
_FOLLOW: Final = _row(
    f"{_CANVASS_READS} {_SNAPSHOT_TERM}",
    f"{_ENTER_CANVASS} graceful_closed_leader_id leadership_term_id candidate_term_id"
    " append_position recorded_position notified_commit_position log_leadership_term_id"
    f" {LOG}",
    {Lookup.OWN_LOG_TERM},
)
_CANVASS: Final = _row(
    f"{_RECORD_POSITION} log_leadership_term_id append_position leadership_term_id"
    " graceful_closed_leader_id"
)
_NOMINATE: Final = _row(
    "log_leadership_term_id append_position leadership_term_id",
    f"candidate_term_id persisted_candidate_term_id {_RECORD_VOTE}",
)
_REPLAYED: Final = _row(
    f"notified_commit_position recorded_position replay_stop_position {_SNAPSHOT_TERM}",
    f"commit_position module_leadership_term_id log_leadership_term_id {LOG}",
    {Lookup.INPUT_TERM},
)

TABLE: Final[dict[Action, dict[Regime, Row]]] = {
    Action.ON_CANVASS_POSITION: {
        _LEADER: _row(
            f"module_leadership_term_id publication_position commit_position {LOG}",
            f"{_RECORD_POSITION} members.catchup_replay",
            {Lookup.AFTER_MESSAGE_LOG_TERM, Lookup.MODULE_TERM},
        ),
        _E_LEADER: _row(_QUORUM_READS, f"{_ENTER_INIT} graceful_closed_leader_id", _ASKED),
        _E_OTHER: _row("", f"{_RECORD_POSITION} graceful_closed_leader_id"),
    },
    Action.ON_REQUEST_VOTE: _START
    | {_LEADER: _TERM_READ, _OTHER: _TERM_READ}
    | {
        _E_LEADER: _row(
            f"{_QUORUM_READS} log_leadership_term_id",
            f"candidate_term_id persisted_candidate_term_id {_FORGET_RECORDS}",
            _ASKED,
        ),
        _E_OTHER: _row(
            "log_leadership_term_id append_position",
            f"candidate_term_id persisted_candidate_term_id {_FORGET_RECORDS}",
        ),
    },
    Action.ON_VOTE: _election(
        _row("candidate_term_id", f"{_RECORD_POSITION} members.candidate_term_id members.vote")
    ),
    Action.ON_NEW_LEADERSHIP_TERM: _START
    | {_LEADER: _TERM_READ, _OTHER: _NOTED}
    | _election(_FOLLOW),
    Action.ON_APPEND_POSITION: {
        _LEADER: _row(
            "publication_position module_leadership_term_id",
            f"{_RECORD_POSITION} members.catchup_replay",
        ),
    }
    | _election(_TRACK),
    Action.ON_COMMIT_POSITION: _START
    | {_LEADER: _TERM_READ, _OTHER: _NOTED}
    | {
        _E_LEADER: _row(
            "leader_member_id leadership_term_id", f"notified_commit_position {_ENTER_INIT}"
        ),
        _E_OTHER: _row("leader_member_id leadership_term_id", "notified_commit_position"),
    },
    Action.ON_CATCHUP_POSITION: dict.fromkeys(
        (_LEADER, _E_LEADER), _row("module_leadership_term_id", "members.catchup_replay")
    ),
    Action.ON_STOP_CATCHUP: _active(_row("module_leadership_term_id", "catchup_destination")),
    Action.ON_TERMINATION_POSITION: _active(_row("module_leadership_term_id", _TERMINATION)),
    Action.ON_TERMINATION_ACK: {},
    Action.ELECTION_INIT: _election(
        _row(
            f"{_BEGIN_READS} {_SNAPSHOT_TERM}",
            f"{_BEGIN_ELECTION} members.catchup_replay log_leadership_term_id {LOG}",
        )
    ),
    Action.CANVASS: _election(_CANVASS),
    Action.NOMINATE: _election(_NOMINATE),
    Action.CANDIDATE_BALLOT: _election(
        _row(
            "candidate_term_id append_position log_leadership_term_id graceful_closed_leader_id"
            f" {_SNAPSHOT_TERM}",
            f"{_ENTER_CANVASS} {_ENTER_LEADER} {LOG}",
        )
    ),
    Action.FOLLOWER_BALLOT: _election(_row(_CANVASS_READS, _ENTER_CANVASS)),
    Action.LEADER_LOG_REPLICATION: _election(_row(_LEADERSHIP_READS, "members.log_position", _OWN)),
    Action.LEADER_REPLAY: _election(
        _row(_LEADERSHIP_READS, f"{_RECORD_POSITION} replay_stop_position", _OWN)
    ),
    Action.LEADER_INIT: _election(
        _row(
            f"leadership_term_id commit_position {_SNAPSHOT_TERM}",
            f"module_leadership_term_id log_leadership_term_id {LOG}",
            {Lookup.LEADERSHIP_TERM},
        )
    ),
    Action.LEADER_READY: _election(
        _row(
            f"{_LEADERSHIP_READS} members.vote",
            f"members.log_position publication_position {_ELECTION_COMPLETE}",
            _OWN,
        )
    ),
    Action.FOLLOWER_LOG_REPLICATION: _election(
        _row(
            f"recorded_position leadership_term_id {_SNAPSHOT_TERM} snapshot_log_position",
            f"append_position notified_commit_position {LOG} log_leadership_term_id"
            f" {_ENTER_CANVASS}",
            {Lookup.REPLICATION_TERM},
        )
    ),
    Action.FOLLOWER_REPLAY: _election(
        _row(
            f"commit_position notified_commit_position log_leadership_term_id {_CANVASS_READS}",
            _ENTER_CANVASS,
        )
    ),
    Action.FOLLOWER_CATCHUP_INIT: _election(
        _row(
            "leader_member_id leadership_term_id commit_position",
            "log_subscription catchup_destination",
        )
    ),
    Action.FOLLOWER_CATCHUP_AWAIT: _election(
        _row(
            f"{_SNAPSHOT_TERM} leadership_term_id commit_position",
            f"log_leadership_term_id {LOG}",
            {Lookup.LEADERSHIP_TERM},
        )
    ),
    Action.FOLLOWER_CATCHUP: _election(
        _row(
            "commit_position catchup_join_position notified_commit_position catchup_destination"
            " leader_member_id module_leadership_term_id log_leadership_term_id recorded_position",
            "append_position",
        )
    ),
    Action.FOLLOWER_LOG_INIT: _election(_row("", "log_subscription")),
    Action.FOLLOWER_LOG_AWAIT: _election(
        _row(
            f"{_SNAPSHOT_TERM} leadership_term_id commit_position",
            f"log_leadership_term_id append_position {LOG}",
            {Lookup.LEADERSHIP_TERM},
        )
    ),
    Action.FOLLOWER_READY: _election(_row("leader_member_id", _ELECTION_COMPLETE)),
    Action.ENTER_ELECTION: dict.fromkeys((_LEADER, _OTHER), _STARTED),
    # The duty cycle that should close the election may fail.
    Action.ELECTION_ERROR: {
        _E_LEADER: _row(f"{_LEADERSHIP_READS} members.vote", f"{_ENTER_INIT} {_TAKEN_OVER}", _OWN),
        _E_OTHER: _row("leader_member_id leadership_term_id", f"{_ENTER_INIT} {_TAKEN_OVER}"),
    },
    Action.APPEND_ENTRY: {
        _LEADER: _row(
            "termination_position termination_leadership_term_id module_leadership_term_id",
            "publication_position",
        )
    },
    Action.RECORD_LOG: {
        _LEADER: _row("publication_position", "recorded_position"),
        _OTHER: _row("log_subscription", "recorded_position"),
    }
    | _election(
        _row(
            "log_subscription log_replication replication_stop_position snapshot_log_position"
            f" publication_position {LOG}",
            "recorded_position",
        )
    ),
    Action.CONSUME_LOG: {
        _OTHER: _row(
            "log_subscription module_notified_commit_position recorded_position"
            " termination_position",
            "commit_position",
        ),
    }
    | _election(
        _row("notified_commit_position recorded_position replay_stop_position", "commit_position")
    ),
    Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT: {
        _OTHER: _row(
            "log_subscription module_notified_commit_position recorded_position"
            " termination_position",
            "commit_position module_leadership_term_id",
        ),
    }
    | _election(_REPLAYED),
    Action.UPDATE_LEADER_POSITION: {
        _LEADER: _row(
            f"module_leadership_term_id recorded_position {_COUNTED}",
            "members.log_position commit_position",
            _SHARED,
        ),
    },
    Action.UPDATE_FOLLOWER_POSITION: {
        _OTHER: _row("leader_member_id module_leadership_term_id recorded_position"),
    },
    Action.TAKE_SNAPSHOT: _active(
        _row(
            f"commit_position module_leadership_term_id {LOG}",
            f"{_SNAPSHOT_TERM} snapshot_log_position",
            {Lookup.MODULE_TERM},
        )
    ),
    Action.INITIATE_TERMINATION: {
        _LEADER: _row(
            "publication_position module_leadership_term_id",
            "termination_position termination_leadership_term_id",
        ),
    },
}

TERMINATE_READS: Final = frozenset(
    "termination_position termination_leadership_term_id commit_position leader_member_id"
    f" module_leadership_term_id {LOG}".split()
)
SENDER_RECORD: Final = frozenset(
    {
        (Action.ON_CANVASS_POSITION, _LEADER),
        (Action.ON_CANVASS_POSITION, _E_OTHER),
        (Action.ON_VOTE, _E_LEADER),
        (Action.ON_VOTE, _E_OTHER),
        (Action.ON_APPEND_POSITION, _LEADER),
        (Action.ON_APPEND_POSITION, _E_LEADER),
        (Action.ON_APPEND_POSITION, _E_OTHER),
        (Action.ON_CATCHUP_POSITION, _LEADER),
        (Action.ON_CATCHUP_POSITION, _E_LEADER),
    }
)
"""The steps that touch the record of the sender of their message, and no other."""


RECORDS: Final = frozenset(f"members.{name}" for name in MEMBER_COLUMNS)
FIELDS: Final = frozenset({*STATE_COLUMNS, *RECORDS, LOG})
"""All fields of a member state; ``members.vote`` is that field of every record."""

REGIME_FIELDS: Final = frozenset({"module_state", "role", "election_state"})
"""The fields that decide the regime, so that every step reads them."""

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
"""The fields that survive a restart."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The fields that the steps of one action in one regime depend on and change."""

    reads: frozenset[str]
    writes: frozenset[str]
    overwrites: frozenset[str]
    """Fields that are written without being read: they are erased from the state before."""
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

_ALL: Final = Frame(FIELDS, FIELDS, frozenset(), frozenset(Lookup))
_NOTHING: Final = Frame(REGIME_FIELDS, frozenset(), frozenset(), frozenset())


def frame_of(action: Action, regime: Regime, *, shows_votes: bool = False) -> Frame:
    """Give the frame of an action's steps in a regime.

    With ``shows_votes``, hardening HZ11, a canvass has the candidate term. In a regime in which the
    action is not enabled nothing is framed; a message that the regime ignores frames everything.
    """
    frame = _frame_of(action, regime)
    if shows_votes and action is Action.CANVASS:
        return replace(frame, reads=frame.reads | {"candidate_term_id"})
    return frame


@cache
def _frame_of(action: Action, regime: Regime) -> Frame:
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
        return _ALL if ACTION_INPUTS[action].message is None else _NOTHING
    read, writes, lookups = row
    return Frame(
        frozenset(read.split()) | REGIME_FIELDS,
        frozenset(writes.split()),
        frozenset(),
        lookups,
        "follower_member_id" if (action, regime) in SENDER_RECORD else "",
    )
