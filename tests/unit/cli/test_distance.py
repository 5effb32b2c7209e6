"""``canvass distance``: the chosen moment, the distance to a loss, and errors in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.distance import search
from canvass.distance.moments import RunMoments
from canvass.distance.search import Distance, Moment
from support.moments import captured_loss, first_loss

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return captured_loss(tmp_path_factory.mktemp("from"))


@pytest.fixture(scope="module")
def lost(run: Path) -> int:
    """The place of the first event after which no quorum has the whole committed log."""
    return first_loss(run)


def test_from_the_moment_before_a_loss_the_distance_is_a_few_steps(
    command: Command, run: Path, lost: int, tmp_path: Path
) -> None:
    place, file = lost, tmp_path / "loss.itf.json"
    words = ("--steps", "3", "--diagram", "--export", file)
    code, out, err = command("distance", f"{run}:{place - 1}", *words)

    assert code == 1
    assert f"canvass: wrote {file}\n" in err
    assert json.loads(file.read_bytes())["#meta"]["format"] == "ITF"
    assert f"event {place - 1}: " in out
    assert "to a violation of CommittedIsDurable" in out
    assert "56832, 6 = 73408" in out


def test_after_a_loss_nothing_is_searched(command: Command, run: Path, lost: int) -> None:
    moments = RunMoments(run)
    row = moments.lanes.rows[lost]
    columns = moments.loaded.columns
    member, step = int(columns.member[row]), int(columns.step[row])
    code, out, _ = command("distance", f"{run}:{member}:{step}", "--format", "json")

    assert code == 1
    assert [one["steps"] for one in json.loads(out)["moments"]] == [0]


def test_messages_are_searched_without_repeats_and_counted(
    command: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Moment] = []

    def searched(_root: Path, moment: Moment, *_: object) -> tuple[Distance, None]:
        found.append(moment)
        return Distance(None, {}, 1, True, 1, 0.0), None

    monkeypatch.setattr(search, "search", searched)
    (moment,) = RunMoments(run).moments([2412])
    code, out, _ = command("distance", f"{run}:2412", "--format", "json")
    (report,) = json.loads(out)["moments"]

    assert code == 0
    assert found == [moment.without_repeats()]
    assert report["underWay"] == len(found[0].under_way) == 1
    assert report["repeats"] == len(moment.under_way) - 1 == 32
