"""Outside a checkout the self-test makes runs."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys, tempfile
from pathlib import Path
from canvass.conformance.diagnose import core_allows
from canvass.selftest import runs

assert runs.__file__.startswith(sys.argv[1]), runs.__file__
ask_core = lambda rules, steps: [core_allows(rules, step) for step in steps]
with tempfile.TemporaryDirectory() as folder:
    found = runs.check_runs(Path(folder), good=2, corrupted=16, oracle=ask_core)
print(found.good, found.corrupted.total(), len(found.wrong))
"""

pytestmark = [pytest.mark.wheel, pytest.mark.night]  # The kernels are compiled anew: half a minute.


def test_selftest_needs_nothing_of_the_checkout(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), str(installed)], check=True)
    lent = sysconfig.get_path("purelib")

    done = subprocess.run(
        [sys.executable, "-S", "-c", SCRIPT, str(installed)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), lent])},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    good, corrupted, wrong = map(int, done.stdout.split())
    assert (good, corrupted, wrong) == (2, 16, 0)
