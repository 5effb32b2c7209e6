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

Recorded checksums of logs are checked as well. LogStream is broken if a checksum contradicts the
log that follows from the steps, or is of a position that is not recorded. StateMachineSafety is
broken if checksums of one committed position differ. A checksum is of a committed log if its member
commits up to the position in the same step or in a later one, before the log is truncated below the
position, and before a step is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from canvass.conformance import kernel_logs as kernel
from canvass.conformance import long_arrays
from canvass.conformance.causality import CLOSED, LEADER, RESTART, Leaderships, Order, code
from canvass.conformance.sequence import Sequence, Spans, wide
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


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of following the logs."""

    first_bad: list[int]
    """For each property of ``LOG_PROPERTIES`` the row in which it fails first, or -1."""
    detail: list[int]
    """A position that belongs to the failure."""
    witness: NDArray[np.uint64]
    """For each checksum the identity of the log up to its position; 0 if it is not known."""


@dataclass(frozen=True, slots=True)
class _Window:
    """Consecutive steps of the order of causes, and their rows."""

    place: int
    """The place of the first step in the order."""
    order: Ints
    """The steps, as rows of the window."""
    spans: Spans
    """The rows of the run that are in the window."""

    def of(self, cells: Ints) -> Ints:
        """Give the cells of an array in the window."""
        return np.concatenate([cells[first:end] for first, end in self.spans])


class _Steps(NamedTuple):
    """The arguments of `replay_logs` with an item for each row of a window, under their names."""

    member: NDArray[np.int8]
    before: Ints
    recorded: Ints
    commit: Ints
    consumes: NDArray[np.int8]
    module_term: Ints
    lead_term: Ints
    source: Ints
    starts_leadership: Ints


def replay(
    sequence: Sequence, order: Order, checksums: Checksums, *, unknown: bool, whole: bool
) -> Replayed:
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
    """
    led = order.leaderships
    absent = np.diff(order.starts) == 0
    nodes, hashes, logs, stream, known = kernel.no_logs(absent | unknown, len(led.row))
    first_bad = np.full(kernel.LOG_PROPERTIES, -1, dtype=np.int64)
    detail = np.zeros(kernel.LOG_PROPERTIES, dtype=np.int64)
    witness = np.zeros(len(checksums.row), dtype=np.uint64)
    position = wide(checksums.position)
    for window in _windows(sequence, order):
        begins, ends = _bounds_of(window, checksums)
        nodes, hashes = kernel.replay_logs(
            window.order,
            window.place,
            *_steps_of(window, sequence, order),
            led.term,
            led.base,
            whole,
            begins,
            ends,
            position,
            nodes,
            hashes,
            logs,
            stream,
            known,
            first_bad,
            detail,
            witness,
        )
    rows = [int(order.order[place]) if place >= 0 else -1 for place in first_bad.tolist()]
    return Replayed(rows, detail.tolist(), witness)


def _windows(sequence: Sequence, order: Order) -> Iterator[_Window]:
    member = sequence.member
    starts = order.starts[:-1].tolist()
    at = list(starts)
    for span in long_arrays.windows(len(order.order)):
        rows = order.order[span]
        members = member[rows]
        # Each member's steps are consecutive in the order. The window has the row before them, too.
        counts = np.bincount(members, minlength=len(at)).tolist()
        spans = [
            (max(start, first - 1), first + count)
            for start, first, count in zip(starts, at, counts, strict=True)
        ]
        at = [first + count for first, count in zip(at, counts, strict=True)]
        lengths = np.cumsum([0] + [end - first for first, end in spans])
        moved = np.array([first for first, _ in spans]) - lengths[:-1]
        local = (rows - moved[members]).astype(rows.dtype)
        yield _Window(span.start, local, spans)


def _steps_of(window: _Window, sequence: Sequence, order: Order) -> _Steps:
    """Read the rows of a window."""
    spans = window.spans
    before = window.of(order.before)
    here = np.arange(-1, len(before) - 1, dtype=before.dtype)
    term = wide(sequence.kept("module_leadership_term_id", spans))
    leads = sequence.kept("role", spans) == LEADER
    leads &= sequence.kept("election_state", spans) == CLOSED
    leads &= sequence.kept("module_state", spans) == _ACTIVE
    return _Steps(
        sequence.column("member", spans=spans).astype(np.int8),
        np.where(before >= 0, here, before),
        wide(sequence.kept("recorded_position", spans)),
        wide(sequence.kept("commit_position", spans)),
        _CONSUMES[sequence.column("action", spans=spans)],
        term,
        np.where(leads, term, -1),
        window.of(order.source),
        _leaderships_of(window, order.leaderships),
    )


def _leaderships_of(window: _Window, led: Leaderships) -> Ints:
    """Give for each row of a window the leadership that begins in the row, else -1."""
    starts = np.full(sum(end - first for first, end in window.spans), -1, dtype=np.int64)
    base = 0
    for low, high in window.spans:
        # Leaderships are in the order of their rows.
        first, last = np.searchsorted(led.row, (low, high))
        starts[base + led.row[first:last] - low] = np.arange(first, last)
        base += high - low
    return starts


def _bounds_of(window: _Window, checksums: Checksums) -> tuple[Ints, Ints]:
    """Give for each row where its checksums begin and end; nothing if there are none at all."""
    if not len(checksums.row):
        none = np.empty(0, dtype=np.int64)
        return none, none
    rows = np.concatenate([np.arange(first, end) for first, end in window.spans])
    return (
        np.searchsorted(checksums.row, rows),
        np.searchsorted(checksums.row, rows, side="right"),
    )


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
_LOG_NAMES: Final = {
    kernel.LOG_MATCHING: ("LogMatching", "two logs agree above {0}, and differ below"),
    kernel.LEADER_COMPLETENESS: (
        "LeaderCompleteness",
        "a leader lacks committed entries of older terms up to {0}",
    ),
    kernel.STATE_MACHINE_SAFETY: (
        "StateMachineSafety",
        "commits other entries up to {0} than were committed before",
    ),
    kernel.COMMITTED_IS_DURABLE: (
        "CommittedIsDurable",
        "no quorum has recorded what is committed up to {0}",
    ),
    kernel.NO_TRUNCATION_BELOW_COMMIT: (
        "NoTruncationBelowCommit",
        "truncates the log at {0}, below its own commit position",
    ),
    kernel.MISREAD: (
        LOG_STREAM,
        "consumes the log up to {0} as if a term began at another position",
    ),
}


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
        *_of_leaders(order),
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
    commit, role = sequence.kept("commit_position"), sequence.kept("role")
    recorded = sequence.kept("recorded_position")
    persisted = sequence.kept("persisted_candidate_term_id")
    action, coherent = sequence.action, sequence.coherent
    bad: list[list[Ints]] = [[] for _ in _OF_STATES]
    for span in long_arrays.windows(len(sequence)):
        previous = np.maximum(order.before[span], 0)
        known = order.before[span] >= 0
        rises = known & (action[span] != RESTART) & (action[span] != _TERMINATE)
        if revision == "1.49":
            rises &= role[previous] != LEADER
        found = (
            known & (persisted[span] < persisted[previous]),
            rises & (commit[span] < commit[previous]),
            commit[span] > recorded[span],
            ~coherent[span],
            sequence.overreports[span],
        )
        for rows, wrong in zip(bad, found, strict=True):
            rows.append(np.flatnonzero(wrong) + span.start)
    return [
        violation
        for rows, (name, text) in zip(bad, _OF_STATES, strict=True)
        for violation in _first(order, np.concatenate(rows), name, text)
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
    sent = np.flatnonzero(sequence.column("votes", 0) != -1)
    state = sequence.kept("election_state")
    candidacies = _candidate_rows(state, order.before)
    rows = np.concatenate([_rows_that_have(sequence.sends_of, sent), candidacies])
    votes = [sequence.column("votes", place)[sent] for place in (0, 1)]
    terms = np.concatenate([votes[0], sequence.kept("candidate_term_id")[candidacies]])
    candidates = np.concatenate([votes[1], sequence.member[candidacies]])
    _, term_numbers = np.unique(terms, return_inverse=True)
    keys = term_numbers * len(order.starts) + sequence.member[rows]
    bad = _conflicts(order, rows, keys, candidates)
    return _first(order, bad, "OneVotePerTerm", "votes for a second candidate in one term")


def _candidate_rows(state: Ints, before: Ints) -> Ints:
    """Give the rows in which a member becomes a candidate."""
    found = [np.empty(0, dtype=np.int64)]
    for span in long_arrays.windows(len(state)):
        was = state[np.maximum(before[span], 0)]
        becomes = (state[span] == _CANDIDATE) & (before[span] >= 0) & (was != _CANDIDATE)
        found.append(np.flatnonzero(becomes) + span.start)
    return np.concatenate(found)


def _rows_that_have(counts: Ints, places: Ints) -> Ints:
    """Give the rows of some items by their rising places; ``counts`` has the items of each row."""
    rows = np.empty(len(places), dtype=np.int64)
    base = 0
    for span in long_arrays.windows(len(counts)):
        ends = base + np.cumsum(counts[span], dtype=np.int64)
        first, last = np.searchsorted(places, [base, ends[-1]]).tolist()
        rows[first:last] = span.start + np.searchsorted(ends, places[first:last], side="right")
        base = int(ends[-1])
    return rows


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
    """Give the checksums of positions that have different checksums.

    Only checksums of one position can contradict each other, as equal logs are equally long.
    """
    twice = _with_several_values(sequence)
    if not len(twice):
        empty = np.empty(0, dtype=np.int64)
        return Checksums(empty, empty, empty)
    parts, base = [], 0
    for part in sequence.checksum_parts():
        places = np.flatnonzero(np.isin(np.maximum(part[:, 0], 0), twice))
        parts.append((places + base, *part[places].T))
        base += len(part)
    places, position, checksum = map(np.concatenate, zip(*parts, strict=True))
    return Checksums(_rows_that_have(sequence.column("checksums_of"), places), position, checksum)


def _with_several_values(sequence: Sequence) -> Ints:
    """Give the positions with different recorded checksums; a position below 0 counts as 0."""
    positions = checksums = twice = np.empty(0, dtype=np.int64)
    for part in sequence.checksum_parts():
        positions = np.concatenate([positions, np.maximum(part[:, 0], 0)])
        checksums = np.concatenate([checksums, part[:, 1]])
        # Positions mostly rise along each stream, so that a stable sort is fast.
        by_position = np.argsort(positions, kind="stable")
        positions, checksums = positions[by_position], checksums[by_position]
        is_new = np.ones(len(positions), dtype=np.bool_)
        is_new[1:] = positions[1:] != positions[:-1]
        differs = ~is_new[1:] & (checksums[1:] != checksums[:-1])
        twice = np.union1d(twice, positions[1:][differs])
        # The first checksum of each position is enough: any other differs from it or equals it.
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
    position = np.maximum(checksums.position, 0)
    scratch = (long_arrays.long_array(len(sequence), np.int64) for _ in range(2))
    committed = kernel.rows_of_commit(
        sequence.kept("commit_position"),
        sequence.kept("recorded_position"),
        order.before,
        checksums.row,
        position,
        *scratch,
    )
    applied = np.flatnonzero(committed >= 0)
    bad = _conflicts(order, committed[applied], position[applied], checksums.checksum[applied])
    return found + _first(
        order, bad, "StateMachineSafety", "a committed log differs from another's"
    )
