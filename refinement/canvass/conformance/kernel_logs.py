"""Compiled: the log of every member at every step, and the safety properties that look at logs.

The steps of a run are taken in an order that respects causes. ``Cluster.tla`` has the term of each
entry of a log. Here a *node* stands for a span of positions that one leadership wrote, on top of
another node: from its start up to where the log ends or branches. Logs that agree share nodes. The
identity of a prefix is a hash of its nodes and its length. A log with unknown contents has the
node ``_UNKNOWN``, which violates nothing.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from canvass.steps.jit import compiled, kernel

LOG_MATCHING: Final = 0
LEADER_COMPLETENESS: Final = 1
STATE_MACHINE_SAFETY: Final = 2
COMMITTED_IS_DURABLE: Final = 3
NO_TRUNCATION_BELOW_COMMIT: Final = 4
MISREAD: Final = 5
"""No property: the log is consumed as if terms began elsewhere in it than they do."""
LOG_PROPERTIES: Final = 6

CONSUMES_ENTRIES: Final = 1
CONSUMES_TERM: Final = 2
"""A step consumes the first entry of a term, with what follows of it."""

REPLACED: Final = -3
"""Instead of the row before: the member starts with another disk than it left."""

_ROOT: Final = 0
_UNKNOWN: Final = 1
"""The nodes of the empty log and of unknown contents; all others are numbered above them."""
_DEEPEST: Final = 64
"""The most nodes that are copied when a log is put on top of another one."""


class Rows(NamedTuple):
    """The parts of the events of a run that the kernel reads: a value for each row."""

    member: Any
    before: Any
    """The row before in the same stream, -1 for a member with nothing on disk, -2 if not known,
    ``REPLACED`` if the member starts with another disk than it left."""
    recorded: Any
    commit: Any
    consumes: Any
    """``CONSUMES_ENTRIES``, ``CONSUMES_TERM`` or 0."""
    module_term: Any
    leads: Any
    """The term that the member leads outside elections after the step, else -1."""
    source: Any
    """The leadership whose log it records from; negative if none or not known."""
    begins: Any
    """The leadership that begins in it, else -1."""
    checksums: Any
    """Where its checksums begin; one place more at the end. Empty if none is followed."""


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
    """Give the same nodes with room for those that a step may add."""
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

    If the log ends with the same term, it is its last node: term and position name the bytes.
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
    """Put what a log has from ``length`` to ``end`` on top of another one of that length.

    ``own`` is the top node of the latter, ``other`` that of the former. Gives the new top node.
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
    """Whether a log of some length is part of a log that was on a disk which was replaced."""
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
    rows: Any,
    terms: Any,
    bases: Any,
    unknown: Any,
    whole: bool,
    checksum_position: Any,
    bad: Any,
    witness: Any,
) -> None:
    """Follow the logs through the steps of a run; note where each log property first fails.

    Parameters
    ----------
    order
        Rows in an order of causes.
    rows
        The events, as `Rows`.
    terms, bases
        The term of each leadership, and the position above which its log is of that term.
    unknown
        For each member whether its log is unknown at the start.
    whole
        Whether no step is missing. With missing steps causes are missing, too, and properties of
        several members at one time are not checked: LeaderCompleteness and CommittedIsDurable.
    checksum_position
        The positions of all checksums.
    bad
        Gets the place in the order where each of the `LOG_PROPERTIES` properties fails first, and a
        position. The place is -1 before: a property that holds.
    witness
        Gets the identity of the log up to each checksum's position; 0 if it is not known.
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
    # The logs that were on disks which were replaced. What no quorum has any more then is no longer
    # committed, and no commit of it that is repeated makes it so. The member is a new one.
    gone = np.zeros((2, np.count_nonzero(rows.before == REPLACED)), np.int64)
    lost = 0

    for k in range(len(order)):
        row = order[k]
        i, was, commit = rows.member[row], rows.before[row], rows.commit[row]
        old_commit = rows.commit[was] if was >= 0 else commit
        old_length, end = length[i], rows.recorded[row]
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
            e = rows.source[row]
            if e < 0 or stream[e] < 0:
                top[i] = _UNKNOWN
            else:
                top[i] = _put_on_top(logs, top[i], old_length, stream[e], end)
            for j in range(members):
                differ = _mismatch(logs, top[i], top[j], min(length[i], length[j]))
                if differ >= 0:
                    _note(bad, LOG_MATCHING, k, differ)

        e = rows.begins[row]
        if e >= 0:
            stream[e] = _new_node(logs, top[i], bases[e], e)
        if len(rows.checksums):
            for n in range(rows.checksums[row], rows.checksums[row + 1]):
                held = checksum_position[n] <= length[i]
                known = _identity(logs, top[i], checksum_position[n])
                witness[n] = known if held else np.uint64(0)

        consumes = rows.consumes[row]
        if consumes and was >= 0 and commit <= length[i]:
            begun = rows.module_term[row] if consumes == CONSUMES_TERM else -1
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
        # A leader lacks entries from when it begins to lead, or from when its log is truncated.
        leads = rows.leads[row]
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
