"""Canonical NDJSON straight into columns, without an object for any event: the machine.

The machine reads whole lines that are canonical, as `canvass.traces.schema.encode` writes them, and
refuses anything else; it knows no names, the tables of `canvass.traces.grammar` hold them. Here is
compiled code only. Compiled code is kept on disk until *this* file changes: so whatever it depends
on comes in as an argument, the limits included.

Each function takes the place where it begins to read and gives the place after what it read, or 0
if something else is there. No value holds an end of line and the lines end with one, so that
whatever reads on stops there. There is one at place 0 too: given 0, a function finds nothing of its
own there and gives 0 again, and failures need not be looked for at each step.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

INT, FLAG, SET, LOG, MEMBERS, ENUM = range(6)
"""Kinds of fields. From `ENUM` on: the index of an enum's table."""

WORDS: Final = (
    '{"step":', ',"timeNs":', ',"action":', ',"input":{', '"from":', ',"id":"',
    ',"message":{"type":', '},"sends":[', '{"to":', '],"state":', ',"logChecksums":[',
    '{"position":', ',"checksum":"', "true", "false", "}\n",
)  # fmt: skip
"""Literals that have a part of their own, below in the same order."""
(
    _STEP, _TIME, _ACTION, _INPUT, _FROM, _ID, _MESSAGE, _SENDS, _TO, _STATE,
    _CHECKSUMS, _POSITION, _CHECKSUM, _TRUE, _FALSE, _END,
) = range(len(WORDS))  # fmt: skip

_QUOTE, _COMMA, _MINUS, _ZERO, _NINE, _COLON = 34, 44, 45, 48, 57, 58
_OPEN_LIST, _CLOSE_LIST, _LETTER_A, _LETTER_F, _CLOSE_OBJECT = 91, 93, 97, 102, 125
"""Characters by their codes."""

SECTIONS: Final = (
    "words", "state", "member", "entry", "messages", "inputs", "enums", "limits",
)  # fmt: skip
"""Parts of the table. It begins with their places and their numbers of rows, in this order.

words
    A literal for each of `WORDS`.
state, member, entry, inputs
    A program: for each field in order a literal, its kind and its column. The literal holds what
    opens the object before the first field, a comma before the others; none for inputs, of which
    each may be left out.
messages
    For each message type the place and the number of rows of its program.
enums
    For each enum the place of its literals and their number; actions and message types come last.
limits
    One number for each of `LIMITS`.

A literal is three numbers: its first word, its number of words, its number of bytes. A word is
eight bytes, the last one filled up, and the mask of those that count.
"""
(
    _WORDS, _STATE_PROGRAM, _MEMBER_PROGRAM, _ENTRY_PROGRAM, _MESSAGES, _INPUTS, _ENUMS, _LIMITS,
) = range(0, 2 * len(SECTIONS), 2)  # fmt: skip
LITERAL_SIZE, FIELD_SIZE = 3, 5
_KIND, _COLUMN = 3, 4

LIMITS: Final = (
    "line bytes", "members", "id digits", "id bits", "sends", "log entries", "checksums",
    "enum of actions", "enum of message types",
)  # fmt: skip
(
    _LINE_BYTES, _MEMBER_LIMIT, _ID_DIGITS, _ID_BITS, _SEND_LIMIT, _LOG_LIMIT,
    _CHECKSUM_LIMIT, _ACTION_ENUM, _MESSAGE_ENUM,
) = range(len(LIMITS))  # fmt: skip

WORD_BYTES: Final = 8
"""Bytes compared at once, and so readable behind the end of the data."""


def _load_word(_context: Any, array: Any, at: Any) -> Any:
    """Load eight bytes of an array from any place in it; bounds are the caller's business."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(held.data, [arguments[1]])
        loaded = builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()))
        loaded.align = 1
        return loaded

    return types.uint64(array, at), generate


_word_at: Any = intrinsic(_load_word)


@njit(cache=True)
def _literal(t: Any, w: Any, data: Any, at: int, literal: int) -> int:
    """Read the literal at a place of the table."""
    first = t[literal]
    for k in range(t[literal + 1]):
        found = _word_at(data, at + WORD_BYTES * k)
        if (found ^ w[first + k, 0]) & w[first + k, 1]:
            return 0
    return at + t[literal + 2]  # type: ignore[no-any-return]


@njit(cache=True)
def _word(t: Any, w: Any, data: Any, at: int, word: int) -> int:
    """Read one of `WORDS`."""
    return _literal(t, w, data, at, t[_WORDS] + LITERAL_SIZE * word)


@njit(cache=True)
def _limit(t: Any, limit: int) -> int:
    return t[t[_LIMITS] + limit]  # type: ignore[no-any-return]


@njit(cache=True)
def _mark(data: Any, at: int, mark: int) -> int:
    """Read one character."""
    return at + 1 if data[at] == mark else 0


@njit(cache=True)
def _integer(data: Any, at: int) -> Any:
    """Read a signed 64-bit integer in its one canonical form; give it and the place."""
    negative = data[at] == _MINUS
    if negative:
        at += 1
    first = at
    value = np.uint64(0)
    while _ZERO <= data[at] <= _NINE:
        value = value * np.uint64(10) + np.uint64(data[at] - _ZERO)
        at += 1
    digits = at - first
    if digits == 0 or digits > 19 or (data[first] == _ZERO and (digits > 1 or negative)):
        return 0, 0
    # 19 digits fit unsigned 64 bits.
    if value > np.uint64(0x7FFFFFFFFFFFFFFF) + np.uint64(negative):
        return 0, 0
    return (-np.int64(value) if negative else np.int64(value)), at


@njit(cache=True)
def _choice(t: Any, w: Any, data: Any, at: int, enum: int) -> Any:
    """Read one of an enum's values; give its code and the place."""
    row = t[_ENUMS] + 2 * enum
    for code in range(t[row + 1]):
        after = _literal(t, w, data, at, t[row] + LITERAL_SIZE * code)
        if after > 0:
            return code, after
    return 0, 0


@njit(cache=True)
def _value(t: Any, w: Any, data: Any, at: int, kind: int) -> Any:
    """Read a number, flag or enum; give it and the place."""
    if kind == INT:
        return _integer(data, at)
    if kind == FLAG:
        after = _word(t, w, data, at, _FALSE)
        if after > 0:
            return 0, after
        return 1, _word(t, w, data, at, _TRUE)
    return _choice(t, w, data, at, kind - ENUM)


@njit(cache=True)
def _flat(t: Any, w: Any, data: Any, at: int, program: int, row: Any) -> int:
    """Read an object of plain fields by a program, its place and size, into a row."""
    field = t[program]
    for _ in range(t[program + 1]):
        at = _literal(t, w, data, at, field)
        if at == 0:
            return 0
        row[t[field + _COLUMN]], at = _value(t, w, data, at, t[field + _KIND])
        field += FIELD_SIZE
    return _mark(data, at, _CLOSE_OBJECT)


@njit(cache=True)
def _message_id(t: Any, data: Any, at: int) -> Any:
    """Read a message id and the quote after it; give its code and the place."""
    sender = np.int64(data[at]) - _ZERO
    if not 0 <= sender < _limit(t, _MEMBER_LIMIT) or data[at + 1] != _COLON:
        return 0, 0
    number, after = _integer(data, at + 2)
    if number < 0 or after - at - 2 > _limit(t, _ID_DIGITS):
        return 0, 0
    return (sender << _limit(t, _ID_BITS)) | number, _mark(data, after, _QUOTE)


@njit(cache=True)
def _message(t: Any, w: Any, data: Any, at: int, row: Any) -> int:
    """Read a message, from the id on. The cells of what it does not have become -1."""
    row[3:] = -1
    at = _word(t, w, data, at, _ID)
    row[2], at = _message_id(t, data, at)
    at = _word(t, w, data, at, _MESSAGE)
    code, at = _choice(t, w, data, at, _limit(t, _MESSAGE_ENUM))
    row[0] = code
    return _flat(t, w, data, at, t[_MESSAGES] + 2 * code, row)


@njit(cache=True)
def _members_set(t: Any, data: Any, at: int) -> Any:
    """Read a set of members, not empty, in ascending order; give its mask and the place."""
    at = _mark(data, at, _OPEN_LIST)
    mask, before = np.int64(0), np.int64(-1)
    while at > 0:
        member = np.int64(data[at]) - _ZERO
        if not before < member < _limit(t, _MEMBER_LIMIT):
            break
        mask |= np.int64(1) << member
        before = member
        at += 1
        if data[at] == _CLOSE_LIST:
            return mask, at + 1
        at = _mark(data, at, _COMMA)
    return 0, 0


@njit(cache=True)
def _input(t: Any, w: Any, data: Any, at: int, facts: Any, message: Any) -> int:
    """Read the fields of an input, of which each may be left out."""
    empty = True
    message[:] = -1
    for k in range(t[_INPUTS + 1]):
        field = t[_INPUTS] + FIELD_SIZE * k
        facts[t[field + _COLUMN]] = -1 if t[field + _KIND] == INT else 0
    after = _word(t, w, data, at, _FROM)
    if after > 0:
        message[1], at = _integer(data, after)
        at = _message(t, w, data, at, message)
        empty = False
    for k in range(t[_INPUTS + 1]):
        field = t[_INPUTS] + FIELD_SIZE * k
        start = at if empty else _mark(data, at, _COMMA)
        if start == 0:
            return at
        after = _literal(t, w, data, start, field)
        if after == 0:
            continue
        kind = t[field + _KIND]
        if kind == SET:
            value, at = _members_set(t, data, after)
        else:
            value, at = _value(t, w, data, after, kind)
        # A value that could have been left out is not canonical.
        if at == 0 or value == (-1 if kind == INT else 0):
            return 0
        facts[t[field + _COLUMN]] = value
        empty = False
    return at


@njit(cache=True)
def _element(data: Any, at: int, first: bool) -> int:
    """Go to the next element of a list."""
    return at if first else _mark(data, at, _COMMA)


@njit(cache=True)
def _records(
    t: Any, w: Any, data: Any, at: int, program: int, rows: Any, count: int, limit: int
) -> Any:
    """Read a list of plain objects into rows from ``count`` on; give their new count and the place.

    At most ``limit`` elements are taken.
    """
    at = _mark(data, at, _OPEN_LIST)
    end = count + limit
    first = True
    while at > 0 and data[at] != _CLOSE_LIST:
        if count == end:
            return 0, 0
        at = _element(data, at, first)
        at = _flat(t, w, data, at, program, rows[count])
        count += 1
        first = False
    return count, _mark(data, at, _CLOSE_LIST)


@njit(cache=True)
def _state(
    t: Any, w: Any, data: Any, at: int, state: Any, members: Any, log: Any, log_count: int
) -> Any:
    """Read a member state with its lists; give the number of log entries so far and the place."""
    for k in range(t[_STATE_PROGRAM + 1]):
        field = t[_STATE_PROGRAM] + FIELD_SIZE * k
        at = _literal(t, w, data, at, field)
        if at == 0:
            return 0, 0
        kind = t[field + _KIND]
        if kind == LOG:
            limit = _limit(t, _LOG_LIMIT)
            log_count, at = _records(t, w, data, at, _ENTRY_PROGRAM, log, log_count, limit)
        elif kind == MEMBERS:
            count, at = _records(t, w, data, at, _MEMBER_PROGRAM, members, 0, len(members))
            if count != len(members):
                return 0, 0
        else:
            state[t[field + _COLUMN]], at = _value(t, w, data, at, kind)
    return log_count, _mark(data, at, _CLOSE_OBJECT)


@njit(cache=True)
def _sends(t: Any, w: Any, data: Any, at: int, sends: Any, count: int) -> Any:
    """Read the elements of a list of sends; give the sends so far and the place of the bracket."""
    start = count
    while at > 0 and data[at] != _CLOSE_LIST:
        at = _element(data, at, count == start)
        at = _word(t, w, data, at, _TO)
        sends[count, 1], at = _integer(data, at)
        at = _message(t, w, data, at, sends[count])
        at = _mark(data, at, _CLOSE_OBJECT)
        count += 1
    return count, at if count - start <= _limit(t, _SEND_LIMIT) else 0


@njit(cache=True)
def _checksum(data: Any, at: int) -> Any:
    """Read the sixteen digits of a checksum; give their bits as a signed number and the place."""
    value = np.uint64(0)
    for _ in range(16):
        digit = np.int64(data[at])
        if _ZERO <= digit <= _NINE:
            digit -= _ZERO
        elif _LETTER_A <= digit <= _LETTER_F:
            digit -= _LETTER_A - 10
        else:
            return 0, 0
        value = (value << np.uint64(4)) | np.uint64(digit)
        at += 1
    return np.int64(value), at


@njit(cache=True)
def _checksums(t: Any, w: Any, data: Any, at: int, sums: Any, count: int) -> Any:
    """Read a list of log checksums, not empty; give the checksums so far and the place."""
    start = count
    while at > 0 and data[at] != _CLOSE_LIST:
        at = _element(data, at, count == start)
        at = _word(t, w, data, at, _POSITION)
        sums[count, 0], at = _integer(data, at)
        at = _word(t, w, data, at, _CHECKSUM)
        sums[count, 1], at = _checksum(data, at)
        at = _mark(data, _mark(data, at, _QUOTE), _CLOSE_OBJECT)
        count += 1
    if not 0 < count - start <= _limit(t, _CHECKSUM_LIMIT):
        return 0, 0
    return count, _mark(data, at, _CLOSE_LIST)


@njit(cache=True)
def parse_lines(
    t: Any, w: Any, data: Any, row: int, heads: Any, inputs: Any, message: Any,
    state: Any, members: Any, offsets: Any, log: Any, sends: Any, sums: Any,
) -> int:  # fmt: skip
    """Read lines into rows from ``row`` on; give the number of the row after the last, or -1.

    The table and its words are those of `canvass.traces.grammar`. Before the lines the data have an
    end of line, behind them `WORD_BYTES` bytes of any content.
    ``heads`` has columns step, time and action; ``offsets`` has columns log, send and checksum, and
    row ``row`` of it says how many of each there are already. There must be rows for as many lines,
    entries, sends and checksums as the data may hold, and one more of each.
    """
    at, end = 1, len(data) - WORD_BYTES
    logs, sent, summed = offsets[row, 0], offsets[row, 1], offsets[row, 2]
    while at < end:
        line = at
        at = _word(t, w, data, at, _STEP)
        heads[row, 0], at = _integer(data, at)
        at = _word(t, w, data, at, _TIME)
        heads[row, 1], at = _integer(data, at)
        at = _word(t, w, data, at, _ACTION)
        heads[row, 2], at = _choice(t, w, data, at, _limit(t, _ACTION_ENUM))
        at = _word(t, w, data, at, _INPUT)
        at = _input(t, w, data, at, inputs[row], message[row])
        at = _word(t, w, data, at, _SENDS)
        sent, at = _sends(t, w, data, at, sends, sent)
        at = _word(t, w, data, at, _STATE)
        logs, at = _state(t, w, data, at, state[row], members[row], log, logs)
        after = _word(t, w, data, at, _CHECKSUMS)
        if after > 0:
            summed, at = _checksums(t, w, data, after, sums, summed)
        at = _word(t, w, data, at, _END)
        if at == 0 or at - line - 1 > _limit(t, _LINE_BYTES):
            return -1
        row += 1
        offsets[row, 0], offsets[row, 1], offsets[row, 2] = logs, sent, summed
    return row
