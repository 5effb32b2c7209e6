"""``canvass trace show`` from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run
from canvass.traces.parquet import DatasetWriter
from canvass.traces.run import Corpus, write_dataset

Command = Callable[..., Any]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("show") / "run"
    record_run(folder, Rules.of("1.50"), 1, 200, faults=0.0, run_id="one")
    return folder


def test_a_whole_run_is_shown(
    command: Command, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    ended = command("trace", "show", run_folder)

    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0].split() == ["member", "0", "member", "1", "member", "2"]
    assert ended.out.count("● ") == 200
    assert "◀" in ended.out
    assert "electionState: CANVASS → NOMINATE" in ended.out
    assert max(map(len, lines)) <= 120


def test_around_an_event_shows_so_many_before_and_after_it(
    command: Command, run_folder: Path
) -> None:
    ended = command("trace", "show", run_folder, "--around", "1:20", "--context", "4")

    assert ended.out.count("● ") == 9
    assert "● 20 " in ended.out
    assert "events before, not shown" in ended.out
    assert "events after, not shown" in ended.out


def test_around_with_members_counts_only_theirs(command: Command, run_folder: Path) -> None:
    words = ("--around", "1:20", "--context", "4", "--member", "1", "--messages")

    ended = command("trace", "show", run_folder, *words)

    assert [line.split()[1] for line in ended.out.splitlines() if line.startswith("● ")] == [
        str(step) for step in range(16, 25)
    ]


@pytest.mark.parametrize("width", [60, 90, 200])
def test_the_width_is_kept(
    command: Command, run_folder: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ended = command("trace", "show", run_folder)

    assert max(map(len, ended.out.splitlines())) <= width


def test_a_run_of_a_data_set_is_named(command: Command, run_folder: Path, tmp_path: Path) -> None:
    record_run(tmp_path / "corpus" / "two", Rules.of("1.50"), 2, 50, run_id="two")
    record_run(tmp_path / "corpus" / "one", Rules.of("1.50"), 1, 50, run_id="one")
    with DatasetWriter(tmp_path / "set") as writer:
        write_dataset(Corpus(tmp_path / "corpus"), writer)

    both = command("trace", "show", tmp_path / "set")
    one = command("trace", "show", tmp_path / "set", "--run", "two")
    folder = command("trace", "show", tmp_path / "corpus" / "two")

    assert (both.code, both.out) == (2, "")
    assert "2 runs (one, two, ...); name one with --run" in both.err
    assert one.code == 0
    assert one.out == folder.out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--around", "1-2"), "an event is named MEMBER:STEP"),
        (("--around", "7:0"), "no step 0 of member 7"),
        (("--around", "0:9999"), "no step 9999 of member 0"),
        (("--member", "3"), "the run has 3 members"),
        (("--context", "3"), "--context requires --around"),
        (("--run", "other"), "there is no run other"),
    ],
)
def test_what_cannot_be_shown_is_reported_in_one_line(
    command: Command, run_folder: Path, words: tuple[str, ...], reason: str
) -> None:
    ended = command("trace", "show", run_folder, *words)

    assert (ended.code, ended.out) == (2, "")
    assert reason in ended.err
    assert ended.err.count("\n") == 1


def test_what_is_no_trace_is_reported_with_file_line_and_column(
    command: Command, run_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_bytes((run_folder / "run.json").read_bytes())
    (folder / "member-0.ndjson").write_text("{}\n")

    ended = command("trace", "show", folder)

    assert ended.code == 2
    assert f"{folder}/member-0.ndjson:1: BAD_VALUE" in ended.err
