"""Rows of a corpus, chosen by the options of a data source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from canvass.corpus.plan import Partition, partition_of
from canvass.corpus.storage import Place, entries

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
