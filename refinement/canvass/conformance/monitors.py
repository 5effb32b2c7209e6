"""The safety monitors: properties of ``Properties.tla``, seen from the recorded states of a run.

Each has the name of the TLA+ property. They are evaluated along one order of the steps that
respects causes (`canvass.conformance.causality`), which is a behaviour of ``Cluster.tla`` if all
steps are sound. What each can see:

ElectionSafety
    Exactly: who entered LEADER_LOG_REPLICATION in which term.
OneVotePerTerm
    Exactly, across restarts: votes in favour that were sent, and a candidate's for itself.
CandidateTermMonotonic, CommitMonotonic, CommitBounded, RecordingLogCoherent
    Exactly: they look at one state, or at two that follow each other. A life of the process ends
    with a Restart or Terminate. In 1.49 a leader's commit position may fall: it is set to the
    quorum position.
LogMatching, LeaderCompleteness, StateMachineSafety, CommittedIsDurable, NoTruncationBelowCommit
    On the log that follows from who recorded whose log up to where: which leadership wrote which
    positions. Where checksums of the log are recorded they must agree with that, which is reported
    as log-stream causality, and committed ones with each other, which is StateMachineSafety. A
    member whose log is not known at the start, or was lost sight of, is given the benefit of the
    doubt. LeaderCompleteness and CommittedIsDurable are about what holds elsewhere at that time,
    and are checked only if no step of the run is missing. Only the first violation of each is
        reported.
AppliedWithinCommitted
    No TLA+ property of its own; follows from StateMachineSafety there. In part: nobody's commit
    position, up to which services process, is beyond all that any leader ever said to be
    committed. Not asked of 1.49, which replays what it has recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.conformance import kernel_logs as kernel
from canvass.conformance.causality import LEADER, RESTART, Order, code
from canvass.conformance.replay import Checksums, replay
from canvass.conformance.sequence import Sequence
from canvass.traces.columns import Ints
from canvass.traces.layout import ACTION_NAMES

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
LOG_STREAM: Final = "LogStream"
"""Not a property of the protocol: checksums that contradict who recorded whose log, and terms that
do not begin where the log is consumed as if they did.
"""

_TERMINATE: Final = ACTION_NAMES.index("Terminate")
_CANDIDATE: Final = code("election_state", "CANDIDATE_BALLOT")
_LOG_NAMES: Final = {
    kernel.LOG_MATCHING: ("LogMatching", "two logs agree above {0}, and differ below"),
    kernel.LEADER_COMPLETENESS: (
        "LeaderCompleteness",
        "a leader lacks what was committed in older terms up to {0}",
    ),
    kernel.STATE_MACHINE_SAFETY: (
        "StateMachineSafety",
        "commits up to {0}, where something else was committed before",
    ),
    kernel.COMMITTED_IS_DURABLE: (
        "CommittedIsDurable",
        "no quorum has recorded what is committed up to {0}",
    ),
    kernel.NO_TRUNCATION_BELOW_COMMIT: (
        "NoTruncationBelowCommit",
        "cuts the log at {0}, below the own commit position",
    ),
    kernel.MISREAD: (
        LOG_STREAM,
        "consumes the log up to {0} as if terms began elsewhere in it than they do",
    ),
}


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
        *_of_states(sequence, order, revision),
        *_of_votes(sequence, order),
        *_of_leaders(order),
        *_of_logs(sequence, order, unknown=unknown, complete=complete),
    ]
    if revision != "1.49" and not unknown and all(complete):
        found += _of_applied(sequence, order)
    return found


def _first(order: Order, bad: Ints, name: str, text: str) -> list[Violation]:
    """Give the first of the bad rows in the order of causes."""
    if not len(bad):
        return []
    return [Violation(int(bad[np.argmin(order.rank[bad])]), name, text)]


def _of_states(sequence: Sequence, order: Order, revision: str) -> list[Violation]:
    commit = sequence.kept("commit_position")
    persisted = sequence.kept("persisted_candidate_term_id")
    previous = np.maximum(order.before, 0)
    known = order.before >= 0
    rises = known & (sequence.action != RESTART) & (sequence.action != _TERMINATE)
    if revision == "1.49":
        rises &= sequence.kept("role")[previous] != LEADER
    return [
        *_first(
            order,
            np.flatnonzero(known & (persisted < persisted[previous])),
            "CandidateTermMonotonic",
            "the candidate term on disk falls",
        ),
        *_first(
            order,
            np.flatnonzero(rises & (commit < commit[previous])),
            "CommitMonotonic",
            "the commit position falls",
        ),
        *_first(
            order,
            np.flatnonzero(commit > sequence.kept("recorded_position")),
            "CommitBounded",
            "the commit position is beyond what is recorded",
        ),
        *_first(
            order,
            np.flatnonzero(~sequence.coherent),
            "RecordingLogCoherent",
            "terms of the recording log do not rise, or do not begin where the one before ended",
        ),
    ]


def _conflicts(order: Order, rows: Ints, keys: Ints, values: Ints) -> Ints:
    """Give the rows whose value differs from the first one of the same key, in order of causes."""
    # That hardly ever one differs is seen in any order of the rows, by a sort that is far cheaper.
    if not _differ(keys, values):
        return rows[:0]
    by_cause = np.argsort(order.rank[rows], kind="stable")
    rows, keys, values = rows[by_cause], keys[by_cause], values[by_cause]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    differing: Ints = rows[values != values[first[inverse]]]
    return differing


def _differ(keys: Ints, values: Ints) -> bool:
    """Tell whether a key has two values."""
    # Keys mostly rise along each stream, which a stable sort makes use of.
    by_key = np.argsort(keys, kind="stable")
    same, held = keys[by_key], values[by_key]
    return bool(((same[1:] == same[:-1]) & (held[1:] != held[:-1])).any())


def _of_votes(sequence: Sequence, order: Order) -> list[Violation]:
    sent = np.flatnonzero(sequence.column("votes", 0) != -1)
    state = sequence.kept("election_state")
    previous = np.maximum(order.before, 0)
    stands = np.flatnonzero(
        (state == _CANDIDATE) & ((order.before < 0) | (state[previous] != _CANDIDATE))
    )
    stands = stands[order.before[stands] != -2]
    rows = np.concatenate([_rows_that_have(sequence.sends_of, sent), stands])
    votes = [sequence.column("votes", place)[sent] for place in (0, 1)]
    terms = np.concatenate([votes[0], sequence.kept("candidate_term_id")[stands]])
    candidates = np.concatenate([votes[1], sequence.member[stands]])
    _, term_numbers = np.unique(terms, return_inverse=True)
    keys = term_numbers * len(order.starts) + sequence.member[rows]
    bad = _conflicts(order, rows, keys, candidates)
    return _first(order, bad, "OneVotePerTerm", "votes for a second candidate in one term")


def _rows_that_have(counts: Ints, places: Ints) -> Ints:
    """Give the rows that things belong to, of which each row has so many, by their places."""
    ends = np.cumsum(counts, dtype=np.int64)
    return np.searchsorted(ends, places, side="right")


def _of_leaders(order: Order) -> list[Violation]:
    led = order.leaderships
    bad = _conflicts(order, led.row, led.term, led.member)
    return _first(order, bad, "ElectionSafety", "leads a term that another member has led")


def _of_applied(sequence: Sequence, order: Order) -> list[Violation]:
    commit = sequence.kept("commit_position")
    leads = sequence.kept("role") == LEADER
    announced = int(sequence.column("commit_sent").max(initial=0))
    said = max(announced, int(commit.max(where=leads, initial=0)))
    bad = np.flatnonzero(commit > said)
    text = f"processes the log beyond {said}, which is all that was ever said to be committed"
    return _first(order, bad, "AppliedWithinCommitted", text)


def _of_logs(
    sequence: Sequence, order: Order, *, unknown: bool, complete: list[bool]
) -> list[Violation]:
    checksums = _contradicted(sequence)
    found = replay(sequence, order, checksums, unknown=unknown, whole=all(complete))
    return [
        Violation(found.first_bad[number], name, text.format(found.detail[number]))
        for number, (name, text) in _LOG_NAMES.items()
        if found.first_bad[number] >= 0
    ] + _of_checksums(sequence, order, checksums, found.witness)


def _contradicted(sequence: Sequence) -> Checksums:
    """Give the checksums of positions that have several.

    Equal logs are equally long: where a position has one checksum, none contradicts another.
    """
    twice = _with_several_values(sequence)
    empty = np.empty(0, dtype=np.int64)
    parts, base = [(empty, empty, empty)], 0
    if len(twice):
        for part in sequence.checksum_parts():
            places = np.flatnonzero(np.isin(np.maximum(part[:, 0], 0), twice))
            parts.append((places + base, *part[places].T))
            base += len(part)
    places, position, checksum = map(np.concatenate, zip(*parts, strict=True))
    if len(places):
        places = _rows_that_have(sequence.column("checksums_of"), places)
    return Checksums(places, position, checksum)


def _with_several_values(sequence: Sequence) -> Ints:
    """Give the positions with different recorded checksums; a position below 0 counts as 0."""
    positions = checksums = twice = np.empty(0, dtype=np.int64)
    for part in sequence.checksum_parts():
        positions = np.concatenate([positions, np.maximum(part[:, 0], 0)])
        checksums = np.concatenate([checksums, part[:, 1]])
        # Positions mostly rise along each stream, which a stable sort makes use of.
        by_position = np.argsort(positions, kind="stable")
        positions, checksums = positions[by_position], checksums[by_position]
        is_new = np.ones(len(positions), dtype=np.bool_)
        is_new[1:] = positions[1:] != positions[:-1]
        differs = ~is_new[1:] & (checksums[1:] != checksums[:-1])
        if differs.any():
            twice = np.union1d(twice, positions[1:][differs])
        # Of each position the first one is enough: any other one differs from it or equals it.
        positions, checksums = positions[is_new], checksums[is_new]
    return twice


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
    commit = sequence.kept("commit_position")[checksums.row]
    applied = np.flatnonzero(checksums.position <= commit)
    bad = _conflicts(
        order,
        checksums.row[applied],
        checksums.position[applied],
        checksums.checksum[applied],
    )
    return found + _first(
        order, bad, "StateMachineSafety", "a committed log differs from another's"
    )
