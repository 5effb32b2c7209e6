"""The command: the address that it prints, how it ends, and what it says when it cannot begin."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import urllib.request
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

from canvass.browser import app, opening, saved_page
from canvass.browser.access import listen
from canvass.browser.opening import Opener, OpenError
from canvass.browser.verdicts import Checker
from canvass.cli import browse, main
from canvass.cli.output import Stages
from support.browse import PAGE
from support.core_lookup import core_lookup
from support.interrupting import heed_interrupts
from support.page_material import write_counterexample

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#token=([A-Za-z0-9_-]{43})")
SCRIPT = """
import canvass.browser.app as files
files.page_files = lambda: {"/": b"page"}
from canvass.cli.main import main
main()
"""
"""The command with another page, as the real one is built elsewhere."""


@contextmanager
def started(*words: str, opens: bool = False) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SCRIPT, "browse", *words]
    command += [] if opens else ["--no-open"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def asked(process: subprocess.Popen[str], path: str) -> tuple[Any, str]:
    """Ask the server at the address that the command prints; give the answer, and the token."""
    assert process.stdout is not None
    match = ADDRESS.fullmatch(process.stdout.readline().rstrip("\n"))
    assert match is not None
    request = urllib.request.Request(
        f"http://127.0.0.1:{match[1]}/api{path}", headers={"X-Canvass-Token": match[2]}
    )
    with urllib.request.urlopen(request, timeout=200) as answer:
        return json.load(answer), match[2]


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=200)
    return process.returncode, out, err


def said(capsys: pytest.CaptureFixture[str], words: Sequence[str]) -> tuple[int, str]:
    code = main.run(["browse", "--no-open", *words])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return code, printed.err


def test_it_says_what_it_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A large run takes a while, and until then there is no address."""
    stages: list[str] = []
    monkeypatch.setattr(Stages, "stage", lambda _, what: stages.append(what))
    monkeypatch.setattr(app, "page_files", dict)
    monkeypatch.setattr(browse, "page_is_old", lambda _: False)
    said(capsys, [str(tmp_path)])

    assert stages == [f"opening {tmp_path}"]


def test_it_prints_an_address_serves_there_and_ends_with_an_interrupt(good_run: Path) -> None:
    """It does not wait for a search, and ends its TLC."""
    with started(str(good_run)) as process:
        found, _ = asked(process, "/what-if/run/good/60/nearest")

        assert found["pending"]
        assert interrupted(process) == (130, "", "canvass: interrupted\n")


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.night)]
)
def test_nothing_stays_behind_of_what_was_imported(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    sample = Path(__file__).resolve().parents[2] / "samples" / "aeron" / "b-leader-killed"
    with started(str(sample)) as process:
        assert asked(process, "/run/b-leader-killed")[0]["events"] > 4000
        assert list(tmp_path.glob("canvass-browse-*"))
        process.send_signal(number)
        process.communicate(timeout=200)

    assert process.returncode == 128 + number
    assert not list(tmp_path.glob("canvass-browse-*"))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "page_files", lambda: PAGE)


@pytest.mark.usefixtures("built")
def test_what_cannot_be_opened_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_text("no")
    (tmp_path / "dump.dot").write_text("strict digraph DiskGraph {}")
    (tmp_path / "list.json").write_text("[" * 100_000)
    (tmp_path / "deep.json").write_text('{"x":' * 100_000)
    (tmp_path / "empty").mkdir()
    (tmp_path / "line\nbreak").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    for name, reason in {
        "none": "there is no such file or folder",
        "text.txt": "there is no counterexample",
        "dump.dot": "`canvass graph build` makes a state graph of it",
        "list.json": "not a counterexample: Expected `object`, got `array`",
        "deep.json": "not JSON: maximum recursion depth exceeded",
        "empty": "neither runs nor a data set",
        "line\nbreak": "neither runs nor a data set",
        "link": "a link to nowhere, which cannot be opened",
        "pipe": "neither a file nor a folder, but a named pipe",
    }.items():
        code, line = said(capsys, [str(tmp_path / name)])
        assert code == 2
        assert line.startswith("canvass: ")
        assert reason in line


@pytest.mark.usefixtures("built")
def test_a_file_around_a_step_takes_a_run_that_has_it(
    good_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(saved_page, "MAX_EVENTS", 10)
    found = write_counterexample(tmp_path / "found.json")
    for path, words, reason in (
        (good_run, "--around 1:2", "--around requires --html"),
        (good_run, "--html x --around 1", "an event is named MEMBER:STEP, such as 1:42"),
        (good_run, "--html x --around 1:9999", "the run has no step 9999 of member 1"),
        (found, "--html x --around 1:2", "is a counterexample, not a run"),
        (good_run, "--html x", "events are more than one file takes: 10;"),
        (good_run, "--html x", "--around MEMBER:STEP` writes those around a step"),
    ):
        code, line = said(capsys, [str(path), *words.split()])
        assert (code, reason in line) == (2, True), line


@pytest.mark.usefixtures("built")
def test_a_port_that_is_taken_is_reported_in_one_line(
    good_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with listen(0) as taken:
        port = taken.getsockname()[1]
        code, line = said(capsys, ["--port", str(port), str(good_run)])

    assert code == 2
    assert line.startswith(f"canvass: port {port}: ")


def test_a_page_that_is_not_built_is_reported_with_how_to_build_it(
    good_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "files", lambda _: Path("/nowhere"))

    assert said(capsys, [str(good_run)]) == (
        2,
        "canvass: the page is not built: `make page` builds it (a wheel has it already)\n",
    )


def test_an_extra_that_is_not_installed_is_named(
    good_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "canvass.browser.access")
    code, line = said(capsys, [str(good_run)])

    assert code == 2
    assert line == "canvass: uvicorn is not installed: make setup-test\n"


@pytest.mark.usefixtures("built")
def test_the_browser_is_opened_unless_it_is_not_wanted(
    good_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given a file that only its owner can read, which is gone in the end."""
    shown: list[str] = []
    read: list[str] = []

    def opened(address: str) -> None:
        path = Path(url2pathname(urlsplit(address).path))
        shown.append(address)
        read.append(path.read_text())
        assert [stat.S_IMODE(one.stat().st_mode) for one in (path.parent, path)] == [0o700, 0o600]

    monkeypatch.setattr(webbrowser, "open", opened)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)

    assert main.run(["browse", str(good_run)]) == 130
    address = capsys.readouterr().out.strip()
    found = ADDRESS.fullmatch(address)
    assert found is not None
    assert shown[0].startswith("file:///")
    assert found[2] not in shown[0]
    assert f'content="0;url={address}"' in read[0]
    assert not Path(url2pathname(urlsplit(shown[0]).path)).parent.exists()
    assert main.run(["browse", "--no-open", str(good_run)]) == 130
    assert len(shown) == 1


def test_no_command_line_has_the_key(
    good_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fake browser writes down the arguments with which it is started."""
    expected = tmp_path / "expected"
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {expected}.part; mv {expected}.part {expected}\n'
    )
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with started(str(good_run), opens=True) as process:
        # The browser was started, and is done, before the server answers.
        session, token = asked(process, "/session")
        assert [one["title"] for one in session["sources"]] == ["good"]
        (given,) = expected.read_text().split()
        assert given.startswith("file:///")
        assert token not in given
        assert token in Path(url2pathname(urlsplit(given).path)).read_text()
        assert interrupted(process)[0] == 130
    assert not Path(url2pathname(urlsplit(given).path)).exists()


def test_without_a_word_the_sample_is_opened() -> None:
    opener = Opener(Checker(core_lookup()))
    try:
        (source,) = opener.open_all([])
        run = source.content.get()

        assert (source.kind, source.detail) == ("run", "a shipped sample")
        assert run.opened.run.run_id == "b-leader-killed"
        assert run.opened.total > 4000
    finally:
        opener.close()


def test_an_installation_without_the_sample_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_PACKAGED_SAMPLE", Path("/nowhere"))
    monkeypatch.setattr(opening, "_CHECKOUT_SAMPLE", Path("/nowhere"))
    with pytest.raises(OpenError, match="carries no sample"):
        list(Opener(Checker(core_lookup())).open_all([]))


def test_a_corpus_gives_its_runs_and_a_folder_of_logs_too(good_run: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree(good_run, tmp_path / name)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "member-0.log").write_text("nothing of Aeron\n")
    sources = list(Opener(Checker(core_lookup())).open(tmp_path))

    assert [(one.kind, one.title, "imported from" in one.detail) for one in sources] == [
        ("corpus", tmp_path.name, False),
        ("run", "a", False),
        ("run", "b", False),
        ("run", "logs", True),
    ]


def test_what_is_no_run_says_so_where_it_is_opened_and_hides_nothing(
    good_run: Path, tmp_path: Path
) -> None:
    corpus, files = tmp_path / "corpus", tmp_path / "files"
    shutil.copytree(good_run, corpus / "good")
    shutil.copytree(good_run, corpus / "not so good")
    (corpus / "link").symlink_to(good_run)
    files.mkdir()
    (files / "bad.parquet").write_bytes(b"no")
    (tmp_path / "notes.txt").write_text("no")
    paths = [corpus, files, tmp_path / "notes.txt", tmp_path / "absent"]

    listed, *sources = Opener(Checker(core_lookup())).open_all(paths)

    assert listed.title == "corpus"
    assert [one.title for one in sources] == [
        "good",
        "link",
        "not so good",
        "bad.parquet",
        "notes.txt",
        "absent",
    ]
    assert sources[0].content.get().opened.total > 0
    for source, reason in zip(
        sources[1:],
        ("a symbolic link", "no name for a run folder", "BAD_SCHEMA", "notes.txt", "no such file"),
        strict=True,
    ):
        with pytest.raises(Exception, match=reason) as raised:
            source.content.get()
        assert type(raised.value).__module__.startswith("canvass.")


def test_the_page_is_a_table_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page").mkdir()
    for name in ("index.html", "app.js", "secret.py", "app.css"):
        (tmp_path / "page" / name).write_text(name)
    monkeypatch.setattr(app, "files", lambda _: tmp_path)

    assert app.page_files() == {
        "/": b"index.html",
        "/assets/app.js": b"app.js",
        "/assets/app.css": b"app.css",
    }
