"""After every kind of end no process and no file of a run is left."""

from __future__ import annotations

import gc
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from canvass.tlc.output import Event, InitialStates, Message
from canvass.tlc.results import Outcome
from canvass.tlc.runner import _CHILD_PROCESS, TlcRun
from support.interrupting import heed_interrupts
from support.tlc_cases import CASES, SPECS

pytestmark = pytest.mark.tlc

# Only reached when a process is left behind, which is the failure that is looked for.
PATIENCE_S = 60


def assert_gone(process: int) -> None:
    """Wait for the end of a process that may belong to another parent."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], PATIENCE_S)[0], f"process {process} is left"
    finally:
        os.close(handle)


def endless(**more: object) -> TlcRun:
    return CASES["timeout"].start(**{"timeout_s": None, **more})


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the folder in which runs make their folders; it is empty again at the end."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def java_of(event: Event) -> int | None:
    """Give the process id in TLC's message that the search has begun; None for another event."""
    if isinstance(event, Message) and (found := re.search(r"\[pid: (\d+)\]", event.text)):
        return int(found[1])
    return None


def started(running: TlcRun) -> int:
    """Run until Java has printed its process id."""
    return next(java for event in running if (java := java_of(event)) is not None)


def test_leaving_early_kills_java(folders: Path) -> None:
    with endless() as running:
        java = started(running)

    assert_gone(java)
    assert running.result.outcome is Outcome.INTERRUPTED
    assert list(running) == []


def test_an_exception_in_the_loop_kills_java(folders: Path) -> None:
    running = endless()

    def interrupted() -> None:
        with running:
            for event in running:
                if isinstance(event, InitialStates):
                    raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert running.result.outcome is Outcome.INTERRUPTED


def test_a_time_limit_kills_java(folders: Path) -> None:
    with endless(timeout_s=1.5) as running:
        result = running.wait()

    assert result.outcome is Outcome.TIMEOUT
    assert not result.ok
    assert result.seconds >= 1.5


@pytest.mark.parametrize("timeout_s", [None, 600])
def test_a_run_without_references_ends(folders: Path, timeout_s: float | None) -> None:
    running = endless(timeout_s=timeout_s)
    java = started(running)

    del running
    gc.collect()

    assert_gone(java)


def test_java_that_is_killed_from_outside_is_an_error(folders: Path) -> None:
    with endless() as running:
        java = started(running)
        os.kill(java, signal.SIGKILL)
        result = running.wait()

    assert (result.outcome, result.message) == (
        Outcome.SYSTEM_ERROR,
        "Java was ended by SIGKILL.",
    )


PROGRAM = f"""
import sys
from canvass.tlc.config import TlcConfig
from canvass.tlc.runner import check
from canvass.tlc.output import InitialStates, Message

def show(event):
    if isinstance(event, Message) and "[pid: " in event.text:
        print(event.text.partition("[pid: ")[2].partition("]")[0], flush=True)
    if isinstance(event, InitialStates):
        print("searching", flush=True)

config = TlcConfig(
    constants={{"Mode": '= "none"', "Limit": "= 2000000000"}}, specification="Spec"
)
check({str(SPECS / "Counter.tla")!r}, config, heap_mib=256, on_event=show)
"""


def start_program(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Start another Python with an endless check, and wait until TLC searches."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "TMPDIR": str(folder),
    }
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    )
    assert program.stdout is not None
    java = int(program.stdout.readline())
    assert program.stdout.readline() == "searching\n"
    return program, java


def test_ctrl_c_leaves_nothing_behind(folders: Path) -> None:
    program, java = start_program(folders)

    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=PATIENCE_S)

    assert_gone(java)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert program.returncode == -signal.SIGINT


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_java_ends_when_its_parent_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    program, java = start_program(tmp_path)

    program.send_signal(how)
    program.communicate(timeout=PATIENCE_S)

    assert_gone(java)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ([sys.executable, "-c", "raise SystemExit(7)"], 7),
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"], -15),
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], -9),
        (["/no/such/program"], 127),
    ],
)
def test_the_guard_has_the_exit_status_of_its_command(command: list[str], code: int) -> None:
    # The other end of its standard input stays open, as it does while a parent lives.
    reading, writing = os.pipe()
    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-S", str(_CHILD_PROCESS), *command],
            stdin=reading,
            capture_output=True,
            start_new_session=True,
            check=False,
        )
    finally:
        os.close(reading)
        os.close(writing)

    assert ended.returncode == code
