"""The partitions that units are in."""

from __future__ import annotations

from pathlib import Path

from canvass.corpus.data_source import partition_values
from canvass.corpus.plan import list_units


def make_lake(root: Path) -> None:
    for place in ("date=2026-11-20/a", "date=2026-11-20/b", "date=2026-11-21/region=e%20u/c", "d"):
        (root / place).mkdir(parents=True)
        (root / place / "run.json").write_bytes(b"{}")
    (root / "date=2026-11-22").mkdir()


def test_partitions_are_read_from_the_names_of_folders(tmp_path: Path) -> None:
    make_lake(tmp_path)

    found = {
        Path(unit.path).name: partition_values(tmp_path, unit) for unit in list_units([tmp_path])
    }

    assert found == {
        "a": {"date": "2026-11-20"},
        "b": {"date": "2026-11-20"},
        "c": {"date": "2026-11-21", "region": "e u"},
        "d": {},
    }
