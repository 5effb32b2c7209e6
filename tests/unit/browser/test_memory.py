"""Memory of the page's server: work on long runs in processes that end, and arrays in a file."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from pathlib import Path
from weakref import ref

import numpy as np
import pytest

from canvass.browser.memory import LONG, give_back, in_own_process, mapped
from canvass.browser.run_find import RunStates, find_in_run
from canvass.browser.runs import OpenRun
from support.corpora import record_runs


def resident_kib() -> int:
    """Private memory of this process."""
    text = Path("/proc/self/smaps_rollup").read_text()
    return sum(map(int, re.findall(r"^Private_\w+: +(\d+) kB$", text, re.MULTILINE)))


def test_a_long_run_has_a_process_of_its_own() -> None:
    assert in_own_process(LONG - 1, os.getpid) == os.getpid()
    assert in_own_process(LONG, os.getpid) != os.getpid()


def test_an_error_in_that_process_is_raised_here() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-folder"):
        in_own_process(LONG, os.listdir, "no-such-folder")
    with pytest.raises(ChildProcessError, match="its process ended with code 3"):
        in_own_process(LONG, os._exit, 3)


def test_arrays_in_a_file_hold_memory_only_while_they_are_read() -> None:
    size = 1 << 26
    before = resident_kib()
    one, other = mapped(lambda: (np.arange(size // 8), np.arange(3)))
    assert one.sum() == (size // 8) * (size // 8 - 1) // 2
    assert other.tolist() == [0, 1, 2]
    read = resident_kib()
    gc.collect()
    give_back()

    assert read - before > size // 1024 // 2
    assert resident_kib() - before < size // 1024 // 8
    assert one[-1] == size // 8 - 1


def test_a_run_that_is_closed_leaves_memory_though_it_was_searched(tmp_path: Path) -> None:
    (folder,) = record_runs(tmp_path / "corpus", 1, 40).iterdir()
    opened = OpenRun(folder, folder.name)
    assert find_in_run(opened, RunStates(opened), 'action = "Canvass"', 10).count
    left = ref(opened)
    del opened
    gc.collect()

    assert left() is None


def test_the_server_begins_without_the_libraries_that_only_some_questions_need() -> None:
    script = (
        "import sys, canvass.browser.app, canvass.browser.opening;"
        "sys.exit(', '.join(sorted({'numba', 'pandas', 'networkx'} & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
