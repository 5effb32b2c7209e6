"""The wheel is complete: it works where there is no checkout.

The wheel is installed alone into an empty environment; a .pth file lends that environment the
third-party packages of the environment that runs the tests, so nothing is downloaded. What this
proves: the wheel holds every module of the three roots, the spec as data and the console script,
and nothing of it reads the checkout (the commands run in another directory, and the paths of the
editable install are not on ``sys.path``). What it does not prove: that the dependencies in the
wheel's metadata suffice; `make setup` does, which installs the lock and runs ``pip check``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from canvass.spec.manifest import load_manifest

ROOT = Path(__file__).resolve().parents[2]

SELF_TEST = """
import tempfile
from pathlib import Path
from canvass.conformance.diagnose import core_allows
from canvass.selftest import runs

ask_core = lambda rules, steps: [core_allows(rules, step) for step in steps]
with tempfile.TemporaryDirectory() as folder:
    found = runs.check_runs(Path(folder), good=2, corrupted=16, oracle=ask_core)
print(runs.__file__, found.good, found.corrupted.total(), len(found.wrong))
"""

pytestmark = pytest.mark.wheel


@dataclass(frozen=True)
class Installed:
    """An environment outside the checkout that has the wheel in it."""

    wheel: Path
    environment: Path
    elsewhere: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "CANVASS_", "VIRTUAL_ENV"))
        }
        command = [str(self.environment / "bin" / words[0]), *words[1:]]
        return subprocess.run(
            command, cwd=self.elsewhere, env=clean, check=False, capture_output=True, text=True
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")

    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (site_packages,) = environment.glob("lib/python*/site-packages")
    install = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")]
    subprocess.run(
        [*install, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True
    )
    # A plain path: the .pth files of the lent folder, the editable install's too, stay unread.
    (site_packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")

    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    return Installed(wheel, environment, elsewhere)


def test_the_wheel_holds_the_three_roots_and_the_spec(installed: Installed) -> None:
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    wanted = {
        path.relative_to(ROOT / root).as_posix()
        for root in ("impl", "refinement", "tools")
        for suffix in ("py", "tla", "cfg")
        for path in (ROOT / root / "canvass").rglob(f"*.{suffix}")
    }
    spec = {
        f"canvass/spec/modules/{path.relative_to(ROOT / 'spec').as_posix()}"
        for pattern in ("*.tla", "*.cfg", "*.json")
        for path in (ROOT / "spec").rglob(pattern)
    }

    page = {f"canvass/browser/page/{name}" for name in ("index.html", "app.js", "app.css")}
    sample = {
        f"canvass/browser/sample/b-leader-killed/{path.name}"
        for path in (ROOT / "samples/aeron/b-leader-killed").iterdir()
    }

    assert wanted | spec | page | sample <= names
    assert not [name for name in names if "node_modules" in name or "browser/ui/" in name]
    assert "canvass/__init__.py" not in names


def test_the_packages_are_those_of_the_wheel(installed: Installed) -> None:
    code = (
        "import canvass.cluster, canvass.spec.files, canvass.cli;"
        "print(canvass.cluster.__file__, canvass.spec.files.spec_root(), canvass.cli.__file__)"
    )
    done = installed.run("python", "-c", code)

    assert done.stderr == ""
    for path in done.stdout.split():
        assert Path(path).is_relative_to(installed.environment)


def test_doctor_is_content(installed: Installed) -> None:
    done = installed.run("canvass", "doctor")

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.tlc
def test_the_smallest_model_is_checked(installed: Installed) -> None:
    models = load_manifest().models
    counted = [model for model in models if model.distinct_states and not model.violates]
    smallest = min(counted, key=lambda model: model.distinct_states or 0)
    done = installed.run("canvass", "check", smallest.name, "--format", "json")

    assert done.returncode == 0, done.stderr
    (model,) = json.loads(done.stdout)["models"]
    assert model["distinctStates"] == smallest.distinct_states


@pytest.mark.night  # The kernels are compiled anew: half a minute.
def test_the_self_test_makes_runs(installed: Installed) -> None:
    done = installed.run("python", "-c", SELF_TEST)

    assert done.returncode == 0, done.stderr
    module, *numbers = done.stdout.split()
    assert Path(module).is_relative_to(installed.environment)
    assert numbers == ["2", "16", "0"]
