"""The grammar of a canonical line, compiled from the Structs into the tables of the machine.

The order of fields, their names, kinds and columns, the enums: all of it follows from
`canvass.traces.wire` and `canvass.traces.layout`, so that a new field in the core needs no change
here. The machine is in `canvass.traces.canonical`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.names import wire_name
from canvass.traces import wire
from canvass.traces.canonical import ENUM, FLAG, INT, LOG, MEMBERS, SET, WORDS
from canvass.traces.columns import Ints
from canvass.traces.layout import (
    ACTION_NAMES,
    FLAG_COLUMNS,
    ID_BITS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    LOG_INDEX,
    MEMBER_COLUMNS,
    MEMBER_INDEX,
    MESSAGE_INDEX,
    MESSAGE_TYPE_NAMES,
    STATE_ENUMS,
    STATE_INDEX,
)
from canvass.traces.limits import (
    MAX_ID_DIGITS,
    MAX_LINE_BYTES,
    MAX_LOG_CHECKSUMS,
    MAX_MEMBERS,
    MAX_RECORDING_LOG,
    MAX_SENDS,
)


class Grammar(NamedTuple):
    """The tables. A program is rows of literal, kind and column, one for each field in order."""

    text: NDArray[np.uint8]
    """All literals, one after the other."""
    starts: Ints
    """Where each literal starts, and where the last one ends."""
    words: Ints
    """The literals of `canvass.traces.canonical.WORDS`."""
    state: Ints
    member: Ints
    entry: Ints
    messages: Ints
    """The programs of all message types."""
    message_starts: Ints
    """Where each message type's program starts, and where the last one ends."""
    inputs: Ints
    """The optional fields of the input, whose literals have no comma."""
    enums: Ints
    """First and last literal of each enum's values."""
    limits: Ints
    """The limits of `canvass.traces.canonical.LIMITS`."""


class _Literals:
    """Literals in the making."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.starts = [0]

    def add(self, text: str) -> int:
        assert "\n" not in text[:-1]
        self.data += text.encode("ascii")
        self.starts.append(len(self.data))
        return len(self.starts) - 2

    def program(self, fields: Iterable[tuple[str, int, int]], opening: str) -> list[list[int]]:
        """Compile the fields of an object. The first literal holds what opens it."""
        rows = []
        for name, kind, column in fields:
            rows.append([self.add(f'{opening}"{wire_name(name)}":'), kind, column])
            opening = ","
        return rows


def _kind(name: str) -> int:
    special = {"recording_log": LOG, "members": MEMBERS, "active": SET, "accepted": SET}
    if name in STATE_ENUMS:
        return ENUM + list(STATE_ENUMS).index(name)
    return special.get(name, FLAG if name in FLAG_COLUMNS else INT)


def compile_grammar() -> Grammar:
    """Compile the grammar."""
    literals = _Literals()
    words = [literals.add(word) for word in WORDS]
    state = literals.program(
        ((n, _kind(n), STATE_INDEX.get(n, 0)) for n in wire.Member.__struct_fields__), "{"
    )
    member = literals.program(((n, _kind(n), MEMBER_INDEX[n]) for n in MEMBER_COLUMNS), "{")
    entry = literals.program(((n, _kind(n), LOG_INDEX[n]) for n in LOG_COLUMNS), "{")
    messages: list[list[int]] = []
    message_starts = [0]
    for message in wire.MESSAGE_TYPES:
        kinds = {
            n: FLAG if message.__annotations__[n] == "bool" else INT
            for n in message.__annotations__
        }
        messages += literals.program(((n, kinds[n], MESSAGE_INDEX[n]) for n in kinds), ",")
        message_starts.append(len(messages))
    inputs = [
        [literals.add(f'"{wire_name(name)}":'), _kind(name), column]
        for column, name in enumerate(INPUT_COLUMNS)
    ]
    enums = []
    tables = [tuple(value.value for value in values) for values in STATE_ENUMS.values()]
    for names in (*tables, ACTION_NAMES, MESSAGE_TYPE_NAMES):
        values = [literals.add(f'"{name}"') for name in names]
        enums.append([values[0], values[-1]])
    limits = [
        MAX_LINE_BYTES,
        MAX_MEMBERS,
        MAX_ID_DIGITS,
        ID_BITS,
        MAX_SENDS,
        MAX_RECORDING_LOG,
        MAX_LOG_CHECKSUMS,
        len(tables),
        len(tables) + 1,
    ]
    parts = (literals.starts, words, state, member, entry, messages, message_starts, inputs)
    return Grammar(
        np.frombuffer(bytes(literals.data), dtype=np.uint8),
        *(np.array(part, dtype=np.int64) for part in (*parts, enums, limits)),
    )


GRAMMAR: Final = compile_grammar()
