"""Names that are not UTF-8, and folders that may not be opened among those of runs."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run
from support.aeron_runs import SAMPLES

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run."""
    root = tmp_path_factory.mktemp("given")
    record_run(root / "run", Rules.of("1.50"), 0, 60, faults=0.0, run_id="run")
    return root


def test_paths_that_are_not_utf_8_are_escaped(command: Command, tmp_path: Path) -> None:
    """The file system gives the bytes as lone surrogates, which JSON in UTF-8 cannot hold."""
    logs = tmp_path / os.fsdecode(b"caf\xe9")
    logs.mkdir()
    log = shutil.copy(SAMPLES[0] / "member-0.log.gz", logs / os.fsdecode(b"m\xe9.log.gz"))
    code, out, _ = command("import", "aeron", log, "--out", logs / "run", "--format", "json")

    assert code == 3  # The logs of the other members are missing.
    assert json.loads(out)["members"][0]["files"] == ["m\\udce9.log.gz"]
    code, out, _ = command("verify", logs / "run", "--format", "json")

    assert code == 3
    assert json.loads(out)["runs"][0]["path"].endswith("/caf\\udce9/run")


def test_a_folder_that_may_not_be_opened_hides_no_run(
    place: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    for name in ("open", "shut"):
        shutil.copytree(place / "run", runs / name)
    (runs / "open" / "shut").mkdir()
    _shut({runs / "shut", runs / "open" / "shut"}, monkeypatch)

    for words in (("verify",), ("batch", "verify", "--out", tmp_path / "report")):
        code, out, _ = command(*words, runs)

        assert code == 2
        assert f"{runs / 'shut'}: UNREADABLE: Permission denied" in out
        assert "60 events" in out


def _shut(folders: set[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse what folders without permissions refuse, also to root."""

    def refusing(real: Callable[..., object], *, lists: bool) -> Callable[..., object]:
        def call(path: Any, *given: Any, **named: Any) -> object:
            if not isinstance(path, str | Path):
                return real(path, *given, **named)
            closed = folders & {*Path(path).parents, *([Path(path)] if lists else [])}
            if closed:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return real(path, *given, **named)

        return call

    for name in ("stat", "lstat", "listdir", "scandir"):
        lists = name.endswith("dir")
        monkeypatch.setattr(os, name, refusing(getattr(os, name), lists=lists))
