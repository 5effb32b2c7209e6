"""``canvass trace show`` from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run

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
