"""The grammar of a canonical line, compiled from the Structs into the table of the machine.

The order of fields, their names, kinds and columns, the enums: all of it follows from
`canvass.traces.wire` and `canvass.traces.layout`, so that a new field in the core needs no change
here. The machine is in `canvass.traces.canonical`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from canvass.cluster.names import wire_name
from canvass.traces import wire
from canvass.traces.canonical import (
    ENUM,
    FLAG,
    INT,
    LIMITS,
    LOG,
    MEMBERS,
    SECTIONS,
    SET,
    WORD_BYTES,
    WORDS,
)
from canvass.traces.columns import Ints
from canvass.traces.layout import (
    ACTION_NAMES,
    FLAG_COLUMNS,
    ID_BITS,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
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


class _Literals:
    """Literals in the making, each as its first word, number of words and number of bytes."""

    def __init__(self) -> None:
        self.words: list[tuple[int, int]] = []

    def add(self, text: str) -> list[int]:
        assert "\n" not in text[:-1]
        data, first = text.encode("ascii"), len(self.words)
        for start in range(0, len(data), WORD_BYTES):
            part = data[start : start + WORD_BYTES]
            mask = (1 << 8 * len(part)) - 1
            self.words.append((int.from_bytes(part, "little"), mask))
        return [first, len(self.words) - first, len(data)]

    def program(self, fields: Iterable[tuple[str, int, int]], opening: str) -> list[list[int]]:
        """Compile the fields of an object. The first literal holds what opens it."""
        rows = []
        for name, kind, column in fields:
            rows.append([*self.add(f'{opening}"{wire_name(name)}":'), kind, column])
            opening = ","
        return rows


def _kind(name: str) -> int:
    special = {"recording_log": LOG, "members": MEMBERS, "active": SET, "accepted": SET}
    if name in STATE_ENUMS:
        return ENUM + list(STATE_ENUMS).index(name)
    return special.get(name, FLAG if name in FLAG_COLUMNS else INT)


class _Table:
    """The table in the making: first the places and sizes of its sections."""

    def __init__(self) -> None:
        self.cells = [0] * (2 * len(SECTIONS))

    def put(self, rows: Iterable[Sequence[int]]) -> list[int]:
        """Append rows; give their place and number."""
        place, given = len(self.cells), list(rows)
        for row in given:
            self.cells += row
        return [place, len(given)]

    def section(self, name: str, rows: Iterable[Sequence[int]]) -> None:
        place = 2 * SECTIONS.index(name)
        self.cells[place : place + 2] = self.put(rows)


def compile_grammar() -> tuple[Ints, NDArray[np.uint64]]:
    """Compile the grammar into the machine's table and its words."""
    literals, table = _Literals(), _Table()
    state = ((n, _kind(n), STATE_INDEX.get(n, 0)) for n in wire.Member.__struct_fields__)
    table.section("words", map(literals.add, WORDS))
    table.section("state", literals.program(state, "{"))
    for section, columns in (("member", MEMBER_COLUMNS), ("entry", LOG_COLUMNS)):
        fields = ((name, _kind(name), column) for column, name in enumerate(columns))
        table.section(section, literals.program(fields, "{"))
    programs = []
    for message in wire.MESSAGE_TYPES:
        flags = [name for name, kept in message.__annotations__.items() if kept == "bool"]
        fields = (
            (name, FLAG if name in flags else INT, MESSAGE_INDEX[name])
            for name in message.__struct_fields__
        )
        programs.append(table.put(literals.program(fields, ",")))
    table.section("messages", programs)
    table.section(
        "inputs",
        (
            [*literals.add(f'"{wire_name(name)}":'), _kind(name), column]
            for column, name in enumerate(INPUT_COLUMNS)
        ),
    )
    values = [tuple(value.value for value in values) for values in STATE_ENUMS.values()]
    table.section(
        "enums",
        [
            table.put([literals.add(f'"{name}"') for name in names])
            for names in (*values, ACTION_NAMES, MESSAGE_TYPE_NAMES)
        ],
    )
    limits = {
        "line bytes": MAX_LINE_BYTES,
        "members": MAX_MEMBERS,
        "id digits": MAX_ID_DIGITS,
        "id bits": ID_BITS,
        "sends": MAX_SENDS,
        "log entries": MAX_RECORDING_LOG,
        "checksums": MAX_LOG_CHECKSUMS,
        "enum of actions": len(values),
        "enum of message types": len(values) + 1,
    }
    table.section("limits", ([limits[name]] for name in LIMITS))
    return np.array(table.cells, dtype=np.int64), np.array(literals.words, dtype=np.uint64)


TABLE, TABLE_WORDS = compile_grammar()
"""What `canvass.traces.canonical.parse_lines` takes as its table and words."""
