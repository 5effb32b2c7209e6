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
