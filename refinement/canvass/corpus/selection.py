"""Which rows a query wants, as far as Spark hands it to a data source.

A `Selection` holds the values of a few columns. What it leaves out has none of these values; what
it lets through may have them, and Spark looks again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import EqualTo, In

from canvass.corpus.plan import Partition, Unit, partition_of

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

RUN: Final = "run"
MEMBER: Final = "member"
REVISION: Final = "revision"
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Selection:
    """The values that are wanted of each column that has a condition.

    Parameters
    ----------
    wanted
        By the column's name. A column without an entry may have any value.
    """

    wanted: Mapping[str, frozenset[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, filters: Iterable[Filter]) -> Selection:
        """Take from filters, all of which hold, what says that a column has one of some values."""
        wanted: dict[str, frozenset[Any]] = {}
        for each in filters:
            if isinstance(each, EqualTo):
                values = frozenset({each.value})
            elif isinstance(each, In):
                values = frozenset(each.value)
            else:
                continue
            if len(each.attribute) == 1:  # A column, not a field within one.
                name = each.attribute[0]
                wanted[name] = wanted.get(name, values) & values
        return cls(wanted)

    def has_unit(self, unit: Unit) -> bool:
        """Tell whether the partitions of a unit are wanted."""
        values = partition_values(unit.partition)
        return all(self._has(name, value) for name, value in values.items())

    def has_run(self, run_id: str, revision: str) -> bool:
        """Tell whether a run is wanted."""
        return self._has(RUN, run_id) and self._has(REVISION, revision)

    def has_member(self, member_id: int) -> bool:
        """Tell whether a member is wanted."""
        return self._has(MEMBER, member_id)

    def rows(self, table: Any) -> Any:
        """Leave out the rows that are not wanted."""
        for name in (RUN, MEMBER, REVISION):
            if name in self.wanted and name in table.column_names:
                column = table.column(name)
                values = pa.array([v for v in self.wanted[name] if v is not None], column.type)
                table = table.filter(pc.is_in(column, value_set=values))
        return table

    def _has(self, name: str, value: object) -> bool:
        return name not in self.wanted or value in self.wanted[name]


def partition_values(partition: Partition) -> dict[str, str | None]:
    """Give the values of partitions by their names."""
    return {name: None if value == _NULL else value for name, value in partition}


def partition_names(path: Path) -> list[str]:
    """Give the names of the partitions below a folder, looking into the first one of each level."""
    names: list[str] = []
    while path.is_dir():
        with os.scandir(path) as entries:
            found = sorted(e.name for e in entries if partition_of(e.name) and e.is_dir())
        if not found:
            break
        key = partition_of(found[0])
        assert key is not None
        names.append(key[0])
        path /= found[0]
    return names
