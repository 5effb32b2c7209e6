"""``canvass check`` that is ended early, and sizes of heaps; `transcripts` have what it prints."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.cli.options import heap_mib
from canvass.cli.output import CommandError
from support.interrupting import heed_interrupts
from support.processes import canvass, processes_with

pytestmark = pytest.mark.tlc

Command = Callable[..., tuple[int, str, str]]


def test_a_time_limit_ends_a_search_as_not_checked(command: Command, tiny: Path) -> None:
    code, out, err = command("check", "TinyEndless", "--spec", tiny, "--timeout", "1")

    assert code == 2
    assert out.startswith("ERROR TinyEndless  timeout")
    assert "TinyEndless: timeout: " in err


@pytest.mark.parametrize(
    ("text", "mib"), [("4g", 4096), ("512m", 512), ("512M", 512), ("300", 300), ("65536k", 64)]
)
def test_sizes_of_the_heap(text: str, mib: int) -> None:
    assert heap_mib(text) == mib


@pytest.mark.parametrize("text", ["", "4 g", "-1", "4gb", "1.5g", "0", "1k", "4m"])
def test_an_invalid_size_of_a_heap_is_refused(text: str) -> None:
    with pytest.raises(CommandError):
        heap_mib(text)


def running_check(*words: str) -> subprocess.Popen[str]:
    """Start ``canvass check`` as a process that a test can interrupt."""
    return subprocess.Popen(
        canvass("check", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )


def test_an_interrupt_ends_it_with_130_and_leaves_no_java(tiny: Path, tmp_path: Path) -> None:
    """The interrupt comes when TLC has reported its first progress."""
    spec = shutil.copytree(tiny, tmp_path / "endless")
    with running_check("TinyEndless", "--spec", str(spec)) as process:
        assert process.stderr is not None
        progress = process.stderr.readline()
        running = processes_with(str(spec))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()

    assert progress.startswith("canvass: [1/1] TinyEndless: ")
    assert len(running) > 1
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "canvass: interrupted"
    assert "Traceback" not in err
    assert processes_with(str(spec)) == []


def test_an_interrupt_keeps_the_results_of_the_models_before(tiny: Path, tmp_path: Path) -> None:
    spec = shutil.copytree(tiny, tmp_path / "endless")
    export = tmp_path / "counterexamples"
    words = ["TinyOk", "TinyLoss", "TinyEndless", "--spec", str(spec)]
    with running_check(*words, "--format", "json", "--export", str(export)) as process:
        assert process.stderr is not None
        assert any("TinyEndless: " in line for line in iter(process.stderr.readline, ""))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    report = json.loads(out)

    assert process.returncode == 130
    assert err.splitlines()[-1] == "canvass: interrupted"
    assert report["ok"] is False
    assert [each["name"] for each in report["models"]] == ["TinyOk", "TinyLoss"]
    assert sorted(file.name for file in export.iterdir()) == ["TinyLoss.itf.json", "TinyLoss.json"]
