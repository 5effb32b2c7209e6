"""``--where``: the units whose partitions meet a condition, in the language of SQL.

The condition is evaluated by SQLite on a table of the units. No file is opened.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from canvass.corpus.plan import Unit
from canvass.corpus.selection import partition_values

SOURCE: Final = "source"
"""The column of a unit's path; the others are the names of the partitions."""
_ALLOWED: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})


class BadCondition(Exception):
    """A condition cannot be evaluated, or no unit meets it; the message is one line."""


def select_units(units: Sequence[Unit], condition: str) -> list[Unit]:
    """Give the units that meet a condition.

    Parameters
    ----------
    units
        All units. A unit that is not in a partition has null in its column.
    condition
        What follows WHERE in SQL, on ``source`` and the names of the partitions, all of them text:
        ``date >= '2026-11-20' AND region = 'eu'``.

    Raises
    ------
    BadCondition
        If it is no condition on these columns, or no unit meets it.
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
        raise BadCondition(f"--where {condition!r}: none of {len(units):,} units meets it")
    return chosen


def _row(unit: Unit, columns: Sequence[str]) -> list[str | None]:
    values = partition_values(unit.partition) | {SOURCE: unit.path}
    return [values.get(name) for name in columns]


def _authorise(action: int, first: str | None, second: str | None, *_: object) -> int:  # noqa: ARG001 - SQLite's signature
    """Allow to read the table and to call functions, but for the one that loads code."""
    if action in _ALLOWED and second != "load_extension":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
