"""``canvass check --from``: which moment is meant, how near a loss is, and errors of one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.distance.of_run import RunMoments
from support.moments import captured_loss, first_loss

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return captured_loss(tmp_path_factory.mktemp("from"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "nowhere"], "nowhere does not exist"),
        (["--from", "RUN:999999"], "there is no event 999999"),
        (["--from", "RUN:7/1"], "member 7 has no step 1"),
        (["--from", "RUN:soon"], "'soon' is no length of time"),
        (["--from", "RUN", "--property", "Nothing"], "--property Nothing is none of"),
        (["--from", "RUN:3", "--every", "1s"], "leave out the event"),
        (["MCHazard1", "--from", "RUN"], "--from has a model of its own"),
        (["--every", "1s"], "--every is about --from"),
    ],
)
def test_a_moment_that_there_is_not_is_one_line(
    command: Command, run: Path, words: list[str], said: str
) -> None:
    code, out, err = command("check", *[one.replace("RUN", str(run)) for one in words])

    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_the_moment_before_a_loss_is_a_few_steps_away_from_it(command: Command, run: Path) -> None:
    place = first_loss(run)
    code, out, _ = command("check", "--from", f"{run}:{place - 1}", "--steps", "3", "--diagram")

    assert code == 1
    assert f"event {place - 1}: " in out
    assert "to a violation of CommittedIsDurable" in out
    assert "56,832, 6 = 73,408" in out


def test_after_a_loss_nothing_is_searched(command: Command, run: Path) -> None:
    moments = RunMoments(run)
    row = moments.lanes.rows[first_loss(run)]
    columns = moments.loaded.columns
    event = f"{int(columns.member[row])}/{int(columns.step[row])}"
    code, out, _ = command("check", "--from", f"{run}:{event}", "--format", "json")

    assert code == 1
    assert [one["steps"] for one in json.loads(out)["moments"]] == [0]
