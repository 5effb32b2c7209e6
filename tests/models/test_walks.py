"""The sightings of random walks from the first start are the ones in ``docs/theory/models.md``."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from canvass.spec import load_manifest, spec_root
from canvass.tlc import Outcome, TlcOptions, run
from support.findings import config_of

REVISIONS: Final = {
    "1.49": "MCWalk149",
    "1.50": "MCWalk",
    "upstream-fix": "MCWalkUpstreamFix",
    "hardened": "MCWalkHardened",
    "1.50, five members": "MCWalkFive",
    "hardened, five members": "MCWalkFiveHardened",
}
MODELS: Final = {model.name: model for model in load_manifest().models}
NEVER_HARDENED: Final = {"HZ1", "HZ2", "HZ3", "HZ5", "HZ6", "HZ7", "HZ8", "HZ9", "Lost", "Replaced"}


def table() -> dict[str, dict[str, int]]:
    """Read the table of the page: the number of walks by sighting and revision."""
    text = (Path(__file__).parents[2] / "docs" / "theory" / "models.md").read_text("utf-8")
    section = text.partition("### Found from the first start\n")[2].partition("\n### ")[0]
    head, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|") and not line.startswith("|---")
    )
    return {row[0].strip("`"): dict(zip(head[2:], map(int, row[2:]), strict=True)) for row in rows}


def test_the_table_has_every_sighting_and_every_revision() -> None:
    text = (spec_root() / "MCWalk.tla").read_text("utf-8")
    names = re.findall(r'"(\w+)"', text.partition("\nSightings(")[2].partition(":\n")[0])

    assert list(table()) == names
    assert all(list(row) == list(REVISIONS) for row in table().values())


@pytest.mark.parametrize("column", ["hardened", "hardened, five members"])
def test_hardened_no_hazard_is_seen_and_three_terms_are(column: str) -> None:
    hardened = {name: row[column] for name, row in table().items()}

    assert {name for name in NEVER_HARDENED if hardened[name]} == set()
    assert all(hardened[name] for name in ("ThirdTerm", "CommittedInThirdTerm"))


@pytest.mark.tlc
@pytest.mark.night
@pytest.mark.parametrize("revision", REVISIONS)
def test_walks_reach_the_sightings_of_the_table(revision: str) -> None:
    """The number and the seed decide a walk, on every machine."""
    entry = MODELS[REVISIONS[revision]]
    seen: Counter[str] = Counter()
    options = TlcOptions(workers=1, heap_mib=512)
    module = spec_root() / f"{entry.module}.tla"
    with run(module, config_of(entry), options) as tlc:
        for value in tlc.printed_values():
            assert isinstance(value, tuple)
            _, name, _, _ = value
            seen[name] += 1
        assert tlc.wait().outcome is Outcome.SUCCESS

    assert dict(seen) == {name: row[revision] for name, row in table().items() if row[revision]}
