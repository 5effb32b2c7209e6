"""An outsider's implementation is recorded through the plugin's port, and checked.

`docs/guide/pytest.md` explains this example.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.outsider.adapter import watcher
from examples.outsider.ledger import HastyClerk, Office
from support.guide_examples import absent, block

if TYPE_CHECKING:
    from canvass.pytest_plugin.recording import RecorderFixture

pytestmark = pytest.mark.tlc


@pytest.mark.parametrize("chief", [0, *(pytest.param(i, marks=pytest.mark.night) for i in (1, 2))])
def test_three_clerks_keep_one_ledger(
    canvass_recorder: RecorderFixture, canvass_seed: int, chief: int
) -> None:
    recording = canvass_recorder(members=3, revision="1.50", appointed_leader_id=chief)

    Office(canvass_seed, watcher(recording.member), chief=chief).run(entries=12)


def test_a_clerk_that_settles_what_one_copy_holds_is_caught(
    canvass_recorder: RecorderFixture, canvass_seed: int
) -> None:
    recording = canvass_recorder(members=3, revision="1.50", appointed_leader_id=0)

    Office(canvass_seed, watcher(recording.member), kind=HastyClerk).run(entries=12)

    found = recording.check(expect="DIVERGES").result.divergences
    assert found[0].name == "UpdateLeaderPosition"
    assert "CommittedIsDurable" in {each.name for each in found}


def test_the_guide_shows_what_pytest_prints_of_the_variant(tmp_path: Path) -> None:
    for name in ("adapter.py", "ledger.py"):
        text = (Path(__file__).parent / "outsider" / name).read_text()
        (tmp_path / name).write_text(text.replace("from examples.outsider.", "from "))
    good = "\n".join(block("pytest.md", "from my_adapter import watcher"))
    bad = good.replace("my_", "").replace("import Office", "import HastyClerk, Office")
    kind = "watcher(recording.member), kind=HastyClerk"
    (tmp_path / "test_ledger.py").write_text(bad.replace("watcher(recording.member)", kind))
    (tmp_path / "pytest.ini").touch()

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "test_ledger.py"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name not in ("COLUMNS", "CI")},
        check=False,
        capture_output=True,
        text=True,
    )

    printed = done.stdout.splitlines()
    assert done.returncode == 1, done.stdout + done.stderr
    assert list(absent(block("pytest.md", "canvass: the run run-0"), printed)) == []
    assert list(absent(block("pytest.md", "1 run checked"), printed)) == []
