"""Units are selected by the partitions that they are in."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.corpus.plan import Unit, UnitKind, list_units
from canvass.corpus.selection import BadCondition, select_units

UNITS = [
    Unit(UnitKind.FILE, "/lake/a", 1, partition=(("date", "2026-11-20"), ("region", "eu"))),
    Unit(UnitKind.FILE, "/lake/b", 1, partition=(("date", "2026-11-20"), ("region", "us"))),
    Unit(UnitKind.FILE, "/lake/c", 1, partition=(("date", "2026-11-21"), ("region", "eu"))),
    Unit(UnitKind.FILE, "/lake/d", 1, partition=(("date", "__HIVE_DEFAULT_PARTITION__"),)),
]


def make_lake(root: Path) -> None:
    for place in ("date=2026-11-20/a", "date=2026-11-20/b", "date=2026-11-21/region=e%20u/c", "d"):
        (root / place).mkdir(parents=True)
        (root / place / "run.json").write_bytes(b"{}")
    (root / "date=2026-11-22").mkdir()


def test_partitions_are_read_from_the_names_of_folders(tmp_path: Path) -> None:
    make_lake(tmp_path)

    found = {Path(unit.path).name: unit.partition for unit in list_units([tmp_path])}

    assert found == {
        "a": (("date", "2026-11-20"),),
        "b": (("date", "2026-11-20"),),
        "c": (("date", "2026-11-21"), ("region", "e u")),
        "d": (),
    }


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("date = '2026-11-20'", "ab"),
        ("date > '2026-11-20' OR region = 'us'", "bc"),
        ("date IS NULL", "d"),
        ("source LIKE '/lake/a%' -- a comment", "a"),
        ("substr(date, 1, 7) = '2026-11'", "abc"),
    ],
)
def test_a_condition_selects_units(condition: str, names: str) -> None:
    assert "".join(Path(unit.path).name for unit in select_units(UNITS, condition)) == names


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("day = '2026-11-20'", "no such column: day; the columns are source, date, region"),
        ("date = ", "syntax error"),
        ("date = '2027-01-01'", "none of 4 units meets it"),
        ("1); DROP TABLE units; --", "one statement|syntax error"),
        ("load_extension('x')", "not authorized|no such function"),
        ("date IN (SELECT name FROM sqlite_master)", "none of 4 units|prohibited|not authorized"),
        ("\x00", "null|NUL|token|syntax|meets"),
    ],
)
def test_what_is_no_condition_is_an_error_of_one_line(condition: str, reason: str) -> None:
    with pytest.raises(BadCondition, match=reason) as caught:
        select_units(UNITS, condition)

    assert "\n" not in str(caught.value)
