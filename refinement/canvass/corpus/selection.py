"""Selection: units of a corpus by a condition in SQL, rows by the options of a data source.

SQLite evaluates the condition on a table of the units. No file is opened.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from canvass.corpus.plan import Partition, Unit, partition_of
from canvass.corpus.storage import Place, entries
from canvass.traces.counts import counted

RUN: Final = "run"
MEMBER: Final = "member"
REVISION: Final = "revision"
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


class BadOption(Exception):
    """An option of a data source is missing or has a wrong value."""


@dataclass(frozen=True)
class Selection:
    """The wanted values of columns.

    Parameters
    ----------
    wanted
        The wanted values by the column's name. A column without an entry may have any value.
    """

    wanted: Mapping[str, frozenset[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Selection:
        """Parse the options ``run``, ``member`` and ``revision``: values with commas between them.

        Raises
        ------
        BadOption
            If the id of a member is no number.
        """
        wanted: dict[str, frozenset[Any]] = {}
        for name in (RUN, MEMBER, REVISION):
            if name in options:
                values = [value.strip() for value in options[name].split(",")]
                if name == MEMBER and not all(value.isdecimal() for value in values):
                    raise BadOption(f"{name}={options[name]!r} is no list of members' ids")
                wanted[name] = frozenset(map(int, values) if name == MEMBER else values)
        return cls(wanted)

    def has_run(self, run_id: str, revision: str) -> bool:
        """Tell whether a run is wanted."""
        return self._has(RUN, run_id) and self._has(REVISION, revision)

    def has_member(self, member_id: int) -> bool:
        """Tell whether a member is wanted."""
        return self._has(MEMBER, member_id)

    def rows(self, table: Any) -> Any:
        """Return the wanted rows of a table."""
        for name in (RUN, MEMBER, REVISION):
            if name in self.wanted and name in table.column_names:
                column = table.column(name)
                values = pa.array(list(self.wanted[name]), column.type)
                table = table.filter(pc.is_in(column, value_set=values))
        return table

    def _has(self, name: str, value: object) -> bool:
        return name not in self.wanted or value in self.wanted[name]


def partition_values(partition: Partition) -> dict[str, str | None]:
    """Return the values of partitions by name; None for Hive's null."""
    return {name: None if value == _NULL else value for name, value in partition}


def partition_names(place: Place) -> list[str]:
    """Return the names of the partitions below a folder, from the first folder of each level."""
    names: list[str] = []
    while place.is_dir():
        found = [each.name for each in entries(place) if partition_of(each.name) and each.folder]
        if not found:
            break
        key = partition_of(found[0])
        assert key is not None
        names.append(key[0])
        place = place / found[0]
    return names


# --- a condition on units -------------------------------------------------------------------------

SOURCE: Final = "source"
"""The column with the path of a unit. The other columns are partitions."""
_ALLOWED: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})


class BadCondition(Exception):
    """A condition cannot be evaluated, or no unit meets it; the message is one line."""


def select_units(units: Sequence[Unit], condition: str) -> list[Unit]:
    """Return the units that meet a condition.

    Parameters
    ----------
    units
        All units. A unit that is not in a partition has null in its column.
    condition
        A condition in SQL on ``source`` and the partitions, all of them text, such as
        ``date >= '2026-11-20' AND region = 'eu'``.

    Raises
    ------
    BadCondition
        If SQLite cannot evaluate the condition on these columns, or no unit meets it.
    """
    names = sorted({name for unit in units for name, _ in unit.partition})
    columns = [SOURCE, *(name for name in names if name != SOURCE)]
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE units ({quoted})")
        places = ", ".join("?" * len(columns))
        rows = [_row(unit, columns) for unit in units]
        connection.executemany(f"INSERT INTO units VALUES ({places})", rows)
        connection.set_authorizer(_authorise)
        query = f"SELECT rowid FROM units WHERE ({condition}\n) ORDER BY rowid"
        chosen = [units[row[0] - 1] for row in connection.execute(query)]
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        reason = f"{error}; the columns are {', '.join(columns)}"
        raise BadCondition(f"--where {condition!r}: {reason}") from None
    finally:
        connection.close()
    if not chosen:
        raise BadCondition(f"--where {condition!r}: none of {counted(len(units), 'unit')} meets it")
    return chosen


def _row(unit: Unit, columns: Sequence[str]) -> list[str | None]:
    values = partition_values(unit.partition) | {SOURCE: unit.path}
    return [values.get(name) for name in columns]


def _authorise(action: int, first: str | None, second: str | None, *_: object) -> int:  # noqa: ARG001 - SQLite's signature
    """Allow reading the table and calling functions, except the function that loads code."""
    if action in _ALLOWED and second != "load_extension":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
