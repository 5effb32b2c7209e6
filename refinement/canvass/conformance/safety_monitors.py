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
    Evaluated on reconstructed logs. The steps show who recorded whose log up to which position, and
    so which leadership wrote which positions. A log is unknown if it is unknown at the start, or
    after missing steps; unknown logs violate nothing. LeaderCompleteness and CommittedIsDurable
    compare logs of several members at one time, and are checked only if no step of the run is
    missing.
AppliedWithinCommitted
    Not a property of the spec, because there it follows from StateMachineSafety. The monitor checks
    a part of it: services process the log up to the commit position, and no commit position is
    beyond all positions that leaders ever announced as committed. Not checked for 1.49, whose
    members replay all that they have recorded.

A member that starts with another disk than it left (``source.diskReplaced``) counts as a new
member: it may vote again, and its log is unknown. Entries that no quorum is known to have any more
are no longer committed; entries that a quorum still has must stay. ElectionSafety then ignores
later leaders of terms in which the member may have voted before.

Recorded checksums of logs are checked as well. LogStream is broken if a checksum contradicts the
log that follows from the steps, or if its position is not recorded. StateMachineSafety is
broken if checksums of committed logs differ at one position. The log of a checksum is committed if
its member commits up to the position in the same step or in a later one, before the log is
truncated below the position and before a step is missing.

Each leadership writes a span of positions. ``Cluster.tla`` has the term of each entry of a log.
Here a *node* stands for such a span on top of another node: from its start up to where the log ends
or branches. Logs that agree share nodes. The identity of a prefix is a hash of its nodes and its
length. A log with unknown contents has the node ``_UNKNOWN``, which violates nothing.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from canvass.conformance.causality import CLOSED, LEADER, Order, code
from canvass.conformance.findings import LOG_STREAM
from canvass.conformance.run_arrays import REPLACED, RESTART, RunArrays
from canvass.steps.compiled_loops import compiled, kernel
from canvass.traces.columns import Ints
from canvass.traces.schema import ACTION_NAMES

LOG_MATCHING: Final = 0
LEADER_COMPLETENESS: Final = 1
STATE_MACHINE_SAFETY: Final = 2
COMMITTED_IS_DURABLE: Final = 3
NO_TRUNCATION_BELOW_COMMIT: Final = 4
MISREAD: Final = 5
"""Not a property of the spec: a step consumes the log as if terms began at other positions."""
LOG_PROPERTIES: Final = 6

CONSUMES_ENTRIES: Final = 1
CONSUMES_TERM: Final = 2
"""A step consumes the first entry of a term, and perhaps more entries of that term."""

_ROOT: Final = 0
_UNKNOWN: Final = 1
"""The nodes of the empty log and of unknown contents; all others are numbered above them."""
_DEEPEST: Final = 64
"""The most nodes that are copied when a log is put on top of another one."""

_ACTIVE: Final = code("module_state", "ACTIVE")
_CONSUMES: Final = np.zeros(len(ACTION_NAMES), dtype=np.int8)
_CONSUMES[ACTION_NAMES.index("ConsumeLog")] = CONSUMES_ENTRIES
_CONSUMES[ACTION_NAMES.index("OnReplayNewLeadershipTermEvent")] = CONSUMES_TERM


@dataclass(frozen=True, slots=True)
class Checksums:
    """Checksums of logs that some steps report, in the order of the rows."""

    row: Ints
    position: Ints
    checksum: Ints


def _of_logs(arrays: RunArrays, order: Order, *, unknown: bool, whole: bool) -> list[Violation]:
    """Follow the logs of a run, and give the first violation of each of their properties.

    Parameters
    ----------
    arrays, order
        All events of the run, and their order of causes.
    unknown
        Whether nothing is known of the logs at the start.
    whole
        Whether no step of the run is missing.
    """
    checksums = _contradicted(arrays)
    led = order.leaderships
    term = arrays.module_leadership_term_id
    leads = (arrays.role == LEADER) & (arrays.election_state == CLOSED)
    leads &= arrays.module_state == _ACTIVE
    begins = np.full(len(arrays), -1, order.source.dtype)
    begins[led.row] = np.arange(len(led.row))
    bad = np.full((LOG_PROPERTIES, 2), -1, dtype=np.int64)
    witness = np.zeros(len(checksums.row), dtype=np.uint64)
    rows = np.arange(len(arrays) + 1 if len(checksums.row) else 0)
    replay_logs(
        *(order.order, arrays.member, order.before),
        *(arrays.recorded_position, arrays.commit_position, _CONSUMES[arrays.action]),
        *(term, np.where(leads, term, -1), order.source, begins),
        *(led.term, led.base, (np.diff(order.starts) == 0) | unknown, whole),
        *(checksums.position, np.searchsorted(checksums.row, rows), bad, witness),
    )
    broken = [
        Violation(int(order.order[place]), name, text.format(position))
        for (name, text), (place, position) in zip(_LOG_NAMES, bad.tolist(), strict=True)
        if place >= 0
    ]
    return broken + _of_checksums(arrays, order, checksums, witness)


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


def limits(*, revision: str, unknown: bool, whole: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the properties that are not checked for a run, and the properties that are checked only
    on the known parts of the logs.

    Parameters
    ----------
    revision
        The revision of the spec that the run is checked against.
    unknown
        Whether nothing is known of the logs at the start.
    whole
        Whether no step of the run is missing.
    """
    left_out, in_part = frozenset[str](), frozenset[str]()
    if not whole:
        left_out = _OF_WHOLE_RUNS
    elif unknown or revision == "1.49":
        left_out = _OF_KNOWN_STARTS
    if unknown or not whole:
        in_part = _OF_KNOWN_LOGS - left_out
    return _in_order(left_out), _in_order(in_part)


def _in_order(names: Set[str]) -> tuple[str, ...]:
    return tuple(name for name in PROPERTIES if name in names)


@dataclass(frozen=True, slots=True)
class Violation:
    """A property that does not hold after a step."""

    row: int
    name: str
    text: str


def violations(
    arrays: RunArrays, order: Order, *, revision: str, unknown: bool, complete: list[bool]
) -> list[Violation]:
    """Give the first violation of each property of one run."""
    found = [
        # CandidateTermMonotonic, CommitMonotonic, CommitBounded, RecordingLogCoherent, LogStream
        *_of_states(arrays, order, revision),
        # OneVotePerTerm
        *_of_votes(arrays, order),
        # ElectionSafety
        *_of_leaders(arrays, order),
        # LogMatching, LeaderCompleteness, StateMachineSafety, CommittedIsDurable,
        # NoTruncationBelowCommit, LogStream
        *_of_logs(arrays, order, unknown=unknown, whole=all(complete)),
    ]
    left_out, _ = limits(revision=revision, unknown=unknown, whole=all(complete))
    if "AppliedWithinCommitted" not in left_out:
        found += _of_applied(arrays, order)
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


def _of_states(arrays: RunArrays, order: Order, revision: str) -> list[Violation]:
    commit, role = arrays.commit_position, arrays.role
    recorded = arrays.recorded_position
    persisted = arrays.persisted_candidate_term_id
    action, coherent = arrays.action, arrays.coherent
    previous = np.maximum(order.before, 0)
    known = order.before >= 0
    rises = known & (action != RESTART) & (action != _TERMINATE)
    if revision == "1.49":
        rises &= role[previous] != LEADER
    given = np.zeros(len(arrays), dtype=np.bool_)
    for row in np.flatnonzero(order.before == REPLACED).tolist():
        # A member has committed nothing of the snapshot on another disk.
        own = slice(row, int(order.starts[arrays.member[row] + 1]))
        given[own] |= commit[own] <= commit[row]
    bad = (
        known & (persisted < persisted[previous]),
        rises & (commit < commit[previous]),
        (commit > recorded) & ~given,
        ~coherent,
        arrays.overreports,
    )
    return [
        violation
        for wrong, (name, text) in zip(bad, _OF_STATES, strict=True)
        for violation in _first(order, np.flatnonzero(wrong), name, text)
    ]


def _conflicts(order: Order, rows: Ints, keys: Ints, values: Ints) -> Ints:
    """Give the rows whose value differs from the first one of the same key, in order of causes."""
    # Values hardly ever differ, and this is far cheaper to check without the order of causes.
    if not len(_with_several_values(keys, values)):
        return rows[:0]
    by_cause = np.argsort(order.rank[rows], kind="stable")
    rows, keys, values = rows[by_cause], keys[by_cause], values[by_cause]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    differing: Ints = rows[values != values[first[inverse]]]
    return differing


def _with_several_values(keys: Ints, values: Ints) -> Ints:
    """Give the keys that have different values."""
    # Keys mostly rise along each stream, so that a stable sort is fast.
    by_key = np.argsort(keys, kind="stable")
    # A long run has many, so that there is never more than one copy.
    differ = _changes(values[by_key])
    differ &= ~_changes(keys[by_key])
    return np.unique(keys[by_key[1:][differ]])


def _changes(cells: Ints) -> NDArray[np.bool_]:
    """Tell which cells, from the second one on, differ from the one before."""
    found: NDArray[np.bool_] = cells[1:] != cells[:-1]
    return found


def _of_votes(arrays: RunArrays, order: Order) -> list[Violation]:
    # For each send the candidate's term and the candidate; -1 if it is no granted vote.
    sent = np.flatnonzero(arrays.vote_term != -1)
    state = arrays.election_state
    candidacies = _candidate_rows(state, order.before)
    rows = np.concatenate([_rows_that_have(arrays.sends_of, sent), candidacies])
    terms = np.concatenate([arrays.vote_term[sent], arrays.candidate_term_id[candidacies]])
    candidates = np.concatenate([arrays.vote_candidate[sent], arrays.member[candidacies]])
    _, term_numbers = np.unique(terms, return_inverse=True)
    # With another disk a member is a new one.
    voters = arrays.member + np.cumsum(order.before == REPLACED)
    keys = term_numbers * (int(voters[-1]) + 1) + voters[rows]
    bad = _conflicts(order, rows, keys, candidates)
    return _first(order, bad, "OneVotePerTerm", "votes for a second candidate in one term")


def _candidate_rows(state: Ints, before: Ints) -> Ints:
    """Give the rows in which a member becomes a candidate."""
    was = state[np.maximum(before, 0)]
    return np.flatnonzero((state == _CANDIDATE) & (before >= 0) & (was != _CANDIDATE))


def _rows_that_have(counts: Ints, places: Ints) -> Ints:
    """Give the row of each item; ``counts`` has the number of items of each row.

    ``places`` are the numbers of the items among those of all rows, in ascending order.
    """
    return np.searchsorted(np.cumsum(counts, dtype=np.int64), places, side="right")


def _of_leaders(arrays: RunArrays, order: Order) -> list[Violation]:
    led, rank = order.leaderships, order.rank
    bad = _conflicts(order, led.row, led.term, led.member)
    persisted = arrays.persisted_candidate_term_id
    terms = led.term[np.searchsorted(led.row, bad)]
    for row in np.flatnonzero(order.before == REPLACED).tolist() if len(bad) else ():
        # In a term in which it voted before, a member with another disk may vote again.
        voted = persisted[row - 1] if arrays.step[row] else -1
        sound = (terms > voted) | (rank[bad] < rank[row])
        bad, terms = bad[sound], terms[sound]
    return _first(order, bad, "ElectionSafety", "leads a term that another member has led")


def _of_applied(arrays: RunArrays, order: Order) -> list[Violation]:
    commit = arrays.commit_position
    leads = arrays.role == LEADER
    announced = int(arrays.commit_sent.max(initial=0))
    said = max(announced, int(commit.max(where=leads, initial=0)))
    bad = np.flatnonzero(commit > said)
    text = f"processes the log beyond {said}, which is all that was ever said to be committed"
    return _first(order, bad, "AppliedWithinCommitted", text)


def _contradicted(arrays: RunArrays) -> Checksums:
    """Give the checksums of positions that have different checksums.

    Only checksums of one position can contradict each other, as equal logs are equally long.
    """
    reported = arrays.checksums[:, 0]
    if reported.min(initial=0) < 0:
        reported = np.maximum(reported, 0)  # A position below 0 counts as 0.
    twice = _with_several_values(reported, arrays.checksums[:, 1])
    if not len(twice):
        empty = np.empty(0, dtype=np.int64)
        return Checksums(empty, empty, empty)
    places = np.flatnonzero(np.isin(reported, twice))
    position, checksum = np.ascontiguousarray(arrays.checksums[places].T)
    return Checksums(_rows_that_have(arrays.checksums_of, places), position, checksum)


def _of_checksums(
    arrays: RunArrays, order: Order, checksums: Checksums, witness: NDArray[np.uint64]
) -> list[Violation]:
    """Compare checksums; ``witness`` has the identity of the log up to each, 0 if not known."""
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
    committed = np.array([_row_of_commit(arrays, order.before, *each) for each in reported])
    applied = np.flatnonzero(committed >= 0)
    bad = _conflicts(order, committed[applied], position[applied], checksums.checksum[applied])
    return found + _first(
        order, bad, "StateMachineSafety", "a committed log differs from another's"
    )


def _row_of_commit(arrays: RunArrays, before: Ints, row: int, position: int) -> int:
    """Give the row in which a member commits its log up to the position of a checksum, or -1.

    That is the first row, from ``row`` (which reports the checksum) on, whose commit position
    reaches ``position``. The result is -1 if the log is truncated below the position before that
    row, or if steps are missing in between: the member may have committed other entries then.
    """
    start, width = row, 64
    while start < len(before):
        part = slice(start, start + width)
        gaps = before[part] < 0
        gaps[0] &= start != row
        ends = gaps | (arrays.recorded_position[part] < position)
        found = np.flatnonzero(ends | (arrays.commit_position[part] >= position))
        if len(found):
            place = int(found[0])
            return -1 if ends[place] else start + place
        start, width = start + width, 8 * width
    return -1


# --- compiled -------------------------------------------------------------------------------------


class Logs(NamedTuple):
    """The nodes of all logs."""

    nodes: Any
    """For each its parent, its start, the leadership that wrote it, and whether it is known."""
    hashes: Any
    terms: Any
    """The term of each leadership."""
    count: Any
    """One number: of nodes."""
    buffer: Any
    """Scratch."""


@compiled
def _mix(a: Any, b: int) -> Any:
    word = (a ^ np.uint64(b)) * np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(32)
    word *= np.uint64(0xC2B2AE3D27D4EB4F)
    return word ^ (word >> np.uint64(29))


@compiled
def _same(a: Any, b: Any) -> bool:
    """Whether two prefixes are equal; an unknown one (0) equals every other."""
    return bool(a == 0 or b == 0 or a == b)


@compiled
def _node_at(logs: Any, node: int, position: int) -> int:
    """Give the node that holds a position: ``node``, or one below it."""
    while node > _UNKNOWN and logs.nodes[node, 1] >= position:
        node = logs.nodes[node, 0]
    return int(node)


@compiled
def _term(logs: Any, node: int) -> int:
    return int(logs.terms[logs.nodes[node, 2]])


@compiled
def _identity(logs: Any, node: Any, position: Any) -> Any:
    """Give the identity of the prefix of that length; 0 if it is not known."""
    if position <= 0:
        return np.uint64(1)
    at = _node_at(logs, node, position)
    if not logs.nodes[at, 3]:
        return np.uint64(0)
    return _mix(logs.hashes[at], position) | np.uint64(1)


@compiled
def _with_room(logs: Any) -> Any:
    """Give the nodes again, in larger arrays if a step could add more than there is room for."""
    nodes, hashes = logs.nodes, logs.hashes
    if len(nodes) < logs.count[0] + 3 * _DEEPEST + 4:
        nodes = np.zeros((2 * len(nodes) + 256, 4), np.int64)
        hashes = np.zeros(len(nodes), np.uint64)
        nodes[: len(logs.nodes)] = logs.nodes
        hashes[: len(logs.nodes)] = logs.hashes
    return Logs(nodes, hashes, logs.terms, logs.count, logs.buffer)


@compiled
def _new_node(logs: Any, parent: int, start: int, leadership: int) -> int:
    """Give the node for what a leadership writes above a log.

    If the log already ends in the same term, this is its last node, because a term and a position
    identify a byte.
    """
    under = np.uint64(7)
    known = 1
    if start > 0:
        below = _node_at(logs, parent, start)
        if below > _UNKNOWN and _term(logs, below) == logs.terms[leadership]:
            return int(below)
        known = logs.nodes[below, 3]
        under = logs.hashes[below]
    node = int(logs.count[0])
    logs.count[0] += 1
    logs.nodes[node, 0] = parent
    logs.nodes[node, 1] = start
    logs.nodes[node, 2] = leadership
    logs.nodes[node, 3] = known
    logs.hashes[node] = _mix(_mix(under, start), logs.terms[leadership] + 3)
    return node


@compiled
def _put_on_top(logs: Any, own: int, length: int, other: int, end: int) -> int:
    """Extend a log from ``length`` to ``end`` with the entries that another log has there.

    ``own`` is the top node of the log that is extended, ``other`` that of the other log. Gives the
    new top node.
    """
    beneath = _identity(logs, own, length)
    if _same(beneath, _identity(logs, other, length)):
        return _node_at(logs, other, end)
    # The log differs below: copy the nodes one by one.
    filled = 0
    at = _node_at(logs, other, end)
    while filled < _DEEPEST and at > _UNKNOWN:
        logs.buffer[filled] = at
        filled += 1
        if logs.nodes[at, 1] <= length:
            break
        at = logs.nodes[at, 0]
    for n in range(filled - 1, -1, -1):
        start = max(length, logs.nodes[logs.buffer[n], 1])
        own = _new_node(logs, own, start, logs.nodes[logs.buffer[n], 2])
    return own


@compiled
def _mismatch(logs: Any, one: int, other: int, length: int) -> int:
    """Give the position up to which two logs differ although they agree above it, else -1.

    The logs are compared up to ``length``, from the top down. Logs that share a node are equal
    below it.
    """
    agreed = False
    position = length
    one, other = _node_at(logs, one, position), _node_at(logs, other, position)
    while one > _UNKNOWN and other > _UNKNOWN and one != other:
        if _term(logs, one) == _term(logs, other):
            agreed = True
        elif agreed:
            return int(position)
        position = max(logs.nodes[one, 1], logs.nodes[other, 1])
        one, other = _node_at(logs, one, position), _node_at(logs, other, position)
    return -1


@compiled
def _misread(logs: Any, top: int, start: Any, end: Any, begun: int) -> bool:
    """Whether a step misreads the log from ``start`` to ``end``.

    The step reads it as the beginning of the term ``begun``, or, if that is -1, as entries within
    one term.
    """
    node = _node_at(logs, top, end)
    if node <= _UNKNOWN:
        return False
    term = _term(logs, node)
    if begun >= 0 and begun != term:
        return True
    while logs.nodes[node, 1] > start:
        node = _node_at(logs, node, logs.nodes[node, 1])
        if node <= _UNKNOWN:
            return False
        if _term(logs, node) != term:
            return True
    begins = True
    if start > 0:
        below = _node_at(logs, node, start)
        if below <= _UNKNOWN:
            return False
        begins = _term(logs, below) != term
    return bool(begins != (begun >= 0))


@compiled
def _lacking(logs: Any, top: int, length: int, committed: int, end: int, term: int) -> int:
    """Give a position where a leader of ``term`` lacks committed entries of older terms, or -1.

    ``end`` is the length of the committed log.
    """
    while committed > _UNKNOWN and top != _UNKNOWN:
        start, written_in = logs.nodes[committed, 1], _term(logs, committed)
        if written_in < term:
            if length < end:
                return int(end)
            theirs = _identity(logs, committed, end)
            if _same(_identity(logs, top, end), theirs):
                return -1
            own = _node_at(logs, top, end)
            while own > _UNKNOWN and _term(logs, own) == written_in and logs.nodes[own, 1] > start:
                own = logs.nodes[own, 0]
            if own != _UNKNOWN and (own == _ROOT or _term(logs, own) != written_in):
                return int(end)
        end = start
        committed = _node_at(logs, committed, end)
    return -1


@compiled
def _common(logs: Any, one: int, other: int, length: int) -> int:
    """Give the position up to which two logs are known to be equal, at most ``length``."""
    while length > 0:
        identity = _identity(logs, one, length)
        if identity and identity == _identity(logs, other, length):
            break
        below, beneath = _node_at(logs, one, length), _node_at(logs, other, length)
        length = max(logs.nodes[below, 1], logs.nodes[beneath, 1])
    return length


@compiled
def _held(logs: Any, top: Any, lengths: Any, committed: int, length: int) -> int:
    """Give the position up to which a quorum is known to have what is committed."""
    held = np.zeros(len(top), np.int64)
    for j in range(len(top)):
        held[j] = _common(logs, top[j], committed, min(length, lengths[j]))
    return int(np.sort(held)[(len(top) - 1) // 2])


@compiled
def _is_gone(logs: Any, gone: Any, count: int, top: int, length: int) -> bool:
    """Whether a log up to some length is the prefix of a log that was on a replaced disk."""
    for k in range(count):
        if length <= gone[1, k]:
            own = _identity(logs, gone[0, k], length)
            if own and _same(own, _identity(logs, top, length)):
                return True
    return False


@compiled
def _note(bad: Any, name: int, k: int, position: int) -> None:
    """Note where a property fails, if it has not failed before."""
    if bad[name, 0] < 0:
        bad[name, 0] = k
        bad[name, 1] = position


@kernel("order")
def replay_logs(  # noqa: C901  (one loop over the steps, so that all of a run stays in registers)
    order: Any,
    member: Any,
    before: Any,
    recorded: Any,
    commits: Any,
    consumption: Any,
    module_term: Any,
    led: Any,
    source: Any,
    begins: Any,
    terms: Any,
    bases: Any,
    unknown: Any,
    whole: bool,
    checksum_position: Any,
    checksum_starts: Any,
    bad: Any,
    witness: Any,
) -> None:
    """Follow the logs through the steps of a run; note where each log property first fails.

    Parameters
    ----------
    order
        Rows in an order of causes.
    member, before, recorded, commits, module_term, source
        Fields of `RunArrays` and `Order` for each row.
    consumption
        For each row ``CONSUMES_ENTRIES``, ``CONSUMES_TERM`` or 0.
    led
        For each row the term that the member leads outside elections after the step, else -1.
    begins
        For each row the leadership that begins in it, else -1.
    terms, bases
        The term of each leadership, and the position above which its log is of that term.
    unknown
        For each member whether its log is unknown at the start.
    whole
        Whether no step is missing. With missing steps causes are missing, too, and properties of
        several members at one time are not checked: LeaderCompleteness and CommittedIsDurable.
    checksum_position
        The positions of all checksums.
    checksum_starts
        For each row where its checksums begin; one place more at the end. Empty if there are no
        checksums.
    bad
        Filled with the place in the order where each of the `LOG_PROPERTIES` properties fails
        first, and a position. The place stays -1 for a property that holds.
    witness
        Filled with the identity of the log up to each checksum's position; 0 if it is not known.
    """
    members = len(unknown)
    nodes = np.zeros((2 * len(terms) + 512, 4), np.int64)
    nodes[:2, 0] = -1
    nodes[:2, 2] = -1
    nodes[_ROOT, 3] = 1
    hashes = np.zeros(len(nodes), np.uint64)
    count = np.full(1, 2, np.int64)
    logs = Logs(nodes, hashes, terms, count, np.empty(_DEEPEST, np.int64))
    # For each member its log, the term led, and the commit position with which it started on
    # another disk, below which it has committed nothing. For each leadership where it writes.
    top = np.full(members, _ROOT, np.int64)
    top[unknown] = _UNKNOWN
    length = np.zeros(members, np.int64)
    leading = np.full(members, -1, np.int64)
    found = np.full(members, -1, np.int64)
    stream = np.full(len(terms), -1, np.int64)
    # The committed log, and the longest committed log with known contents.
    committed, committed_length = _ROOT, 0
    sure, sure_length = _ROOT, 0
    # The logs of replaced disks. Entries that no quorum has after the replacement are no longer
    # committed, even if a member commits them again. The member with the new disk is a new one.
    gone = np.zeros((2, np.count_nonzero(before == REPLACED)), np.int64)
    lost = 0

    for k in range(len(order)):
        row = order[k]
        i, was, commit = member[row], before[row], commits[row]
        old_commit = commits[was] if was >= 0 else commit
        old_length, end = length[i], recorded[row]
        length[i] = end
        logs = _with_room(logs)
        changed = end != old_length
        if was == -2:
            top[i] = _UNKNOWN
        if was == REPLACED:
            if top[i] > _UNKNOWN:
                gone[0, lost], gone[1, lost] = top[i], old_length
                lost += 1
            top[i], found[i] = _UNKNOWN if end else _ROOT, commit
            committed_length = _held(logs, top, length, committed, committed_length)
            committed = _node_at(logs, committed, committed_length)
            sure_length = min(sure_length, committed_length)
            sure = _node_at(logs, sure, sure_length)
        elif end < old_length:
            cut = was >= 0 and end < old_commit and old_commit > found[i]
            if cut and lost:
                own = min(old_commit, old_length)
                if _is_gone(logs, gone, lost, top[i], own):
                    own = min(own, committed_length)
                    cut = end < _common(logs, top[i], committed, own)
            if cut:
                _note(bad, NO_TRUNCATION_BELOW_COMMIT, k, end)
            top[i] = _node_at(logs, top[i], end)
        elif end > old_length:
            e = source[row]
            if e < 0 or stream[e] < 0:
                top[i] = _UNKNOWN
            else:
                top[i] = _put_on_top(logs, top[i], old_length, stream[e], end)
            for j in range(members):
                differ = _mismatch(logs, top[i], top[j], min(length[i], length[j]))
                if differ >= 0:
                    _note(bad, LOG_MATCHING, k, differ)

        e = begins[row]
        if e >= 0:
            stream[e] = _new_node(logs, top[i], bases[e], e)
        if len(checksum_starts):
            for n in range(checksum_starts[row], checksum_starts[row + 1]):
                held = checksum_position[n] <= length[i]
                known = _identity(logs, top[i], checksum_position[n])
                witness[n] = known if held else np.uint64(0)

        consumes = consumption[row]
        if consumes and was >= 0 and commit <= length[i]:
            begun = module_term[row] if consumes == CONSUMES_TERM else -1
            if _misread(logs, top[i], old_commit, commit, begun):
                _note(bad, MISREAD, k, commit)

        # What is committed, and whether all agree on it.
        reached = min(commit, length[i])
        risen = was < 0 or commit != old_commit
        if lost and (was == REPLACED or _is_gone(logs, gone, lost, top[i], reached)):
            changed = risen = False
        extended = False
        if changed or risen:
            common = min(reached, sure_length)
            own = _identity(logs, top[i], common)
            if not _same(own, _identity(logs, sure, common)):
                _note(bad, STATE_MACHINE_SAFETY, k, common)
            if reached > sure_length and _identity(logs, top[i], reached):
                sure = _put_on_top(logs, sure, sure_length, top[i], reached)
                sure_length = reached
            if reached > committed_length:
                committed = _put_on_top(logs, committed, committed_length, top[i], reached)
                committed_length = reached
                extended = True
        # A leader can begin to lack entries when it begins to lead, or when its log is truncated.
        leads = led[row]
        lacks_anew = (leads >= 0 and leading[i] < 0) or end < old_length
        leading[i] = leads
        for j in range(members):
            if whole and leading[j] >= 0 and (extended or (lacks_anew and j == i)):
                lacking = _lacking(logs, top[j], length[j], committed, committed_length, leading[j])
                if lacking >= 0:
                    _note(bad, LEADER_COMPLETENESS, k, lacking)
        if whole and (extended or end < old_length):
            holders = 0
            goal = _identity(logs, committed, committed_length)
            for j in range(members):
                theirs = _identity(logs, top[j], committed_length)
                holds = length[j] >= committed_length and _same(goal, theirs)
                holders += int(top[j] == _UNKNOWN or holds)
            if holders < members // 2 + 1:
                _note(bad, COMMITTED_IS_DURABLE, k, committed_length)
