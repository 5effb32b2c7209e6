"""The safety monitors: the properties of ``Properties.tla``, evaluated on the recorded states.

A monitor has the name of its TLA+ property. The monitors follow one order of the steps that
respects causes (`canvass.conformance.causality`). If all steps are sound, that order is a behaviour
of ``Cluster.tla``. Each monitor reports its first violation only.

ElectionSafety
    Exact: which member entered LEADER_LOG_REPLICATION in which term.
OneVotePerTerm
    Exact, across restarts: the votes in favour that were sent, and a candidate's own vote.
CandidateTermMonotonic, CommitMonotonic, CommitBounded, RecordingLogCoherent
    Exact: they look at one state, or at two consecutive states. Commit positions start again after
    a Restart or Terminate. In 1.49 a leader's commit position may fall, because the leader sets it
    to the quorum position.
LogMatching, LeaderCompleteness, StateMachineSafety, CommittedIsDurable, NoTruncationBelowCommit
    Evaluated on the logs that follow from who recorded whose log up to where: which leadership
    wrote which positions. A log is unknown if it is unknown at the start, or after missing steps;
    unknown logs violate nothing. LeaderCompleteness and CommittedIsDurable compare logs of several
    members at one time, and are checked only if no step of the run is missing.
AppliedWithinCommitted
    Not a property of the spec, where it follows from StateMachineSafety. The monitor checks a part
    of it: no commit position, up to which services process the log, is beyond all positions that
    any leader ever announced as committed. Not checked for 1.49, whose members replay all that they
    have recorded.

A member that starts with another disk than it left (``source.diskReplaced``) is a new one: it may
vote again, its log is unknown, and what no quorum is known to have any more is not committed. What
a quorum still has must stay. ElectionSafety then ignores later leaders of terms in which the member
may have voted before.

Recorded checksums of logs are checked as well. LogStream is broken if a checksum contradicts the
log that follows from the steps, or is of a position that is not recorded. StateMachineSafety is
broken if checksums of one committed position differ. A checksum is of a committed log if its member
commits up to the position in the same step or in a later one, before the log is truncated below the
position, and before a step is missing.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.conformance import kernel_logs as kernel
from canvass.conformance.causality import CLOSED, LEADER, RESTART, Order, code
from canvass.conformance.sequence import Sequence
from canvass.conformance.verdict import LOG_STREAM
from canvass.traces.columns import Ints
from canvass.traces.layout import ACTION_NAMES

_ACTIVE: Final = code("module_state", "ACTIVE")
_CONSUMES: Final = np.zeros(len(ACTION_NAMES), dtype=np.int8)
_CONSUMES[ACTION_NAMES.index("ConsumeLog")] = kernel.CONSUMES_ENTRIES
_CONSUMES[ACTION_NAMES.index("OnReplayNewLeadershipTermEvent")] = kernel.CONSUMES_TERM


@dataclass(frozen=True, slots=True)
class Checksums:
    """Checksums of logs that some steps report, in the order of the rows."""

    row: Ints
    position: Ints
    checksum: Ints


def replay(
    sequence: Sequence, order: Order, checksums: Checksums, *, unknown: bool, whole: bool
) -> tuple[list[Violation], NDArray[np.uint64]]:
    """Follow the logs of a run.

    Parameters
    ----------
    sequence, order
        All events of the run, and their order of causes.
    checksums
        The checksums that are compared with the logs.
    unknown
        Whether nothing is known of the logs at the start.
    whole
        Whether no step of the run is missing.

    Returns
    -------
    tuple
        The first violation of each property of logs; and for each checksum the identity of the log
        up to its position, 0 if it is not known.
    """
    led = order.leaderships
    term = sequence.module_leadership_term_id
    leads = (sequence.role == LEADER) & (sequence.election_state == CLOSED)
    leads &= sequence.module_state == _ACTIVE
    begins = np.full(len(sequence), -1, dtype=np.int64)
    begins[led.row] = np.arange(len(led.row))
    bad = np.full((kernel.LOG_PROPERTIES, 2), -1, dtype=np.int64)
    witness = np.zeros(len(checksums.row), dtype=np.uint64)
    rows = np.arange(len(sequence) + 1 if len(checksums.row) else 0)
    events = kernel.Rows(
        member=sequence.member,
        before=order.before,
        recorded=sequence.recorded_position,
        commit=sequence.commit_position,
        consumes=_CONSUMES[sequence.action],
        module_term=term,
        leads=np.where(leads, term, -1),
        source=order.source,
        begins=begins,
        checksums=np.searchsorted(checksums.row, rows),
    )
    unknown_logs = (np.diff(order.starts) == 0) | unknown
    kernel.replay_logs(
        *(order.order, events, led.term, led.base),
        *(unknown_logs, whole, checksums.position, bad, witness),
    )
    broken = [
        Violation(int(order.order[place]), name, text.format(position))
        for (name, text), (place, position) in zip(_LOG_NAMES, bad.tolist(), strict=True)
        if place >= 0
    ]
    return broken, witness


PROPERTIES: Final = (
    "ElectionSafety",
    "OneVotePerTerm",
    "CandidateTermMonotonic",
    "LogMatching",
    "LeaderCompleteness",
    "CommittedIsDurable",
    "CommitMonotonic",
    "CommitBounded",
    "AppliedWithinCommitted",
    "NoTruncationBelowCommit",
    "StateMachineSafety",
    "RecordingLogCoherent",
)

_OF_KNOWN_STARTS: Final = frozenset({"AppliedWithinCommitted"})
_OF_WHOLE_RUNS: Final = _OF_KNOWN_STARTS | {"LeaderCompleteness", "CommittedIsDurable"}
_OF_KNOWN_LOGS: Final = _OF_WHOLE_RUNS | {"LogMatching", "StateMachineSafety"}

_TERMINATE: Final = ACTION_NAMES.index("Terminate")
_CANDIDATE: Final = code("election_state", "CANDIDATE_BALLOT")
_LOG_NAMES: Final = (  # In the order of their numbers.
    ("LogMatching", "two logs agree above {0}, and differ below"),
    ("LeaderCompleteness", "a leader lacks committed entries of older terms up to {0}"),
    ("StateMachineSafety", "commits other entries up to {0} than were committed before"),
    ("CommittedIsDurable", "no quorum has recorded what is committed up to {0}"),
    ("NoTruncationBelowCommit", "truncates the log at {0}, below its own commit position"),
    (LOG_STREAM, "consumes the log up to {0} as if a term began at another position"),
)


def not_asked(*, revision: str, unknown: bool, whole: bool) -> tuple[str, ...]:
    """Name the properties that are not checked for a run.

    Parameters
    ----------
    revision
        The revision of the spec that the run is checked against.
    unknown
        Whether nothing is known of the logs at the start.
    whole
        Whether no step of the run is missing.
    """
    if not whole:
        return _in_order(_OF_WHOLE_RUNS)
    return _in_order(_OF_KNOWN_STARTS if unknown or revision == "1.49" else frozenset())


def asked_in_part(*, revision: str, unknown: bool, whole: bool) -> tuple[str, ...]:
    """Name the properties that are checked only on the known parts of the logs."""
    if whole and not unknown:
        return ()
    left_out = not_asked(revision=revision, unknown=unknown, whole=whole)
    return _in_order(_OF_KNOWN_LOGS.difference(left_out))


def _in_order(names: Set[str]) -> tuple[str, ...]:
    return tuple(name for name in PROPERTIES if name in names)


@dataclass(frozen=True, slots=True)
class Violation:
    """A property that does not hold after a step."""

    row: int
    name: str
    text: str


def violations(
    sequence: Sequence, order: Order, *, revision: str, unknown: bool, complete: list[bool]
) -> list[Violation]:
    """Give the first violation of each property of one run."""
    found = [
        # CandidateTermMonotonic, CommitMonotonic, CommitBounded, RecordingLogCoherent, LogStream
        *_of_states(sequence, order, revision),
        # OneVotePerTerm
        *_of_votes(sequence, order),
        # ElectionSafety
        *_of_leaders(sequence, order),
        # LogMatching, LeaderCompleteness, StateMachineSafety, CommittedIsDurable,
        # NoTruncationBelowCommit, LogStream
        *_of_logs(sequence, order, unknown=unknown, complete=complete),
    ]
    left_out = not_asked(revision=revision, unknown=unknown, whole=all(complete))
    if "AppliedWithinCommitted" not in left_out:
        found += _of_applied(sequence, order)
    return found


def _first(order: Order, bad: Ints, name: str, text: str) -> list[Violation]:
    """Give the first of the bad rows in the order of causes."""
    if not len(bad):
        return []
    return [Violation(int(bad[np.argmin(order.rank[bad])]), name, text)]


_OF_STATES: Final = (
    ("CandidateTermMonotonic", "the candidate term on disk falls"),
    ("CommitMonotonic", "the commit position falls"),
    ("CommitBounded", "the commit position is beyond the recorded position"),
    (
        "RecordingLogCoherent",
        "terms of the recording log do not rise, or do not begin where the one before ended",
    ),
    (LOG_STREAM, "a checksum is reported of the log beyond the recorded position"),
)


def _of_states(sequence: Sequence, order: Order, revision: str) -> list[Violation]:
    commit, role = sequence.commit_position, sequence.role
    recorded = sequence.recorded_position
    persisted = sequence.persisted_candidate_term_id
    action, coherent = sequence.action, sequence.coherent
    previous = np.maximum(order.before, 0)
    known = order.before >= 0
    rises = known & (action != RESTART) & (action != _TERMINATE)
    if revision == "1.49":
        rises &= role[previous] != LEADER
    given = np.zeros(len(sequence), dtype=np.bool_)
    for row in np.flatnonzero(order.before == kernel.REPLACED).tolist():
        # A member has committed nothing of the snapshot on another disk.
        own = slice(row, int(order.starts[sequence.member[row] + 1]))
        given[own] |= commit[own] <= commit[row]
    bad = (
        known & (persisted < persisted[previous]),
        rises & (commit < commit[previous]),
        (commit > recorded) & ~given,
        ~coherent,
        sequence.overreports,
    )
    return [
        violation
        for wrong, (name, text) in zip(bad, _OF_STATES, strict=True)
        for violation in _first(order, np.flatnonzero(wrong), name, text)
    ]


def _conflicts(order: Order, rows: Ints, keys: Ints, values: Ints) -> Ints:
    """Give the rows whose value differs from the first one of the same key, in order of causes."""
    # Values hardly ever differ. Without an order of causes that is far cheaper to see.
    if not _differ(keys, values):
        return rows[:0]
    by_cause = np.argsort(order.rank[rows], kind="stable")
    rows, keys, values = rows[by_cause], keys[by_cause], values[by_cause]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    differing: Ints = rows[values != values[first[inverse]]]
    return differing


def _differ(keys: Ints, values: Ints) -> bool:
    """Tell whether a key has two values."""
    # Keys mostly rise along each stream, so that a stable sort is fast.
    by_key = np.argsort(keys, kind="stable")
    same, held = keys[by_key], values[by_key]
    return bool(((same[1:] == same[:-1]) & (held[1:] != held[:-1])).any())


def _of_votes(sequence: Sequence, order: Order) -> list[Violation]:
    # For each send the candidate's term and the candidate; -1 if it is no granted vote.
    sent = np.flatnonzero(sequence.vote_term != -1)
    state = sequence.election_state
    candidacies = _candidate_rows(state, order.before)
    rows = np.concatenate([_rows_that_have(sequence.sends_of, sent), candidacies])
    terms = np.concatenate([sequence.vote_term[sent], sequence.candidate_term_id[candidacies]])
    candidates = np.concatenate([sequence.vote_candidate[sent], sequence.member[candidacies]])
    _, term_numbers = np.unique(terms, return_inverse=True)
    # With another disk a member is a new one.
    voters = sequence.member + np.cumsum(order.before == kernel.REPLACED)
    keys = term_numbers * (int(voters[-1]) + 1) + voters[rows]
    bad = _conflicts(order, rows, keys, candidates)
    return _first(order, bad, "OneVotePerTerm", "votes for a second candidate in one term")


def _candidate_rows(state: Ints, before: Ints) -> Ints:
    """Give the rows in which a member becomes a candidate."""
    was = state[np.maximum(before, 0)]
    return np.flatnonzero((state == _CANDIDATE) & (before >= 0) & (was != _CANDIDATE))


def _rows_that_have(counts: Ints, places: Ints) -> Ints:
    """Give the rows of some items by their rising places; ``counts`` has the items of each row."""
    return np.searchsorted(np.cumsum(counts, dtype=np.int64), places, side="right")


def _of_leaders(sequence: Sequence, order: Order) -> list[Violation]:
    led, rank = order.leaderships, order.rank
    bad = _conflicts(order, led.row, led.term, led.member)
    persisted = sequence.persisted_candidate_term_id
    terms = led.term[np.searchsorted(led.row, bad)]
    for row in np.flatnonzero(order.before == kernel.REPLACED).tolist() if len(bad) else ():
        # In a term in which it voted before, a member with another disk may vote again.
        voted = persisted[row - 1] if sequence.step[row] else -1
        sound = (terms > voted) | (rank[bad] < rank[row])
        bad, terms = bad[sound], terms[sound]
    return _first(order, bad, "ElectionSafety", "leads a term that another member has led")


def _of_applied(sequence: Sequence, order: Order) -> list[Violation]:
    commit = sequence.commit_position
    leads = sequence.role == LEADER
    announced = int(sequence.commit_sent.max(initial=0))
    said = max(announced, int(commit.max(where=leads, initial=0)))
    bad = np.flatnonzero(commit > said)
    text = f"processes the log beyond {said}, which is all that was ever said to be committed"
    return _first(order, bad, "AppliedWithinCommitted", text)


def _of_logs(
    sequence: Sequence, order: Order, *, unknown: bool, complete: list[bool]
) -> list[Violation]:
    checksums = _contradicted(sequence)
    broken, witness = replay(sequence, order, checksums, unknown=unknown, whole=all(complete))
    return broken + _of_checksums(sequence, order, checksums, witness)


def _contradicted(sequence: Sequence) -> Checksums:
    """Give the checksums of positions that have different checksums.

    Only checksums of one position can contradict each other, as equal logs are equally long.
    """
    twice = _with_several_values(sequence)
    if not len(twice):
        empty = np.empty(0, dtype=np.int64)
        return Checksums(empty, empty, empty)
    places = np.flatnonzero(np.isin(np.maximum(sequence.checksums[:, 0], 0), twice))
    position, checksum = np.ascontiguousarray(sequence.checksums[places].T)
    return Checksums(_rows_that_have(sequence.checksums_of, places), position, checksum)


def _with_several_values(sequence: Sequence) -> Ints:
    """Give the positions with different recorded checksums; a position below 0 counts as 0."""
    positions, checksums = np.maximum(sequence.checksums[:, 0], 0), sequence.checksums[:, 1]
    # Positions mostly rise along each stream, so that a stable sort is fast.
    by_position = np.argsort(positions, kind="stable")
    positions, checksums = positions[by_position], checksums[by_position]
    same = positions[1:] == positions[:-1]
    return np.unique(positions[1:][same & (checksums[1:] != checksums[:-1])])


def _of_checksums(
    sequence: Sequence, order: Order, checksums: Checksums, witness: NDArray[np.uint64]
) -> list[Violation]:
    if not len(checksums.row):
        return []
    seen = np.flatnonzero(witness != 0)
    bad = _conflicts(
        order, checksums.row[seen], witness[seen].view(np.int64), checksums.checksum[seen]
    )
    found = _first(
        order, bad, LOG_STREAM, "the log's checksum is not that of the log it was recorded from"
    )
    position = np.maximum(checksums.position, 0)
    reported = zip(checksums.row.tolist(), position.tolist(), strict=True)
    committed = np.array([_row_of_commit(sequence, order.before, *each) for each in reported])
    applied = np.flatnonzero(committed >= 0)
    bad = _conflicts(order, committed[applied], position[applied], checksums.checksum[applied])
    return found + _first(
        order, bad, "StateMachineSafety", "a committed log differs from another's"
    )


def _row_of_commit(sequence: Sequence, before: Ints, row: int, position: int) -> int:
    """Give the row in which a member commits its log up to the position of a checksum, or -1.

    That is the first one, from the row on that reports the checksum, with a commit position that
    reaches the position. It is -1 if the log was truncated below the position before, or steps are
    missing in between: the member may have committed other entries then.
    """
    start, width = row, 64
    while start < len(before):
        part = slice(start, start + width)
        gaps = before[part] < 0
        gaps[0] &= start != row
        ends = gaps | (sequence.recorded_position[part] < position)
        found = np.flatnonzero(ends | (sequence.commit_position[part] >= position))
        if len(found):
            place = int(found[0])
            return -1 if ends[place] else start + place
        start, width = start + width, 8 * width
    return -1
