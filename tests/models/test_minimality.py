"""Which hardening, and which correction proposed upstream, can be left out.

Each row of the tables in docs/findings is what TLC finds: with all hardenings but one, or with all
corrections but one. The model is the one that shows the hazard; for a hazard that the other
hardenings keep away from it, a model that meets the same situation in another way.
`make minimality` (``pytest --rewrite``) writes the tables.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

import pytest

from canvass.models.model_run import ModelRun, Settings, run_model
from canvass.spec.files import spec_root
from canvass.spec.manifest import load_manifest
from canvass.steps.oracle import overrides
from canvass.tlc.results import Outcome
from support.findings import FINDINGS

pytestmark = pytest.mark.tlc

PAGE: Final = FINDINGS / "README.md"
HARDENINGS: Final = {
    "HZ1": "MCHazard1",
    "HZ2": "MCHazard2 MCHazard2Restart MCHazard2Live BarrierMutants",
    "HZ3": "MCHazard3",
    "HZ5": "BarrierMutants",
    "HZ6": "MCHazard6Again",
    "HZ7": "BarrierMutants",
    "HZ8": "MCHazard8",
    "HZ9": "MCHazard9Unscripted",
    "HZ10": "MCHazard10",
    "HZ11": "MCHazard11",
}
STORIES: Final = "1", "1Loss", "2", "2Restart", "2Live"
CORRECTED: Final = tuple(f"MCHazard{story}UpstreamFix" for story in STORIES)
"""Models that hold with all corrections."""

HEADS: Final = {
    "hardenings": ("without", "model", "all others in force", "all in force"),
    "corrections": ("without", "models of upstream-fix"),
}


@cache
def run(model: str, rules: str) -> ModelRun:
    """Let TLC search, breadth first, so that a loss is a shortest one."""
    (entry,) = [one for one in load_manifest().models if one.name == model]
    settings = Settings(workers=1, rules=rules)
    return run_model(spec_root(), entry, settings, lambda _: None)


def ending(found: ModelRun) -> str:
    """Say how a search ended. A script that is not possible stops at an assertion."""
    result = found.result
    if result.outcome is Outcome.ASSERTION:
        return "not possible"
    if result.outcome.is_violation:
        return f"`{result.violated}` is violated, {len(result.trace) - 1} steps"
    assert result.ok, result.message
    return f"safe, {result.distinct:,} states"


def hardening_row(hazard: str, model: str) -> tuple[str, ...]:
    """Give the row of a hardening that is left out, and of a model."""
    found = [ending(run(model, rules)) for rules in (f"all,-{hazard}", "all")]
    return f"`{hazard}`", f"`{model}`", *found


def correction_row(rule: str) -> tuple[str, ...]:
    """Give the row of a correction that is left out: the models that it breaks."""
    also = ("MCHazard3UpstreamFix",) if rule == "IsOwnAnnouncement" else ()
    runs = {model: run(model, f"all,-{rule}") for model in CORRECTED + also}
    lost = [f"`{one}`: {ending(by)}" for one, by in runs.items() if not by.result.ok]
    return f"`{rule}`", "; ".join(lost) or f"safe in all {len(runs)}"


def table_of(page: str, name: str) -> str:
    """Give the text of a table in the page, with its head."""
    head = f"| {' | '.join(HEADS[name])} |\n"
    found = re.search(rf"^{re.escape(head)}(?:\|.*\n)*", page, re.MULTILINE)
    assert found, head
    return found[0]


@pytest.mark.night
@pytest.mark.parametrize("name", HEADS)
def test_the_table_says_what_tlc_finds(name: str, rewrite: bool) -> None:
    if name == "hardenings":
        rows = [
            hardening_row(one, model) for one in HARDENINGS for model in HARDENINGS[one].split()
        ]
    else:
        rows = [correction_row(rule) for rule in overrides("upstream-fix", ())]
    lines = [f"| {' | '.join(row)} |\n" for row in (HEADS[name], *rows)]
    lines.insert(1, f"|{'---|' * len(HEADS[name])}\n")
    page = PAGE.read_text("utf-8")
    before, found = table_of(page, name), "".join(lines)
    if rewrite:
        PAGE.write_text(page.replace(before, found), "utf-8")
    else:
        assert before == found
