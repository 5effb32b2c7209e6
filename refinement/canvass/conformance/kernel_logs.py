"""Compiled: the log of every member at every step, and the safety properties that look at logs.

The steps of a run are taken in an order that respects causes. ``Cluster.tla`` has the term of each
entry of a log. Here a *node* stands for a span of positions that one leadership wrote, on top of
another node: from its start up to where the log ends or branches. Logs that agree share nodes. The
identity of a prefix is a hash of its nodes and its length. A log with unknown contents has the
node ``_UNKNOWN``, which violates nothing.
"""

from __future__ import annotations

from typing import Any, Final

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


@compiled
def _mix(a: Any, b: int) -> Any:
    word = (a ^ np.uint64(b)) * np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(32)
    word *= np.uint64(0xC2B2AE3D27D4EB4F)
    return word ^ (word >> np.uint64(29))


@compiled
def _node_at(nodes: Any, node: int, position: int) -> int:
    """Give the node that holds a position: ``node``, or one below it."""
    while node > _UNKNOWN and nodes[node, 1] >= position:
        node = nodes[node, 0]
    return int(node)


@compiled
def _identity(nodes: Any, hashes: Any, node: Any, position: Any) -> Any:
    """Give the identity of the prefix of that length; 0 if it is not known."""
    if position <= 0:
        return np.uint64(1)
    at = _node_at(nodes, node, position)
    if not nodes[at, 3]:
        return np.uint64(0)
    return _mix(hashes[at], position) | np.uint64(1)


@compiled
def _new_node(
    nodes: Any, hashes: Any, terms: Any, count: int, parent: int, start: int, leadership: int
) -> int:
    """Give the node for what a leadership writes above a log: a new one, numbered ``count``.

    If the log ends with the same term, its last node is given: term and position name the bytes.
    """
    under = np.uint64(7)
    known = 1
    if start > 0:
        below = _node_at(nodes, parent, start)
        if below > _UNKNOWN and terms[nodes[below, 2]] == terms[leadership]:
            return int(below)
        known = nodes[below, 3]
        under = hashes[below]
    nodes[count, 0] = parent
    nodes[count, 1] = start
    nodes[count, 2] = leadership
    nodes[count, 3] = known
    hashes[count] = _mix(_mix(under, start), terms[leadership] + 3)
    return count


@compiled
def _put_on_top(
    nodes: Any,
    hashes: Any,
    terms: Any,
    count: int,
    own: int,
    length: int,
    other: int,
    end: int,
    buffer: Any,
) -> tuple[int, int]:
    """Put what another log has from ``length`` to ``end`` on top of a log of that length.

    Parameters
    ----------
    nodes, hashes, terms, count
        As for `_new_node`. There is room for as many new nodes as ``buffer`` holds.
    own, other
        The top nodes of the two logs.
    buffer
        Scratch.

    Returns
    -------
    tuple
        The top node of the log that results, and the number of nodes.
    """
    beneath = _identity(nodes, hashes, own, length)
    if _same(beneath, _identity(nodes, hashes, other, length)):
        return _node_at(nodes, other, end), count
    # The log differs below: copy the nodes one by one.
    filled = 0
    at = _node_at(nodes, other, end)
    while filled < len(buffer) and at > _UNKNOWN:
        buffer[filled] = at
        filled += 1
        if nodes[at, 1] <= length:
            break
        at = nodes[at, 0]
    for n in range(filled - 1, -1, -1):
        start = max(length, nodes[buffer[n], 1])
        own = _new_node(nodes, hashes, terms, count, own, start, nodes[buffer[n], 2])
        count = max(count, own + 1)
    return own, count


@compiled
def _mismatch(nodes: Any, terms: Any, one: int, other: int, length: int) -> int:
    """Give the position up to which two logs differ although they agree above it, else -1.

    The logs are compared up to ``length``, from the top down. Logs that share a node are equal
    below it.
    """
    agreed = False
    position = length
    one, other = _node_at(nodes, one, position), _node_at(nodes, other, position)
    while one > _UNKNOWN and other > _UNKNOWN and one != other:
        if terms[nodes[one, 2]] == terms[nodes[other, 2]]:
            agreed = True
        elif agreed:
            return int(position)
        position = max(nodes[one, 1], nodes[other, 1])
        one, other = _node_at(nodes, one, position), _node_at(nodes, other, position)
    return -1


@compiled
def _misread(nodes: Any, terms: Any, top: int, start: Any, end: Any, begun: int) -> bool:
    """Whether a step misreads the log from ``start`` to ``end``.

    The step reads it as the beginning of the term ``begun``, or, if that is -1, as entries within
    one term.
    """
    node = _node_at(nodes, top, end)
    if node <= _UNKNOWN:
        return False
    term = terms[nodes[node, 2]]
    if begun >= 0 and begun != term:
        return True
    while nodes[node, 1] > start:
        node = _node_at(nodes, node, nodes[node, 1])
        if node <= _UNKNOWN:
            return False
        if terms[nodes[node, 2]] != term:
            return True
    begins = True
    if start > 0:
        below = _node_at(nodes, node, start)
        if below <= _UNKNOWN:
            return False
        begins = terms[nodes[below, 2]] != term
    return bool(begins != (begun >= 0))


@compiled
def _same(a: Any, b: Any) -> bool:
    """Whether two prefixes are equal; an unknown one (0) equals every other."""
    return bool(a == 0 or b == 0 or a == b)


@compiled
def _lacking(
    nodes: Any,
    hashes: Any,
    terms: Any,
    top: int,
    length: int,
    committed: int,
    committed_length: int,
    term: int,
) -> int:
    """Give a position where a leader of ``term`` lacks committed entries of older terms, or -1."""
    end = committed_length
    while committed > _UNKNOWN and top != _UNKNOWN:
        start = nodes[committed, 1]
        written_in = terms[nodes[committed, 2]]
        if written_in < term:
            if length < end:
                return int(end)
            theirs = _identity(nodes, hashes, committed, end)
            if _same(_identity(nodes, hashes, top, end), theirs):
                return -1
            own = _node_at(nodes, top, end)
            while own > _UNKNOWN and terms[nodes[own, 2]] == written_in and nodes[own, 1] > start:
                own = nodes[own, 0]
            if own != _UNKNOWN and (own == _ROOT or terms[nodes[own, 2]] != written_in):
                return int(end)
        end = start
        committed = _node_at(nodes, committed, end)
    return -1


@compiled
def _common(nodes: Any, hashes: Any, one: int, other: int, length: int) -> int:
    """Give the position up to which two logs are known to be equal, at most ``length``."""
    while length > 0:
        identity = _identity(nodes, hashes, one, length)
        if identity and identity == _identity(nodes, hashes, other, length):
            break
        below = _node_at(nodes, one, length), _node_at(nodes, other, length)
        length = max(nodes[below[0], 1], nodes[below[1], 1])
    return length


@compiled
def _held(nodes: Any, hashes: Any, top: Any, lengths: Any, committed: int, length: int) -> int:
    """Give the position up to which a quorum is known to have what is committed."""
    held = np.zeros(len(top), np.int64)
    for j in range(len(top)):
        held[j] = _common(nodes, hashes, top[j], committed, min(length, lengths[j]))
    return int(np.sort(held)[(len(top) - 1) // 2])


@compiled
def _is_gone(nodes: Any, hashes: Any, gone: Any, count: int, top: int, length: int) -> bool:
    """Whether a log of some length is part of a log that was on a disk which was replaced."""
    for k in range(count):
        if length <= gone[1, k]:
            own = _identity(nodes, hashes, gone[0, k], length)
            if own and _same(own, _identity(nodes, hashes, top, length)):
                return True
    return False


@kernel("order")
def replay_logs(  # noqa: C901  (one loop over the steps, so that all of a run stays in registers)
    order: Any,
    member: Any,
    before: Any,
    recorded: Any,
    commit: Any,
    consumes: Any,
    module_term: Any,
    lead_term: Any,
    source: Any,
    starts_leadership: Any,
    leadership_terms: Any,
    leadership_bases: Any,
    unknown: Any,
    whole: bool,
    checksum_start: Any,
    checksum_end: Any,
    checksum_position: Any,
    first_bad: Any,
    bad_detail: Any,
    witness: Any,
) -> None:
    """Follow the logs through the steps of a run; note where each log property first fails.

    Parameters
    ----------
    order
        Rows in an order of causes.
    before
        The row before in the same stream, -1 for a member with nothing on disk, -2 if not known,
        ``REPLACED`` if the member starts with another disk than it left.
    source
        For each row the leadership whose log it records from; negative if none or not known.
    starts_leadership
        For each row the leadership that begins in it, else -1.
    consumes, module_term
        For each row ``CONSUMES_ENTRIES``, ``CONSUMES_TERM`` or 0, and the module's term after it.
    lead_term
        The term that a member leads outside elections after each step, else -1.
    leadership_terms, leadership_bases
        The term of each leadership, and the position above which its log is of that term.
    unknown
        For each member whether its log is unknown at the start.
    whole
        Whether no step is missing. With missing steps causes are missing, too, and properties of
        several members at one time are not checked: LeaderCompleteness and CommittedIsDurable.
    checksum_start, checksum_end, checksum_position
        For each row where its checksums begin and end, and the positions of all checksums. The
        first two are empty if there are no checksums to follow.
    first_bad, bad_detail
        Get the place in the order where each of the `LOG_PROPERTIES` properties fails first, and a
        position. They are -1 before: a property that holds.
    witness
        Gets the identity of the log up to each checksum's position; 0 if it is not known.
    """
    members = len(unknown)
    capacity = 2 * len(leadership_terms) + 256
    nodes = np.zeros((capacity, 4), np.int64)
    nodes[:2, 0] = -1
    nodes[:2, 2] = -1
    nodes[_ROOT, 3] = 1
    hashes = np.zeros(capacity, np.uint64)
    count = 2
    # For each member its log, the term led, and the commit position with which it started on
    # another disk, below which it has committed nothing. For each leadership where it writes.
    top = np.full(members, _ROOT, np.int64)
    top[unknown] = _UNKNOWN
    length = np.zeros(members, np.int64)
    leading = np.full(members, -1, np.int64)
    found = np.full(members, -1, np.int64)
    stream = np.full(len(leadership_terms), -1, np.int64)
    # The committed log, and the longest committed log with known contents.
    committed, committed_length = _ROOT, 0
    sure, sure_length = _ROOT, 0
    # The logs that were on disks which were replaced. What no quorum has any more then is no longer
    # committed, and no commit of it that is repeated makes it so. The member is a new one.
    gone = np.zeros((2, np.count_nonzero(before == REPLACED)), np.int64)
    lost = 0
    buffer = np.empty(64, np.int64)

    for k in range(len(order)):
        row = order[k]
        i = member[row]
        end = recorded[row]
        if before[row] == -2:
            top[i] = _UNKNOWN
        old_length = length[i]
        length[i] = end
        if len(nodes) < count + 3 * len(buffer) + 4:
            grown = np.zeros((2 * len(nodes), 4), np.int64)
            grown[: len(nodes)] = nodes
            nodes = grown
            grown_hashes = np.zeros(2 * len(hashes), np.uint64)
            grown_hashes[: len(hashes)] = hashes
            hashes = grown_hashes

        changed = end != old_length
        if before[row] == REPLACED:
            if top[i] > _UNKNOWN:
                gone[0, lost], gone[1, lost] = top[i], old_length
                lost += 1
            top[i], found[i] = _UNKNOWN if end else _ROOT, commit[row]
            committed_length = _held(nodes, hashes, top, length, committed, committed_length)
            committed = _node_at(nodes, committed, committed_length)
            sure_length = min(sure_length, committed_length)
            sure = _node_at(nodes, sure, sure_length)
        elif end < old_length:
            cut = before[row] >= 0 and end < commit[before[row]]
            cut = cut and commit[before[row]] > found[i]
            if cut and lost:
                own = min(commit[before[row]], old_length)
                if _is_gone(nodes, hashes, gone, lost, top[i], own):
                    own = min(own, committed_length)
                    cut = end < _common(nodes, hashes, top[i], committed, own)
            if cut and first_bad[NO_TRUNCATION_BELOW_COMMIT] < 0:
                first_bad[NO_TRUNCATION_BELOW_COMMIT] = k
                bad_detail[NO_TRUNCATION_BELOW_COMMIT] = end
            top[i] = _node_at(nodes, top[i], end)
        elif end > old_length:
            e = source[row]
            if e < 0 or stream[e] < 0:
                top[i] = _UNKNOWN
            else:
                top[i], count = _put_on_top(
                    nodes,
                    hashes,
                    leadership_terms,
                    count,
                    top[i],
                    old_length,
                    stream[e],
                    end,
                    buffer,
                )
            for j in range(members):
                if first_bad[LOG_MATCHING] < 0:
                    common = min(length[i], length[j])
                    differ = _mismatch(nodes, leadership_terms, top[i], top[j], common)
                    if differ >= 0:
                        first_bad[LOG_MATCHING] = k
                        bad_detail[LOG_MATCHING] = differ

        e = starts_leadership[row]
        if e >= 0:
            base = leadership_bases[e]
            stream[e] = _new_node(nodes, hashes, leadership_terms, count, top[i], base, e)
            count = max(count, stream[e] + 1)
        if len(checksum_start):
            for n in range(checksum_start[row], checksum_end[row]):
                position = checksum_position[n]
                held = position <= length[i]
                witness[n] = _identity(nodes, hashes, top[i], position) if held else np.uint64(0)

        reads = consumes[row] and before[row] >= 0 and commit[row] <= length[i]
        if reads and first_bad[MISREAD] < 0:
            begun = module_term[row] if consumes[row] == CONSUMES_TERM else -1
            if _misread(nodes, leadership_terms, top[i], commit[before[row]], commit[row], begun):
                first_bad[MISREAD] = k
                bad_detail[MISREAD] = commit[row]

        # What is committed, and whether all agree on it.
        reached = min(commit[row], length[i])
        risen = before[row] < 0 or commit[row] != commit[before[row]]
        if lost and (
            before[row] == REPLACED or _is_gone(nodes, hashes, gone, lost, top[i], reached)
        ):
            changed = risen = False
        extended = False
        if changed or risen:
            common = min(reached, sure_length)
            own = _identity(nodes, hashes, top[i], common)
            differs = not _same(own, _identity(nodes, hashes, sure, common))
            if differs and first_bad[STATE_MACHINE_SAFETY] < 0:
                first_bad[STATE_MACHINE_SAFETY] = k
                bad_detail[STATE_MACHINE_SAFETY] = common
            if reached > sure_length and _identity(nodes, hashes, top[i], reached):
                sure, count = _put_on_top(
                    nodes,
                    hashes,
                    leadership_terms,
                    count,
                    sure,
                    sure_length,
                    top[i],
                    reached,
                    buffer,
                )
                sure_length = reached
            if reached > committed_length:
                committed, count = _put_on_top(
                    nodes,
                    hashes,
                    leadership_terms,
                    count,
                    committed,
                    committed_length,
                    top[i],
                    reached,
                    buffer,
                )
                committed_length = reached
                extended = True
        # A leader lacks entries from when it begins to lead, or from when its log is truncated.
        lacks_anew = (lead_term[row] >= 0 and leading[i] < 0) or end < old_length
        leading[i] = lead_term[row]
        for j in range(members):
            asked = whole and leading[j] >= 0 and (extended or (lacks_anew and j == i))
            if asked and first_bad[LEADER_COMPLETENESS] < 0:
                lacking = _lacking(
                    nodes,
                    hashes,
                    leadership_terms,
                    top[j],
                    length[j],
                    committed,
                    committed_length,
                    leading[j],
                )
                if lacking >= 0:
                    first_bad[LEADER_COMPLETENESS] = k
                    bad_detail[LEADER_COMPLETENESS] = lacking
        at_risk = whole and (extended or end < old_length)
        if at_risk and first_bad[COMMITTED_IS_DURABLE] < 0:
            holders = 0
            goal = _identity(nodes, hashes, committed, committed_length)
            for j in range(members):
                if top[j] == _UNKNOWN or (
                    length[j] >= committed_length
                    and _same(goal, _identity(nodes, hashes, top[j], committed_length))
                ):
                    holders += 1
            if holders < members // 2 + 1:
                first_bad[COMMITTED_IS_DURABLE] = k
                bad_detail[COMMITTED_IS_DURABLE] = committed_length
