"""Copies of logs in which one line is false are contradicted there."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.traces.alignment.importer import CONTRADICTED, EXPLAINED, import_logs
from support.aeron_corruptions import KINDS, FalseCopy, spread
from support.aeron_runs import SAMPLES, captures, lines_by_member, write_logs
from support.aeron_simulated import options_of, simulate
from support.aeron_text import texts_of

SEVERAL = 3
MANY = 8


def not_named(copies: list[FalseCopy], folder: Path) -> list[str]:
    """Copies that are not contradicted by their false line."""
    found: list[str] = []
    for number, copy in enumerate(copies):
        logs = write_logs(folder / f"logs-{number}", copy.logs)
        summary = import_logs([logs], folder / f"run-{number}")
        place = summary.contradiction
        if summary.outcome != CONTRADICTED or place is None:
            found.append(f"{copy}: {summary.outcome}, {summary.missing[:1]}")
        # A false line may be possible by itself, and contradict only the next one.
        elif place.member_id != copy.member_id or place.line - copy.line not in (0, 1):
            found.append(f"{copy}: {place.file}:{place.line}: {place.reason}")
    return found


DECIDED = ("second vote", "refusal", "commit beyond", "deep cut", "false leader", "false role")
"""The kinds that are named wherever they are. For the others missing lines are an explanation that
costs less, or the alignment does not compare the line (docs/theory/alignment.md).
"""


@pytest.mark.parametrize("kind", DECIDED)
def test_a_false_copy_of_a_sample(kind: str, tmp_path: Path) -> None:
    copies = spread(KINDS[kind](lines_by_member(SAMPLES[0])), SEVERAL)

    assert not_named(copies, tmp_path) == []


@pytest.mark.parametrize("copies", [1, pytest.param(MANY, marks=pytest.mark.night)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_false_copy_of_a_sample_is_not_explained(kind: str, copies: int, tmp_path: Path) -> None:
    for number, copy in enumerate(spread(KINDS[kind](lines_by_member(SAMPLES[1])), copies)):
        logs = write_logs(tmp_path / f"logs-{number}", copy.logs)
        assert import_logs([logs], tmp_path / f"run-{number}").outcome != EXPLAINED, str(copy)


AFTER_A_KILL = {
    "c-follower-down-two-terms": {"second vote at member-1.log:148"},
    "d-snapshot-restart": {
        "second vote at member-1.log:513",
        "refusal at member-1.log:568",
        "refusal at member-1.log:569",
    },
    "i-uncommitted-tail-truncated": {"second vote at member-1.log:1395"},
}
"""Copies whose false line arrives after the end of the process that would have sent it. They are
INCOMPLETE: its last lines may be missing.
"""


@pytest.mark.night
@pytest.mark.parametrize("kind", DECIDED[:2])
@pytest.mark.parametrize("path", captures(), ids=lambda path: path.name)
def test_a_false_copy_of_each_capture(path: Path, kind: str, tmp_path: Path) -> None:
    unsure = {one for one in AFTER_A_KILL.get(path.name, ()) if one.startswith(kind)}
    found = not_named(spread(KINDS[kind](lines_by_member(path)), MANY), tmp_path)

    assert {one.partition(": INCOMPLETE")[0] for one in found} == unsure


def test_there_is_something_of_each_kind() -> None:
    """A kind of falsehood that finds no place in any capture would be tested by nothing."""
    simulated = texts_of(simulate(options_of("kills", 1)).lines)
    logs = [*(lines_by_member(path) for path in captures()), simulated]

    assert set(KINDS) == {
        kind for kind in KINDS if any(next(KINDS[kind](one), None) for one in logs)
    }
