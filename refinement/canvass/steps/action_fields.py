"""The frames of steps: the fields that each action reads and writes.

An action leaves most fields of a member's state alone. `frame_of` gives, for an action and the
regime of a member, the fields that the step can depend on (``reads``) and those that it can change
(``writes``). All other fields are the *frame* of the step: they must be equal before and after. No
outcome depends on them, so they are erased from the canonical form. `tables` has the
frames and the layouts as arrays, for the kernel.

Too many fields here cost more canonical steps; too few would be wrong. So tests change erased
fields at random and check that the outcome stays. Nothing here looks at values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from canvass.cluster.member import ElectionState
from canvass.cluster.messages import NULL_VALUE
from canvass.traces.actions import ACTION_INPUTS, ACTIONS, Action
from canvass.traces.columns import Ints
from canvass.traces.schema import (
    FLAG_COLUMNS,
    INPUT_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_COLUMNS,
    MESSAGE_INDEX,
    MESSAGE_PLACES,
    STATE_COLUMNS,
    STATE_ENUMS,
    kind,
)

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


PARTS: Final = {
    "LOG": "recording_log",
    "CLOSED": "CLOSED_LEADER CLOSED_OTHER",
    "ELECTION": "ELECTION_LEADER ELECTION_OTHER",
    "ACTIVE": "CLOSED ELECTION",
    "RECORD_POSITION": "members.leadership_term_id members.log_position",
    "RECORD_VOTE": "members.candidate_term_id members.vote members.ballot_sent",
    "FORGET_RECORDS": "RECORD_POSITION RECORD_VOTE",
    "END_REPLICATION": (
        "log_replication replication_leadership_term_id replication_stop_position"
        " replication_term_base_log_position"
    ),
    "ENTER_INIT": "END_REPLICATION catchup_join_position replay_stop_position FORGET_RECORDS",
    "ENTER_CANVASS": "ENTER_INIT leader_member_id",
    "CANVASS_READS": "leadership_term_id append_position",
    "SNAPSHOT_TERM": "snapshot_leadership_term_id snapshot_term_base_log_position",
    "BEGIN_ELECTION": (
        "ENTER_CANVASS publication_position log_subscription catchup_destination append_position"
        " notified_commit_position candidate_term_id persisted_candidate_term_id"
        " leadership_term_id"
    ),
    "BEGIN_READS": "recorded_position",
    "TERMINATION": "termination_position termination_leadership_term_id",
    "NEW_ELECTION": "BEGIN_ELECTION log_leadership_term_id graceful_closed_leader_id TERMINATION",
    "NEW_ELECTION_READS": "BEGIN_READS module_leadership_term_id",
    "ENTER_LEADER": "leader_member_id leadership_term_id publication_position",
    "ELECTION_COMPLETE": (
        "module_leadership_term_id module_notified_commit_position RECORD_VOTE"
        " log_leadership_term_id leadership_term_id candidate_term_id append_position"
        " notified_commit_position catchup_join_position graceful_closed_leader_id commit_position"
    ),
    "TAKEN_OVER": (
        "module_leadership_term_id module_notified_commit_position commit_position"
        " publication_position"
    ),
    "COUNTED": "RECORD_POSITION LOG leader_member_id",
    "QUORUM_READS": "COUNTED append_position leadership_term_id commit_position",
    "LEADERSHIP_READS": "QUORUM_READS log_leadership_term_id module_leadership_term_id",
}
"""Words of the table that stand for others. Parts that operators share are named as in the spec."""

TABLE: Final = """
OnCanvassPosition
  CLOSED_LEADER SENDER: module_leadership_term_id publication_position commit_position LOG ->
      RECORD_POSITION members.catchup_replay ? AFTER_MESSAGE_LOG_TERM MODULE_TERM
  ELECTION_LEADER: QUORUM_READS -> ENTER_INIT graceful_closed_leader_id ? MESSAGE_LOG_TERM
      AFTER_MESSAGE_LOG_TERM RECORD_TERMS
  ELECTION_OTHER SENDER: -> RECORD_POSITION graceful_closed_leader_id
OnRequestVote
  CLOSED_LEADER CLOSED_OTHER: module_leadership_term_id
  CLOSED_NEWER: NEW_ELECTION_READS SNAPSHOT_TERM -> NEW_ELECTION LOG
  ELECTION_LEADER: QUORUM_READS log_leadership_term_id -> candidate_term_id
      persisted_candidate_term_id FORGET_RECORDS ? MESSAGE_LOG_TERM AFTER_MESSAGE_LOG_TERM
      RECORD_TERMS
  ELECTION_OTHER: log_leadership_term_id append_position -> candidate_term_id
      persisted_candidate_term_id FORGET_RECORDS
OnVote
  ELECTION SENDER: candidate_term_id -> RECORD_POSITION members.candidate_term_id members.vote
OnNewLeadershipTerm
  CLOSED_LEADER: module_leadership_term_id
  CLOSED_OTHER: module_leadership_term_id leader_member_id -> module_notified_commit_position
  CLOSED_NEWER: NEW_ELECTION_READS SNAPSHOT_TERM -> NEW_ELECTION LOG
  ELECTION: CANVASS_READS SNAPSHOT_TERM -> ENTER_CANVASS graceful_closed_leader_id
      leadership_term_id candidate_term_id append_position recorded_position
      notified_commit_position log_leadership_term_id LOG ? OWN_LOG_TERM
OnAppendPosition
  CLOSED_LEADER SENDER: publication_position module_leadership_term_id -> RECORD_POSITION
      members.catchup_replay
  ELECTION SENDER: publication_position leadership_term_id -> RECORD_POSITION members.catchup_replay
OnCommitPosition
  CLOSED_LEADER: module_leadership_term_id
  CLOSED_OTHER: module_leadership_term_id leader_member_id -> module_notified_commit_position
  CLOSED_NEWER: NEW_ELECTION_READS SNAPSHOT_TERM -> NEW_ELECTION LOG
  ELECTION_LEADER: leader_member_id leadership_term_id -> notified_commit_position ENTER_INIT
  ELECTION_OTHER: leader_member_id leadership_term_id -> notified_commit_position
OnCatchupPosition
  CLOSED_LEADER ELECTION_LEADER SENDER: module_leadership_term_id -> members.catchup_replay
OnStopCatchup
  ACTIVE: module_leadership_term_id -> catchup_destination
OnTerminationPosition
  ACTIVE: module_leadership_term_id -> TERMINATION
ElectionInit
  ELECTION: BEGIN_READS SNAPSHOT_TERM -> BEGIN_ELECTION members.catchup_replay
      log_leadership_term_id LOG
Canvass
  ELECTION: RECORD_POSITION log_leadership_term_id append_position leadership_term_id
      graceful_closed_leader_id
Nominate
  ELECTION: log_leadership_term_id append_position leadership_term_id -> candidate_term_id
      persisted_candidate_term_id RECORD_VOTE
CandidateBallot
  ELECTION: candidate_term_id append_position log_leadership_term_id graceful_closed_leader_id
      SNAPSHOT_TERM -> ENTER_CANVASS ENTER_LEADER LOG
FollowerBallot
  ELECTION: CANVASS_READS -> ENTER_CANVASS
LeaderLogReplication
  ELECTION: LEADERSHIP_READS -> members.log_position ? AFTER_OWN_LOG_TERM RECORD_TERMS
LeaderReplay
  ELECTION: LEADERSHIP_READS -> RECORD_POSITION replay_stop_position ? AFTER_OWN_LOG_TERM
      RECORD_TERMS
LeaderInit
  ELECTION: leadership_term_id commit_position SNAPSHOT_TERM -> module_leadership_term_id
      log_leadership_term_id LOG ? LEADERSHIP_TERM
LeaderReady
  ELECTION: LEADERSHIP_READS members.vote -> members.log_position publication_position
      ELECTION_COMPLETE ? AFTER_OWN_LOG_TERM RECORD_TERMS
FollowerLogReplication
  ELECTION: recorded_position leadership_term_id SNAPSHOT_TERM snapshot_log_position ->
      append_position notified_commit_position LOG log_leadership_term_id ENTER_CANVASS ?
      REPLICATION_TERM
FollowerReplay
  ELECTION: commit_position notified_commit_position log_leadership_term_id CANVASS_READS ->
      ENTER_CANVASS
FollowerCatchupInit
  ELECTION: leader_member_id leadership_term_id commit_position -> log_subscription
      catchup_destination
FollowerCatchupAwait
  ELECTION: SNAPSHOT_TERM leadership_term_id commit_position -> log_leadership_term_id LOG ?
      LEADERSHIP_TERM
FollowerCatchup
  ELECTION: commit_position catchup_join_position notified_commit_position catchup_destination
      leader_member_id module_leadership_term_id log_leadership_term_id recorded_position ->
      append_position
FollowerLogInit
  ELECTION: -> log_subscription
FollowerLogAwait
  ELECTION: SNAPSHOT_TERM leadership_term_id commit_position -> log_leadership_term_id
      append_position LOG ? LEADERSHIP_TERM
FollowerReady
  ELECTION: leader_member_id -> ELECTION_COMPLETE
EnterElection
  CLOSED_LEADER CLOSED_OTHER: NEW_ELECTION_READS SNAPSHOT_TERM -> NEW_ELECTION LOG
# The duty cycle that should close the election may fail.
ElectionError
  ELECTION_LEADER: LEADERSHIP_READS members.vote -> ENTER_INIT TAKEN_OVER ? AFTER_OWN_LOG_TERM
      RECORD_TERMS
  ELECTION_OTHER: leader_member_id leadership_term_id -> ENTER_INIT TAKEN_OVER
AppendEntry
  CLOSED_LEADER: termination_position termination_leadership_term_id module_leadership_term_id
      -> publication_position
RecordLog
  CLOSED_LEADER: publication_position -> recorded_position
  CLOSED_OTHER: log_subscription -> recorded_position
  ELECTION: log_subscription log_replication replication_stop_position snapshot_log_position
      publication_position LOG -> recorded_position
ConsumeLog
  CLOSED_OTHER: log_subscription module_notified_commit_position recorded_position
      termination_position -> commit_position
  ELECTION: notified_commit_position recorded_position replay_stop_position -> commit_position
OnReplayNewLeadershipTermEvent
  CLOSED_OTHER: log_subscription module_notified_commit_position recorded_position
      termination_position -> commit_position module_leadership_term_id
  ELECTION: notified_commit_position recorded_position replay_stop_position SNAPSHOT_TERM ->
      commit_position module_leadership_term_id log_leadership_term_id LOG ? INPUT_TERM
UpdateLeaderPosition
  CLOSED_LEADER: module_leadership_term_id recorded_position COUNTED -> members.log_position
      commit_position ? RECORD_TERMS
UpdateFollowerPosition
  CLOSED_OTHER: leader_member_id module_leadership_term_id recorded_position
TakeSnapshot
  ACTIVE: commit_position module_leadership_term_id LOG -> SNAPSHOT_TERM snapshot_log_position
      ? MODULE_TERM
InitiateTermination
  CLOSED_LEADER: publication_position module_leadership_term_id -> termination_position
      termination_leadership_term_id
"""
"""The frames of each action: a line for each regime, ``REGIME: reads -> writes ? terms``.

These are the fields that the action reads and writes there, and the terms that it may look up in
the recording log. ``SENDER`` marks a step that touches the record of the sender of its message, and
no other record.

An operator that may keep a field that it writes reads it, too. A single member leads its next term
in the step that starts the election; with HZ5 in force it opens the term then.
"""

TERMINATE_READS: Final = frozenset(
    "termination_position termination_leadership_term_id commit_position leader_member_id"
    f" module_leadership_term_id {LOG}".split()
)
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
    refused = _ALL if ACTION_INPUTS[action].message is None else _NOTHING
    return _frames().get((action, regime), refused)


@cache
def _frames() -> dict[tuple[Action, Regime], Frame]:
    """Read the table."""
    found, action = dict[tuple[Action, Regime], Frame](), ""
    for line in TABLE.replace("\n      ", " ").splitlines():
        if not line.startswith("  "):
            action = line
            continue
        regimes, _, row = line.partition(":")
        row, _, lookups = row.partition("?")
        reads, _, writes = row.partition("->")
        *names, last = _words(regimes)
        frame = Frame(
            frozenset(_words(reads)) | REGIME_FIELDS,
            frozenset(_words(writes)),
            frozenset(),
            frozenset(Lookup[name] for name in lookups.split()),
            "follower_member_id" if last == "SENDER" else "",
        )
        for name in names if last == "SENDER" else (*names, last):
            found[Action(action), Regime[name]] = frame
    return found


def _words(text: str) -> Iterator[str]:
    for word in text.split():
        yield from _words(PARTS[word]) if word in PARTS else (word,)


# --- as arrays ------------------------------------------------------------------------------------

REGIMES: Final = len(Regime)


class Tables(NamedTuple):
    """The frames and layouts for the kernel; each row of a list ends with -1."""

    untouched: Ints
    """Frame: state columns that must be equal before and after."""
    before: Ints
    """Frame: state columns kept of the state before."""
    after: Ints
    records: Ints
    """Frame x record column: 1 kept before, 2 kept after, 4 untouched."""
    record_of: Ints
    """Frame: message column that names the only record touched, -1 if all may be."""
    log: Ints
    """Frame: whether the recording log is kept."""
    lookups: Ints
    """Frame: the mask of `Lookup`."""
    inputs: Ints
    """Action: input columns read."""
    newer: Ints
    """Action: column of the message's term that starts an election, -1 for none."""
    fields: Ints
    """Message type: its columns."""
    state_kinds: Ints
    record_kinds: Ints
    input_kinds: Ints
    message_kinds: Ints
    erased_record: Ints
    """The cells of a member record that a canonical step does not touch."""
    leader_states: Ints
    """Election state: whether it is a leader's."""


def _lists(rows: list[list[int]]) -> Ints:
    width = max(len(row) for row in rows) + 1
    out = np.full((len(rows), width), -1, dtype=np.int64)
    for place, row in enumerate(rows):
        out[place, : len(row)] = row
    return out


def _kinds(columns: tuple[str, ...]) -> Ints:
    return np.array([kind(name) for name in columns], dtype=np.int64)


@cache
def tables() -> Tables:
    """Give the tables.

    The last frame is that of a canvass under hardening HZ11.
    """
    frames = [frame_of(action, regime) for action in ACTIONS for regime in Regime]
    frames.append(frame_of(Action.CANVASS, Regime.ELECTION_OTHER, shows_votes=True))
    state = [(place, name) for place, name in enumerate(STATE_COLUMNS)]
    return Tables(
        untouched=_lists([[p for p, name in state if name in f.untouched] for f in frames]),
        before=_lists([[p for p, name in state if name in f.before] for f in frames]),
        after=_lists([[p for p, name in state if name in f.after] for f in frames]),
        records=np.array(
            [
                [
                    (f"members.{name}" in f.before)
                    + 2 * (f"members.{name}" in f.after)
                    + 4 * (f"members.{name}" in f.untouched)
                    for name in MEMBER_COLUMNS
                ]
                for f in frames
            ],
            dtype=np.int64,
        ),
        record_of=np.array(
            [MESSAGE_INDEX[f.record_of] if f.record_of else -1 for f in frames], np.int64
        ),
        log=np.array([LOG in f.after for f in frames], dtype=np.int64),
        lookups=np.array([sum(1 << lookup for lookup in f.lookups) for f in frames], np.int64),
        inputs=_lists(
            [
                [p for p, name in enumerate(INPUT_COLUMNS) if name in ACTION_INPUTS[action].fields]
                for action in ACTIONS
            ]
        ),
        newer=np.array(
            [
                MESSAGE_INDEX[NEWER_TERM_FIELD[action]] if action in NEWER_TERM_FIELD else -1
                for action in ACTIONS
            ],
            dtype=np.int64,
        ),
        fields=_lists([list(places) for places in MESSAGE_PLACES]),
        state_kinds=_kinds(STATE_COLUMNS),
        record_kinds=_kinds(MEMBER_COLUMNS),
        input_kinds=_kinds(INPUT_COLUMNS),
        message_kinds=_kinds(MESSAGE_COLUMNS),
        erased_record=np.array(
            [0 if name in FLAG_COLUMNS else NULL_VALUE for name in MEMBER_COLUMNS], dtype=np.int64
        ),
        leader_states=np.array(
            [state in LEADER_STATES for state in STATE_ENUMS["election_state"]], dtype=np.int64
        ),
    )


def tables_as_bytes() -> bytes:
    """Give all tables as bytes, for digests of data that depends on the canonical form."""
    return b"".join(repr(table.shape).encode() + table.tobytes() for table in tables())


def form_digest() -> str:
    """Give the digest of the fields that the canonical form keeps."""
    return hashlib.sha256(tables_as_bytes()).hexdigest()
