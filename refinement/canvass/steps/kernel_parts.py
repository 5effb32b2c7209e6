"""The compiled functions that `canvass.steps.kernel` calls."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from canvass.steps.frames import Lookup
from canvass.steps.jit import compiled, compiled_from
from canvass.steps.step import (
    FIRST_FACTOR,
    FIRST_SEED,
    SECOND_FACTOR,
    SECOND_SEED,
    hash_cells,
)
from canvass.traces.layout import (
    INPUT_INDEX,
    MEMBER_INDEX,
    MESSAGE_INDEX,
    STATE_INDEX,
    NumberKind,
)
from canvass.traces.limits import MAX_INT

_OWN_LOG_TERM = STATE_INDEX["log_leadership_term_id"]
_MODULE_TERM = STATE_INDEX["module_leadership_term_id"]
_LEADERSHIP_TERM = STATE_INDEX["leadership_term_id"]
_REPLICATION_TERM = STATE_INDEX["replication_leadership_term_id"]
_MESSAGE_LOG_TERM = MESSAGE_INDEX["log_leadership_term_id"]
_INPUT_TERM = INPUT_INDEX["leadership_term_id"]
_RECORD_TERM = MEMBER_INDEX["leadership_term_id"]
_RECORD_TERMS = int(Lookup.RECORD_TERMS)
_LARGEST = MAX_INT
_MEMBER = int(NumberKind.MEMBER)
_MASK = int(NumberKind.MEMBER_MASK)
_CODE = int(NumberKind.CODE)
_MAX_FLAGS = 255


def _place_in(found: Any, value: int, first: int, count: int) -> int:
    end = count
    while first < end:
        middle = (first + end) // 2
        if found[middle] < value:
            first = middle + 1
        else:
            end = middle
    return first


@compiled_from(_place_in)
def place_in(found: Any, value: int, first: int, count: int) -> int:
    """Give the place of the first value that is not smaller, among sorted ones."""
    return bisect_left(found, value, first, count)


@compiled
def gather(found: Any, count: int, value: int) -> int:
    """Insert a value into the sorted distinct ones; return how many there are."""
    at = place_in(found, value, 0, count)
    if at < count and found[at] == value:
        return count
    for k in range(count, at, -1):
        found[k] = found[k - 1]
    found[at] = value
    return count + 1


@compiled
def rank(found: Any, ranks: Any, count: int, terms: bool) -> None:
    """Rank sorted distinct values, without -1 and, of positions, 0."""
    first = 0
    while first < count and found[first] < -1:
        first += 1
    place = -1 if terms else 0
    previous = -1 if terms else 0
    for k in range(first, count):
        place += 1 if not terms or found[k] == previous + 1 else 2
        previous = found[k]
        ranks[k] = place
    place = -1
    previous = -1
    for k in range(first - 1, -1, -1):
        place -= 1 if not terms or found[k] == previous - 1 else 2
        previous = found[k]
        ranks[k] = place


@compiled
def frame_holds(
    list_: Any,
    flags: Any,
    touched: int,
    before: Any,
    after: Any,
    records_before: Any,
    records_after: Any,
) -> bool:
    """Whether no untouched state column or record column changed."""
    for k in range(len(list_)):
        column = list_[k]
        if column < 0:
            break
        if before[column] != after[column]:
            return False
    for member in range(len(records_before)):
        one, other = records_before[member], records_after[member]
        whole = touched >= 0 and member != touched
        for column in range(len(flags)):
            if (whole or flags[column] & 4) and one[column] != other[column]:
                return False
    return True


@compiled
def same_log(log: Any, a: int, a_end: int, b: int, b_end: int) -> bool:
    """Whether two recording logs are equal."""
    if a_end - a != b_end - b:
        return False
    for k in range(a_end - a):
        one, other = log[a + k], log[b + k]
        for column in range(3):
            if one[column] != other[column]:
                return False
    return True


@compiled
def _rises(log: Any, start: int, end: int) -> bool:
    for k in range(start + 1, end):  # noqa: SIM110  (all() of a generator is slow to compile)
        if log[k - 1][0] >= log[k][0]:
            return False
    return True


@compiled
def _keep_first(log: Any, start: int, end: int, term: int, kept: Any) -> None:
    for k in range(start, end):
        if log[k][0] >= term:
            kept[k - start] = 1
            return


@compiled
def _next(term: int) -> int:
    return term + 1 if term < _LARGEST else term


@compiled
def _keep_looked_up(
    lookups: int,
    hardened: bool,
    state: Any,
    records: Any,
    message: Any,
    inputs: Any,
    log: Any,
    start: int,
    end: int,
    kept: Any,
) -> None:
    """Mark the entries of the state before that the step may look up."""
    own, named = state[_OWN_LOG_TERM], message[_MESSAGE_LOG_TERM]
    terms = (  # In the order of `Lookup`.
        own,
        _next(own),
        named,
        _next(named),
        state[_MODULE_TERM],
        state[_LEADERSHIP_TERM],
        state[_REPLICATION_TERM],
        inputs[_INPUT_TERM],
    )
    for lookup in range(len(terms)):
        if lookups >> lookup & 1:
            _keep_first(log, start, end, terms[lookup], kept)
    if lookups >> _RECORD_TERMS & 1 and hardened:
        for member in range(len(records)):
            _keep_first(log, start, end, records[member][_RECORD_TERM], kept)


@compiled
def _fill(kept: Any, count: int, mark: int) -> None:
    for at in range(count):
        kept[at] = mark


@compiled
def window(
    lookups: int,
    hardened: bool,
    state: Any,
    records: Any,
    message: Any,
    inputs: Any,
    log: Any,
    a: int,
    a_end: int,
    b: int,
    b_end: int,
    kept_before: Any,
    kept_after: Any,
) -> None:
    """Mark the entries kept of the recording logs before and after: see `canvass.steps.kernel`."""
    _fill(kept_before, a_end - a, 0)
    _fill(kept_after, b_end - b, 0)
    whole = not (_rises(log, a, a_end) and _rises(log, b, b_end))
    if not whole:
        if a_end > a:
            kept_before[a_end - a - 1] = 1
        _keep_looked_up(
            lookups, hardened, state, records, message, inputs, log, a, a_end, kept_before
        )
        # Both rise, so one walk finds the terms of the state before in the state after, and sees
        # whether what is not kept is equal.
        k = a
        for at in range(b, b_end):
            if a_end == a or log[at][0] > log[a_end - 1][0]:
                kept_after[at - b] = 1
                continue
            while k < a_end and (kept_before[k - a] and log[k][0] < log[at][0]):
                k += 1
            if k < a_end and kept_before[k - a] and log[k][0] == log[at][0]:
                kept_after[at - b] = 1
                k += 1
            elif k < a_end and not kept_before[k - a] and same_log(log, k, k + 1, at, at + 1):
                k += 1
            else:
                whole = True
                break
        while not whole and k < a_end:
            whole = not kept_before[k - a]
            k += 1
    if whole:
        _fill(kept_before, a_end - a, 1)
        _fill(kept_after, b_end - b, 1)


@compiled
def impossible(kind: int, value: int, lowest: int, members: int) -> bool:
    """Whether no cluster of so many members can have that value in a field of that kind."""
    if kind == _MEMBER:
        return value < lowest or value >= members
    if kind == _MASK:
        return value >> members != 0
    return kind == _CODE and (value < -1 or value > _MAX_FLAGS)


@compiled
def mention(member: int, peer: int, value: int) -> int:
    """Tell how a field names a peer: -1 no member, 0 the member itself, 1 the peer, 2 another."""
    if value == -1:
        return -1
    if value == member:
        return 0
    return 1 if value == peer else 2


@compiled
def moved_mask(mask: int, place: Any, count: int) -> int:
    """Give the mask of the new places of the members of a mask."""
    out = 0
    for member in range(count):
        if mask >> member & 1:
            out |= 1 << place[member]
    return out


@compiled
def sort_peers(member: int, count: int, hashes: Any, order: Any, place: Any) -> None:
    """Put the member first and its peers in the order of their hashes, equal ones by id."""
    order[0] = member
    filled = 1
    for peer in range(count):
        if peer == member:
            continue
        at = filled
        while at > 1 and hashes[order[at - 1]] > hashes[peer]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = peer
        filled += 1
    for k in range(count):
        place[order[k]] = k


def _seeds() -> Any:
    return np.uint64(FIRST_SEED), np.uint64(SECOND_SEED)


@compiled_from(_seeds)
def seeds() -> Any:
    """Give the hash of no cells."""
    return FIRST_SEED, SECOND_SEED


def _hashed(hash_: Any, cells: Any, start: int, end: int) -> Any:
    first, second = hash_
    for k in range(start, end):
        word = np.uint64(cells[k])
        first = (first ^ word) * np.uint64(FIRST_FACTOR)
        first ^= first >> np.uint64(29)
        second = (second + word) * np.uint64(SECOND_FACTOR)
        second ^= second >> np.uint64(32)
    return first, second


@compiled_from(_hashed)
def hashed(hash_: Any, cells: Any, start: int, end: int) -> Any:
    """Extend a hash by some cells: see ``canvass.steps.step.hash_cells``."""
    return hash_cells(cells[start:end], hash_)


@compiled
def extend(form: Any, size: int, cells: Any, start: int, end: int) -> int:
    """Append some cells to a form; return its new size."""
    for k in range(start, end):
        form[size + k - start] = cells[k]
    return size + end - start


def _scratch(size: int) -> Any:
    return np.empty(size, np.int64)


@compiled_from(_scratch)
def scratch(size: int) -> Any:
    """Give room for integers: an array, or a list, which plain Python reads faster."""
    return [0] * size


@compiled
def messages_to_others(
    member: int,
    peer: int,
    send_count: int,
    receivers: Any,
    send_start: Any,
    values: Any,
    kinds: Any,
    cells: Any,
) -> Any:
    """Hash the messages that name a peer and go to another; no allowed step sends one.

    It is the sum over the messages, which does not depend on their order; 0 if there is none.
    ``cells`` has room for one message.
    """
    total = np.uint64(0)
    for k in range(send_count):
        to = receivers[k]
        start, end = send_start[k], send_start[k + 1]
        named = False
        for c in range(start, end):
            named |= kinds[c] == _MEMBER and values[c] == peer
        if named and to != peer:
            cells[0] = mention(member, peer, to)
            for c in range(start, end):
                value = values[c]
                cells[c - start + 1] = (
                    mention(member, peer, value) if kinds[c] == _MEMBER else value
                )
            total += np.uint64(hashed(seeds(), cells, 0, end - start + 1)[0])
    return np.int64(total)
