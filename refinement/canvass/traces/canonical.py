"""Canonical NDJSON straight into columns, without an object for any event: the machine.

The machine reads whole lines that are canonical, as `canvass.traces.schema.encode` writes them, and
refuses anything else; it knows no names, the tables of `canvass.traces.grammar` hold them. Here is
compiled code only. Compiled code is kept on disk until *this* file changes: so whatever it depends
on comes in as an argument, the limits included.

Each function takes the place where it begins to read and gives the place after what it read, or -1
if something else is there. No literal holds an end of line and the data end with one, so that a
comparison stops before the end of the data does. Given -1, a function looks at that last byte,
finds nothing of its own, and gives -1 again: so failures need not be looked for at each step.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

INT, FLAG, SET, LOG, MEMBERS, ENUM = range(6)
"""Kinds of fields. From `ENUM` on: the index of an enum's table."""

WORDS: Final = (
    '{"step":',
    ',"timeNs":',
    ',"action":',
    ',"input":{',
    '"from":',
    ',"id":"',
    ',"message":{"type":',
    '},"sends":[',
    '{"to":',
    '],"state":',
    ',"logChecksums":[',
    '{"position":',
    ',"checksum":"',
    "true",
    "false",
    "}\n",
)
"""Literals that have a part of their own, below in the same order."""
(
    _STEP, _TIME, _ACTION, _INPUT, _FROM, _ID, _MESSAGE, _SENDS, _TO, _STATE,
    _CHECKSUMS, _POSITION, _CHECKSUM, _TRUE, _FALSE, _END,
) = range(len(WORDS))  # fmt: skip

_QUOTE, _COMMA, _MINUS, _ZERO, _NINE, _COLON = 34, 44, 45, 48, 57, 58
_OPEN_LIST, _CLOSE_LIST, _LETTER_A, _LETTER_F, _CLOSE_OBJECT = 91, 93, 97, 102, 125
"""Characters by their codes."""

LIMITS: Final = (
    "line bytes",
    "members",
    "id digits",
    "id bits",
    "sends",
    "log entries",
    "checksums",
    "enum of actions",
    "enum of message types",
)
"""What the array of limits holds, below in the same order."""
(
    _LINE_BYTES, _MEMBER_LIMIT, _ID_DIGITS, _ID_BITS, _SEND_LIMIT, _LOG_LIMIT,
    _CHECKSUM_LIMIT, _ACTION_ENUM, _MESSAGE_ENUM,
) = range(len(LIMITS))  # fmt: skip


@njit(cache=True)
def _literal(g: Any, data: Any, at: int, literal: int) -> int:
    for k in range(g.starts[literal], g.starts[literal + 1]):
        if data[at] != g.text[k]:
            return -1
        at += 1
    return at


@njit(cache=True)
def _word(g: Any, data: Any, at: int, word: int) -> int:
    return _literal(g, data, at, g.words[word])


@njit(cache=True)
def _mark(data: Any, at: int, mark: int) -> int:
    """Read one character."""
    return at + 1 if data[at] == mark else -1


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
        return 0, -1
    # 19 digits fit unsigned 64 bits.
    if value > np.uint64(0x7FFFFFFFFFFFFFFF) + np.uint64(negative):
        return 0, -1
    return (-np.int64(value) if negative else np.int64(value)), at


@njit(cache=True)
def _choice(g: Any, data: Any, at: int, enum: int) -> Any:
    """Read one of an enum's values; give its code and the place."""
    first = g.enums[enum, 0]
    for literal in range(first, g.enums[enum, 1] + 1):
        after = _literal(g, data, at, literal)
        if after >= 0:
            return literal - first, after
    return 0, -1


@njit(cache=True)
def _value(g: Any, data: Any, at: int, kind: int) -> Any:
    """Read a number, flag or enum; give it and the place."""
    if kind == INT:
        return _integer(data, at)
    if kind == FLAG:
        after = _word(g, data, at, _FALSE)
        if after >= 0:
            return 0, after
        return 1, _word(g, data, at, _TRUE)
    return _choice(g, data, at, kind - ENUM)


@njit(cache=True)
def _flat(g: Any, data: Any, at: int, program: Any, first: int, last: int, row: Any) -> int:
    """Read an object of plain fields, but for what opens it, into a row."""
    for k in range(first, last):
        at = _literal(g, data, at, program[k, 0])
        row[program[k, 2]], at = _value(g, data, at, program[k, 1])
        if at < 0:
            return -1
    return _mark(data, at, _CLOSE_OBJECT)


@njit(cache=True)
def _message_id(g: Any, data: Any, at: int) -> Any:
    """Read a message id and the quote after it; give its code and the place."""
    sender = np.int64(data[at]) - _ZERO
    if not 0 <= sender < g.limits[_MEMBER_LIMIT] or data[at + 1] != _COLON:
        return 0, -1
    number, after = _integer(data, at + 2)
    if number < 0 or after - at - 2 > g.limits[_ID_DIGITS]:
        return 0, -1
    return (sender << g.limits[_ID_BITS]) | number, _mark(data, after, _QUOTE)


@njit(cache=True)
def _message(g: Any, data: Any, at: int, row: Any) -> int:
    """Read a message, from the id on."""
    at = _word(g, data, at, _ID)
    row[2], at = _message_id(g, data, at)
    at = _word(g, data, at, _MESSAGE)
    code, at = _choice(g, data, at, g.limits[_MESSAGE_ENUM])
    row[0] = code
    first, last = g.message_starts[code], g.message_starts[code + 1]
    return _flat(g, data, at, g.messages, first, last, row)


@njit(cache=True)
def _members_set(g: Any, data: Any, at: int) -> Any:
    """Read a set of members, not empty, in ascending order; give its mask and the place."""
    at = _mark(data, at, _OPEN_LIST)
    mask, before = np.int64(0), np.int64(-1)
    while at >= 0:
        member = np.int64(data[at]) - _ZERO
        if not before < member < g.limits[_MEMBER_LIMIT]:
            break
        mask |= np.int64(1) << member
        before = member
        at += 1
        if data[at] == _CLOSE_LIST:
            return mask, at + 1
        at = _mark(data, at, _COMMA)
    return 0, -1


@njit(cache=True)
def _input(g: Any, data: Any, at: int, facts: Any, message: Any) -> int:
    """Read the fields of an input, of which each may be left out."""
    empty = True
    after = _word(g, data, at, _FROM)
    if after >= 0:
        message[1], at = _integer(data, after)
        at = _message(g, data, at, message)
        empty = False
    for k in range(len(g.inputs)):
        start = at if empty else _mark(data, at, _COMMA)
        after = _literal(g, data, start, g.inputs[k, 0])
        if after < 0:
            continue
        kind = g.inputs[k, 1]
        if kind == SET:
            value, at = _members_set(g, data, after)
        else:
            value, at = _value(g, data, after, kind)
        # A value that could have been left out is not canonical.
        if at < 0 or value == (-1 if kind == INT else 0):
            return -1
        facts[g.inputs[k, 2]] = value
        empty = False
    return at


@njit(cache=True)
def _element(data: Any, at: int, first: bool) -> int:
    """Go to the next element of a list."""
    return at if first else _mark(data, at, _COMMA)


@njit(cache=True)
def _records(g: Any, data: Any, at: int, program: Any, rows: Any, count: int, limit: int) -> Any:
    """Read a list of plain objects into rows from ``count`` on; give their new count and the place.

    At most ``limit`` elements are taken.
    """
    at = _mark(data, at, _OPEN_LIST)
    end = count + limit
    first = True
    while at >= 0 and data[at] != _CLOSE_LIST:
        if count == end:
            return 0, -1
        at = _element(data, at, first)
        at = _flat(g, data, at, program, 0, len(program), rows[count])
        count += 1
        first = False
    return count, _mark(data, at, _CLOSE_LIST)


@njit(cache=True)
def _state(g: Any, data: Any, at: int, state: Any, members: Any, log: Any, log_count: int) -> Any:
    """Read a member state with its lists; give the number of log entries so far and the place."""
    for k in range(len(g.state)):
        at = _literal(g, data, at, g.state[k, 0])
        kind = g.state[k, 1]
        if kind == LOG:
            limit = g.limits[_LOG_LIMIT]
            log_count, at = _records(g, data, at, g.entry, log, log_count, limit)
        elif kind == MEMBERS:
            count, at = _records(g, data, at, g.member, members, 0, len(members))
            if count != len(members):
                return 0, -1
        else:
            state[g.state[k, 2]], at = _value(g, data, at, kind)
        if at < 0:
            return 0, -1
    return log_count, _mark(data, at, _CLOSE_OBJECT)


@njit(cache=True)
def _sends(g: Any, data: Any, at: int, sends: Any, count: int) -> Any:
    """Read the elements of a list of sends; give the sends so far and the place of the bracket."""
    start = count
    while at >= 0 and data[at] != _CLOSE_LIST:
        at = _element(data, at, count == start)
        at = _word(g, data, at, _TO)
        sends[count, 1], at = _integer(data, at)
        at = _message(g, data, at, sends[count])
        at = _mark(data, at, _CLOSE_OBJECT)
        count += 1
    return count, at if count - start <= g.limits[_SEND_LIMIT] else -1


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
            return 0, -1
        value = (value << np.uint64(4)) | np.uint64(digit)
        at += 1
    return np.int64(value), at


@njit(cache=True)
def _checksums(g: Any, data: Any, at: int, sums: Any, count: int) -> Any:
    """Read a list of log checksums, not empty; give the checksums so far and the place."""
    start = count
    while at >= 0 and data[at] != _CLOSE_LIST:
        at = _element(data, at, count == start)
        at = _word(g, data, at, _POSITION)
        sums[count, 0], at = _integer(data, at)
        at = _word(g, data, at, _CHECKSUM)
        sums[count, 1], at = _checksum(data, at)
        at = _mark(data, _mark(data, at, _QUOTE), _CLOSE_OBJECT)
        count += 1
    if not 0 < count - start <= g.limits[_CHECKSUM_LIMIT]:
        return 0, -1
    return count, _mark(data, at, _CLOSE_LIST)


@njit(cache=True)
def parse_lines(
    g: Any, data: Any, row: int, heads: Any, inputs: Any, message: Any,
    state: Any, members: Any, offsets: Any, log: Any, sends: Any, sums: Any,
) -> int:  # fmt: skip
    """Read lines into rows from ``row`` on; give the number of the row after the last, or -1.

    ``heads`` has columns step, time and action; ``offsets`` has columns log, send and checksum, and
    row ``row`` of it says how many of each there are already. Before, cells hold what stands for
    absent: -1, and 0 for flags and sets of the input.
    """
    at, end = 0, len(data)
    logs, sent, summed = offsets[row, 0], offsets[row, 1], offsets[row, 2]
    while at < end:
        line = at
        at = _word(g, data, at, _STEP)
        heads[row, 0], at = _integer(data, at)
        at = _word(g, data, at, _TIME)
        heads[row, 1], at = _integer(data, at)
        at = _word(g, data, at, _ACTION)
        heads[row, 2], at = _choice(g, data, at, g.limits[_ACTION_ENUM])
        at = _word(g, data, at, _INPUT)
        at = _input(g, data, at, inputs[row], message[row])
        at = _word(g, data, at, _SENDS)
        sent, at = _sends(g, data, at, sends, sent)
        at = _word(g, data, at, _STATE)
        logs, at = _state(g, data, at, state[row], members[row], log, logs)
        after = _word(g, data, at, _CHECKSUMS)
        if after >= 0:
            summed, at = _checksums(g, data, after, sums, summed)
        at = _word(g, data, at, _END)
        if at < 0 or at - line - 1 > g.limits[_LINE_BYTES]:
            return -1
        row += 1
        offsets[row, 0], offsets[row, 1], offsets[row, 2] = logs, sent, summed
    return row
