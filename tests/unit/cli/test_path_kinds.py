"""A path that a command cannot take is refused in one line, with the command that is meant."""

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
LOGS = SAMPLES[0]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each kind of thing that a person may name."""
    root = tmp_path_factory.mktemp("given")
    record_run(root / "run", Rules.of("1.50"), 0, 60, faults=0.0, run_id="run")
    shutil.copytree(LOGS, root / "logs")
    for name in ("monday", "tuesday"):
        shutil.copytree(LOGS, root / "folders" / name)
    (root / "report").mkdir()
    (root / "report" / "summary.json").write_text("{}")
    for name in ("coverage", "divergences", "verdicts"):
        (root / "report" / name).mkdir()
    (root / "graph").mkdir()
    (root / "graph" / "manifest.json").write_text("{}")
    (root / "notes.txt").write_text("notes")
    (root / "streams").mkdir()
    (root / "streams" / "member-0.ndjson").write_text("")
    (root / "part.parquet").write_bytes(b"no")
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("nowhere")
    return root


NO_RUN = {
    "report": "a report of `canvass batch verify`, not a run: `canvass browse report` shows it",
    "graph": "a state graph, not a run: `canvass verify RUN --graph graph` uses it",
    "run/run.json": "a file of a run: name its folder, `{command} run`",
    "run/member-1.ndjson": "a file of a run: name its folder, `{command} run`",
    "streams": "NOT_FOUND: no run.json beside the streams",
    "notes.txt": "a file, not a run: name a run folder (it has a run.json)",
    "pipe": "neither a file nor a folder, but a named pipe",
    "link": "a link to nowhere, which cannot be opened",
    "none": "there is no such file or folder",
}

LOGS_AS_RUNS = {
    "logs": "event logs of Aeron, not a run: `canvass import aeron logs --out my-run` makes one",
    "folders": "`canvass batch verify folders --out my-report` imports and checks all of them",
}


@pytest.mark.parametrize("name", NO_RUN)
@pytest.mark.parametrize("words", [("trace", "show"), ("verify",)], ids=" ".join)
def test_what_is_no_run_is_refused_with_the_command_that_is_meant(
    place: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    words: tuple[str, ...],
) -> None:
    monkeypatch.chdir(place)

    code, out, err = command(*words, name)

    assert (code, out) == (2, "")
    assert err.startswith(f"canvass: {name}: ")
    assert NO_RUN[name].format(command=f"canvass {' '.join(words)}") in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["report", "graph", "run/run.json", "notes.txt", "pipe", "link"])
def test_batch_refuses_the_same_before_spark_starts(
    place: Path, command: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(place)

    code, out, err = command("batch", "verify", name, "--out", "out")

    assert (code, out) == (2, "")
    assert NO_RUN[name].format(command="canvass batch verify") in err
    assert err.count("\n") == 1
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("folders", "`canvass import aeron folders/monday --out my-run` imports one"),
        ("run", "a recorded run: `canvass verify run` checks it"),
        ("run/member-1.ndjson", "a file of a run: name its folder, `canvass verify run`"),
        ("report", "`canvass browse report` shows it"),
        ("graph", "`canvass graph stats graph` describes it"),
        ("part.parquet", "a Parquet file of runs: `canvass verify part.parquet` checks it"),
        ("pipe", "a named pipe"),
        ("link", "a link to nowhere"),
        ("none", "there is no such file or folder"),
    ],
)
def test_what_is_no_log_is_refused_with_the_command_that_is_meant(
    place: Path, command: Command, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    monkeypatch.chdir(place)

    code, out, err = command("import", "aeron", name, "--out", "out")

    assert (code, out) == (2, "")
    assert err.startswith(f"canvass: {name}: ")
    assert reason in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [("explain",), ("explain", "--follow")])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("folders", "name one of them, such as `{command} folders/monday`"),
        ("run/member-1.ndjson", "a file of a run: name its folder, `canvass"),
        ("report", "`canvass browse report` shows it"),
        ("graph", "`canvass graph stats graph` describes it"),
        ("none", "there is no such file or folder"),
    ],
)
def test_what_cannot_be_explained_is_refused_with_the_command_that_is_meant(
    place: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    name: str,
    reason: str,
) -> None:
    monkeypatch.chdir(place)

    code, out, err = command(*words, name)

    assert (code, out) == (2, "")
    assert err.startswith(f"canvass: {name}: ")
    assert reason.format(command=f"canvass {words[0]}") in err
    assert err.count("\n") == 1


def test_one_run_of_several_is_to_be_explained(
    place: Path, command: Command, tmp_path: Path
) -> None:
    """As in the folder that `canvass run` leaves."""
    shutil.copytree(place / "run", tmp_path / "runs" / "run-1")

    code, _, err = command("explain", tmp_path / "runs")

    assert code == 2
    assert f"a folder of runs: name one of them, such as `canvass explain {tmp_path}" in err


@pytest.mark.parametrize("name", ["logs", "folders", "report", "graph", "none"])
def test_what_cannot_be_converted_is_refused_with_the_command_that_is_meant(
    place: Path, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.chdir(place)

    code, out, err = command("trace", "convert", name, tmp_path / "out")

    assert (code, out) == (2, "")
    assert (NO_RUN | LOGS_AS_RUNS)[name] in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("run", "`canvass verify run` checks it"),
        ("run/run.json", "`canvass verify run`"),
        ("report", "`canvass browse report` shows it"),
        ("logs/member-0.log.gz", "an event log of Aeron, not a disk: `canvass explain logs`"),
        ("notes.txt", "a file: name the folder of a member's disk"),
    ],
)
def test_what_is_no_disk_is_not_taken_for_an_empty_one(
    place: Path, command: Command, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    monkeypatch.chdir(place)

    code, out, err = command("disks", name)

    assert (code, out) == (2, "")
    assert err.startswith(f"canvass: {name}: ")
    assert reason in err


def test_the_command_that_is_meant_can_be_typed(
    place: Path, command: Command, tmp_path: Path
) -> None:
    logs = tmp_path / "my logs"
    shutil.copytree(LOGS, logs)

    _, _, err = command("trace", "convert", logs, tmp_path / "set")

    assert f"`canvass import aeron '{logs}' --out my-run`" in err


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


def test_a_batch_checks_the_runs_beside_a_name_that_is_not_utf_8(
    place: Path, command: Command, tmp_path: Path
) -> None:
    runs, tables = tmp_path / "runs", tmp_path / "tables"
    shutil.copytree(place / "run", runs / "run")
    (runs / "run" / os.fsdecode(b"notes\xff")).touch()
    (runs / os.fsdecode(b"x\xff")).mkdir()

    for words in (
        ("batch", "verify", runs, "--out", tmp_path / "report"),
        ("batch", "verify", runs, "--append", tables),
    ):
        code, out, _ = command(*words)

        assert code == 2
        assert "2 runs, 60 events: 1 CONFORMS, 1 MALFORMED" in out
        assert "x\\udcff: BAD_NAME: the name is not UTF-8" in out
    assert "nothing was verified" in command("batch", "verify", runs, "--append", tables)[1]


def test_a_folder_of_another_kind_among_runs_is_a_row_that_says_what_it_is(
    place: Path, command: Command, tmp_path: Path
) -> None:
    shutil.copytree(place / "logs", tmp_path / "a")
    shutil.copytree(place / "run", tmp_path / "run")
    (tmp_path / "b").mkdir()
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "events.parquet").touch()

    code, out, _ = command("verify", tmp_path)

    assert code == 2
    assert "a/run.json: NOT_FOUND: event logs of Aeron, not a run: `canvass import aeron`" in out
    assert "b/run.json: NOT_FOUND: there is no such file, so that the folder is no run" in out
    assert "c/run.json: NOT_FOUND: a Parquet data set, not a run: give it by itself" in out


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
