"""The canonical form of steps, and its key: one text, run as plain Python or as machine code.

The operators of the spec use terms and positions by comparison, min, max, "+1" on terms and the
constants -1 and 0, and members by looking them up and counting them. So a step is allowed if and
only if its canonical form is: the image under

1. the *frame*: fields that the action does not touch are equal before and after, and are erased
   (`canvass.steps.action_fields`);
2. the *window*: of the recording log only the entries that the step may look up are kept; all, if
   the logs differ in other entries;
3. the *renaming* of positions (0 and -1 fixed) and of terms (-1 fixed, a gap of one stays one, a
   larger one becomes two) to the smallest numbers in the same order;
4. the *permutation* that makes the member 0, and orders its peers by the fields of the step that
   are about each. Sends are in the order of their receivers. A message that names a third member
   decides no order: no allowed step sends one.

A form is a list of cells: the frame, whether another member is the appointed leader and the action
asks for that, the cells of input and message, of the states before and after, and of the sends. Its
hash of 128 bits is the key.

`canonicalise` is one long function: in machine code, functions that pass many arrays to each other
are much slower. Nothing here decides whether a step is allowed.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.rules import Rules
from canvass.steps.action_fields import OPTIONAL_INPUT, REGIMES, Lookup, Regime, tables
from canvass.steps.compiled_loops import compiled, compiled_from, kernel
from canvass.traces.actions import Action
from canvass.traces.columns import Ints
from canvass.traces.schema import (
    ACTION_NAMES,
    INPUT_COLUMNS,
    INPUT_INDEX,
    MAX_INT,
    MEMBER_COLUMNS,
    MEMBER_INDEX,
    MESSAGE_COLUMNS,
    MESSAGE_INDEX,
    STATE_COLUMNS,
    STATE_ENUMS,
    STATE_INDEX,
    NumberKind,
)

KEYED: Final = 0
UNKNOWN_BEFORE: Final = 1
FRAME_BROKEN: Final = 2
OUT_OF_DOMAIN: Final = 3

FLAVOUR_149: Final = 1
FLAVOUR_HZ1: Final = 2
FLAVOUR_HZ11: Final = 4
FLAVOUR_APPOINTED_SHIFT: Final = 3

_TERM: Final = int(NumberKind.TERM)
_POSITION: Final = int(NumberKind.POSITION)
_MEMBER: Final = int(NumberKind.MEMBER)
_MASK: Final = int(NumberKind.MEMBER_MASK)
_CODE: Final = int(NumberKind.CODE)
_STATES: Final = len(STATE_COLUMNS)
_RECORDS: Final = len(MEMBER_COLUMNS)
_MESSAGE: Final = len(MESSAGE_COLUMNS)
_INPUTS: Final = len(INPUT_COLUMNS)
_MODULE_STATE: Final = STATE_INDEX["module_state"]
_ROLE: Final = STATE_INDEX["role"]
_ELECTION_STATE: Final = STATE_INDEX["election_state"]
_MODULE_TERM: Final = STATE_INDEX["module_leadership_term_id"]
_LEADER_ID: Final = STATE_INDEX["leader_member_id"]
_GRACEFUL_ID: Final = STATE_INDEX["graceful_closed_leader_id"]
_GRACEFUL_INPUT: Final = INPUT_INDEX["graceful_closed_leader_id"]
_OPTIONAL_INPUT: Final = INPUT_INDEX[OPTIONAL_INPUT]
_ACTIVE_INPUT: Final = INPUT_INDEX["active"]
_ACCEPTED_INPUT: Final = INPUT_INDEX["accepted"]
_PEER: Final = MESSAGE_INDEX["peer"]
_FOLLOWER: Final = MESSAGE_INDEX["follower_member_id"]
_VOTE: Final = MEMBER_INDEX["vote"]
_CLOSED: Final = STATE_ENUMS["election_state"].index("CLOSED")
_LEADER: Final = STATE_ENUMS["role"].index("LEADER")
_RESTART: Final = ACTION_NAMES.index(Action.RESTART.value)
_LEADER_LOG_REPLICATION: Final = ACTION_NAMES.index(Action.LEADER_LOG_REPLICATION.value)
_ON_CANVASS_POSITION: Final = ACTION_NAMES.index(Action.ON_CANVASS_POSITION.value)
_CANVASS: Final = ACTION_NAMES.index(Action.CANVASS.value)
_INACTIVE: Final = int(Regime.INACTIVE)
_CLOSED_LEADER: Final = int(Regime.CLOSED_LEADER)
_CLOSED_OTHER: Final = int(Regime.CLOSED_OTHER)
_CLOSED_NEWER: Final = int(Regime.CLOSED_NEWER)
_ELECTION_LEADER: Final = int(Regime.ELECTION_LEADER)
_ELECTION_OTHER: Final = int(Regime.ELECTION_OTHER)
_OWN_LOG_TERM: Final = STATE_INDEX["log_leadership_term_id"]
_LEADERSHIP_TERM: Final = STATE_INDEX["leadership_term_id"]
_REPLICATION_TERM: Final = STATE_INDEX["replication_leadership_term_id"]
_MESSAGE_LOG_TERM: Final = MESSAGE_INDEX["log_leadership_term_id"]
_INPUT_TERM: Final = INPUT_INDEX["leadership_term_id"]
_RECORD_TERM: Final = MEMBER_INDEX["leadership_term_id"]
_RECORD_TERMS: Final = int(Lookup.RECORD_TERMS)
_LARGEST: Final = MAX_INT
_MAX_FLAGS: Final = 255

_WORD: Final = (1 << 64) - 1
_FIRST_FACTOR: Final = 0x9E3779B97F4A7C15
_SECOND_FACTOR: Final = 0xC2B2AE3D27D4EB4F
_FIRST_SEED: Final = 0x243F6A8885A308D3
_SECOND_SEED: Final = 0x13198A2E03707344


def hash_cells(
    cells: Iterable[int], before: tuple[int, int] = (_FIRST_SEED, _SECOND_SEED)
) -> tuple[int, int]:
    """Hash integers to 128 bits: two lanes of multiply and shift.

    ``before`` is the hash of the cells before them.
    """
    first, second = before
    for cell in cells:
        word = cell & _WORD
        first = (first ^ word) * _FIRST_FACTOR & _WORD
        first ^= first >> 29
        second = (second + word) * _SECOND_FACTOR & _WORD
        second ^= second >> 32
    return first, second


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
    """Mark the entries kept of the recording logs before and after: see the module."""
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
    return np.uint64(_FIRST_SEED), np.uint64(_SECOND_SEED)


@compiled_from(_seeds)
def seeds() -> Any:
    """Give the hash of no cells."""
    return _FIRST_SEED, _SECOND_SEED


def _hashed(hash_: Any, cells: Any, start: int, end: int) -> Any:
    first, second = hash_
    for k in range(start, end):
        word = np.uint64(cells[k])
        first = (first ^ word) * np.uint64(_FIRST_FACTOR)
        first ^= first >> np.uint64(29)
        second = (second + word) * np.uint64(_SECOND_FACTOR)
        second ^= second >> np.uint64(32)
    return first, second


@compiled_from(_hashed)
def hashed(hash_: Any, cells: Any, start: int, end: int) -> Any:
    """Extend a hash by some cells: see `hash_cells`."""
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
def regime_of(newer_of: Any, leader_states: Any, action: int, before: Any, message: Any) -> int:
    """Give the `Regime` of a step: the case of the operators that it falls into."""
    if action == _RESTART or before[_MODULE_STATE] != 0:
        return _INACTIVE
    if before[_ELECTION_STATE] == _CLOSED:
        newer = newer_of[action]
        if newer >= 0 and message[newer] > before[_MODULE_TERM]:
            return _CLOSED_NEWER
        return _CLOSED_LEADER if before[_ROLE] == _LEADER else _CLOSED_OTHER
    if before[_ROLE] == _LEADER or leader_states[before[_ELECTION_STATE]]:
        return _ELECTION_LEADER
    return _ELECTION_OTHER


@compiled
def capacity_of(members: int, log_capacity: int, send_capacity: int) -> int:
    """Give the room for the cells of a form."""
    cells = _STATES + _RECORDS * members + 1 + 3 * log_capacity
    return _INPUTS + _MESSAGE + 2 * cells + _MESSAGE * send_capacity


@kernel("status", lists=("t", "flavours", "steps"))
def canonicalise(  # noqa: C901  (see the module)
    t: Any,
    members: int,
    flavours: Any,
    steps: Any,
    log_capacity: int,
    send_capacity: int,
    keys: Any,
    status: Any,
) -> None:
    """Key each step; see `canonical_keys`."""
    member_of, actions, before_rows, after_rows, inputs, messages = steps[:6]
    states, records, log_offsets, log, send_offsets, sends = steps[6:]
    capacity = capacity_of(members, log_capacity, send_capacity)
    values = scratch(capacity)
    kinds = scratch(capacity)
    terms = scratch(capacity)
    term_ranks = scratch(capacity)
    positions = scratch(capacity)
    position_ranks = scratch(capacity)
    kept_before = scratch(log_capacity)
    kept_after = scratch(log_capacity)
    send_start = scratch(send_capacity + 1)
    receivers = scratch(send_capacity)
    single_start = scratch(3)
    record_start = scratch(2)
    record_width = scratch(2)
    log_start = scratch(2)
    leaders = scratch(4)
    hashes = np.empty(members, np.uint64)
    order = scratch(members)
    place = scratch(members)
    hash_input = scratch(capacity + send_capacity + 8)

    erased_record, state_kinds, record_kinds = t.erased_record, t.state_kinds, t.record_kinds
    newer_of, leader_states = t.newer, t.leader_states
    input_kinds, message_kinds, fields_of = t.input_kinds, t.message_kinds, t.fields

    for row in range(len(actions)):
        member = member_of[row]
        before_row, after_row = before_rows[row], after_rows[row]
        if before_row < 0:
            status[row] = UNKNOWN_BEFORE
            continue
        if member >= members:
            status[row] = OUT_OF_DOMAIN
            continue
        action = actions[row]
        message = messages[row]
        rules = flavours[row]
        before = states[before_row]
        regime = regime_of(newer_of, leader_states, action, before, message)
        numbered = action * REGIMES + regime
        shows_votes = action == _CANVASS and rules & FLAVOUR_HZ11
        frame = len(t.untouched) - 1 if shows_votes else numbered
        touched = -1
        if t.record_of[frame] >= 0:
            touched = message[t.record_of[frame]]
            if touched < 0 or touched >= members:
                status[row] = OUT_OF_DOMAIN
                continue

        # The frame.
        kept_cells = t.records[frame]
        after = states[after_row]
        records_before, records_after = records[before_row], records[after_row]
        holds = frame_holds(
            t.untouched[frame], kept_cells, touched, before, after, records_before, records_after
        )
        a, a_end = log_offsets[before_row], log_offsets[before_row + 1]
        b, b_end = log_offsets[after_row], log_offsets[after_row + 1]
        keeps_log = t.log[frame]
        if not holds or not (keeps_log or same_log(log, a, a_end, b, b_end)):
            status[row] = FRAME_BROKEN
            continue
        first_send = send_offsets[row]
        send_count = send_offsets[row + 1] - first_send

        # The cells that are kept: input and message, state before, state after, sends.
        bad = False
        n = 0
        active, accepted, graceful = 0, 0, -1
        columns, facts = t.inputs[action], inputs[row]
        for k in range(len(columns)):
            column = columns[k]
            if column < 0:
                break
            value = facts[column]
            if column == _ACTIVE_INPUT:
                renewed = member if action == _LEADER_LOG_REPLICATION else -1
                if action == _ON_CANVASS_POSITION:
                    renewed = message[_FOLLOWER]
                if message[0] >= 0 and (rules & FLAVOUR_149 or regime != _ELECTION_LEADER):
                    value = 0
                elif rules & FLAVOUR_149:
                    value = 1 << member
                elif 0 <= renewed < members:
                    value |= 1 << renewed
                active = value
            elif column == _ACCEPTED_INPUT:
                accepted = value
            elif column == _GRACEFUL_INPUT:
                graceful = value
            elif column == _OPTIONAL_INPUT and value < 0:
                continue
            values[n] = value
            kinds[n] = input_kinds[column]
            bad |= impossible(kinds[n], value, -1, members)
            n += 1
        message_start = n
        if message[0] >= 0:
            values[n] = message[0]
            kinds[n] = _CODE
            n += 1
            columns = fields_of[message[0]]
            for k in range(len(columns)):
                column = columns[k]
                if column < 0:
                    break
                values[n] = message[column]
                kinds[n] = message_kinds[column]
                bad |= impossible(kinds[n], values[n], 0, members)
                n += 1
        message_end = n
        if keeps_log:
            window(
                t.lookups[frame],
                (rules & FLAVOUR_HZ1) != 0,
                before,
                records_before,
                message,
                facts,
                log,
                a,
                a_end,
                b,
                b_end,
                kept_before,
                kept_after,
            )
        for side in range(2):
            source = before_row if side == 0 else after_row
            state = states[source]
            columns = t.before[frame] if side == 0 else t.after[frame]
            single_start[side] = n
            leaders[2 * side] = -1
            leaders[2 * side + 1] = -1
            for k in range(len(columns)):
                column = columns[k]
                if column < 0:
                    break
                value = state[column]
                kind = state_kinds[column]
                values[n] = value
                kinds[n] = kind
                n += 1
                if kind == _MEMBER:
                    bad |= value < -1 or value >= members
                    if column == _LEADER_ID:
                        leaders[2 * side] = value
                    elif column == _GRACEFUL_ID:
                        leaders[2 * side + 1] = value
            record_start[side] = n
            width = 0
            for column in range(_RECORDS):
                width += (kept_cells[column] >> side) & 1
            record_width[side] = width
            if width:
                members_of = records[source]
                for j in range(members):
                    record = members_of[j]
                    erased = touched >= 0 and j != touched
                    for column in range(_RECORDS):
                        if (kept_cells[column] >> side) & 1:
                            value = erased_record[column] if erased else record[column]
                            values[n] = value
                            kinds[n] = record_kinds[column]
                            n += 1
                            if column == _VOTE:
                                bad |= value < -1 or value > 1
            log_start[side] = n
            if keeps_log:
                start, end = (a, a_end) if side == 0 else (b, b_end)
                kept = kept_before if side == 0 else kept_after
                count_at = n
                kinds[n] = _CODE
                n += 1
                entries = 0
                for k in range(end - start):
                    if kept[k]:
                        entries += 1
                        entry = log[start + k]
                        for column in range(3):
                            values[n] = entry[column]
                            kinds[n] = _TERM if column == 0 else _POSITION
                            n += 1
                values[count_at] = entries
        single_start[2] = n
        for k in range(send_count):
            send = sends[first_send + k]
            peer = send[_PEER]
            bad |= peer < 0 or peer >= members
            receivers[k] = peer
            send_start[k] = n
            values[n] = send[0]
            kinds[n] = _CODE
            n += 1
            columns = fields_of[send[0]]
            for f in range(len(columns)):
                column = columns[f]
                if column < 0:
                    break
                values[n] = send[column]
                kinds[n] = message_kinds[column]
                bad |= impossible(kinds[n], values[n], -1, members)
                n += 1
        send_start[send_count] = n
        if bad:
            status[row] = OUT_OF_DOMAIN
            continue

        # Terms and positions become their ranks.
        term_count = 0
        position_count = 0
        last_term, last_position = -1, -1  # Equal numbers often follow each other.
        for k in range(n):
            value = values[k]
            if kinds[k] == _TERM:
                if value != -1 and value != last_term:
                    term_count = gather(terms, term_count, value)
                    last_term = value
            elif kinds[k] == _POSITION and value != -1 and value != 0 and value != last_position:
                position_count = gather(positions, position_count, value)
                last_position = value
        rank(terms, term_ranks, term_count, True)
        rank(positions, position_ranks, position_count, False)
        for k in range(n):
            value = values[k]
            if kinds[k] == _TERM:
                if value != -1:
                    values[k] = term_ranks[place_in(terms, value, 0, term_count)]
            elif kinds[k] == _POSITION and value != -1 and value != 0:
                values[k] = position_ranks[place_in(positions, value, 0, position_count)]

        # Peers are ordered by what the step says of each.
        for peer in range(members):
            if peer == member:
                continue
            size = 0
            for side in range(2):
                start = record_start[side] + record_width[side] * peer
                for k in range(start, start + record_width[side]):
                    hash_input[size] = values[k]
                    size += 1
                is_leader = int(leaders[2 * side] == peer)
                hash_input[size] = is_leader + 2 * int(leaders[2 * side + 1] == peer)
                size += 1
            for k in range(message_start, message_end):
                value = values[k]
                hash_input[size] = mention(member, peer, value) if kinds[k] == _MEMBER else value
                size += 1
            hash_input[size] = (active >> peer & 1) + 2 * (accepted >> peer & 1)
            hash_input[size + 1] = int(graceful == peer)
            size += 2
            for k in range(send_count):
                if receivers[k] == peer:
                    for c in range(send_start[k], send_start[k + 1]):
                        value = values[c]
                        if kinds[c] == _MEMBER:
                            value = mention(member, peer, value)
                        hash_input[size] = value
                        size += 1
            hashes[peer] = hashed(seeds(), hash_input, 0, size)[0]
        sort_peers(member, members, hashes, order, place)

        for k in range(n):
            if kinds[k] == _MEMBER and values[k] >= 0:
                values[k] = place[values[k]]
            elif kinds[k] == _MASK:
                values[k] = moved_mask(values[k], place, members)

        # The form and its key.
        form = hash_input
        appointed = (rules >> FLAVOUR_APPOINTED_SHIFT) - 1
        form[0] = numbered
        form[1] = int(action == _CANVASS and appointed != -1 and appointed != member)
        size = extend(form, 2, values, 0, single_start[0])
        for side in range(2):
            size = extend(form, size, values, single_start[side], record_start[side])
            width = record_width[side]
            if width:
                for j in range(members):
                    start = record_start[side] + width * order[j]
                    size = extend(form, size, values, start, start + width)
            size = extend(form, size, values, log_start[side], single_start[side + 1])
        for receiver in range(members):
            for k in range(send_count):
                if place[receivers[k]] == receiver:
                    form[size] = receiver
                    size = extend(form, size + 1, values, send_start[k], send_start[k + 1])
        keys[row, 0], keys[row, 1] = hashed(seeds(), form, 0, size)
        status[row] = KEYED


class Status(IntEnum):
    """The kernel's status of a step."""

    KEYED = KEYED
    UNKNOWN_BEFORE = UNKNOWN_BEFORE
    """The state before the step is not known."""
    FRAME_BROKEN = FRAME_BROKEN
    """A field that the action does not touch was changed."""
    OUT_OF_DOMAIN = OUT_OF_DOMAIN
    """A field holds an impossible value."""


def flavour(rules: Rules) -> int:
    """Give the parts of the rules that the canonical form reads, as one number."""
    return (
        FLAVOUR_149 * rules.is_149
        + FLAVOUR_HZ1 * rules.is_hardened("HZ1")
        + FLAVOUR_HZ11 * rules.is_hardened("HZ11")
        + (rules.appointed_leader_id + 1 << FLAVOUR_APPOINTED_SHIFT)
    )


class StepColumns(NamedTuple):
    """Steps in columns, laid out as in `canvass.traces.columns.EventColumns`."""

    member: Ints
    action: Ints
    before: Ints
    """The row of the state before each step; -1 where it is not known."""
    after: Ints
    inputs: Ints
    message: Ints
    state: Ints
    members: Ints
    log_offsets: Ints
    log: Ints
    send_offsets: Ints
    sends: Ints


def canonical_keys(
    steps: StepColumns, rules: Sequence[Rules], of: Ints | None = None
) -> tuple[NDArray[np.uint64], Ints]:
    """Give the key of each step with its rules, and the status.

    Parameters
    ----------
    steps
        The steps.
    rules
        The rules that they are under.
    of
        For each step the place of its rules in ``rules``. Default: all are under the first ones.

    Returns
    -------
    keys : (n, 2) array
        Valid where the status is `Status.KEYED`.
    status : array of `Status`
    """
    own = np.zeros(len(steps.action), dtype=np.int64) if of is None else of
    flavours = np.array([flavour(each) for each in rules], dtype=np.int64)[own]
    keys = np.zeros((len(own), 2), dtype=np.uint64)
    status = np.empty(len(own), dtype=np.int64)
    entries, sends = (
        int(np.diff(each).max(initial=0)) for each in (steps.log_offsets, steps.send_offsets)
    )
    canonicalise(tables(), steps.members.shape[1], flavours, steps, entries, sends, keys, status)
    keys[:, 1] ^= np.array([rules_digest(each) for each in rules], dtype=np.uint64)[own]
    return keys, status


def rules_digest(rules: Rules) -> int:
    """Give 64 bits that distinguish the canonical steps of different rules.

    The form itself has the appointed leader.
    """
    name = f"{rules.member_count}/{rules.revision}/{','.join(sorted(rules.hardening))}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
