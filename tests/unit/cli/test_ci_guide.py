"""The jobs of the guide on continuous integration, run as scripts in an empty home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "guide" / "ci.md"
SAMPLES = ROOT / "samples"


def commands(service: str) -> list[str]:
    """The commands of a job, but the installation of what is under test."""
    text = GUIDE.read_text().partition(f"## {service}")[2].partition("```\n")[0]
    marked = [line.strip().removeprefix("- ") for line in text.splitlines()]
    start = next(k for k, line in enumerate(marked) if line.startswith("pip install"))
    found = marked[start + 1 :]
    ours = ("canvass ", "pytest ")
    return found[: next(k for k, line in enumerate(found) if not line.startswith(ours))]


def test_both_jobs_run_the_same_commands() -> None:
    assert commands("GitHub Actions") == commands("GitLab")
    assert len(commands("GitLab")) == 2


def test_the_job_of_the_plugin_reports_a_run_that_does_not_conform(tmp_path: Path) -> None:
    record = (
        "def test_nothing(canvass_recorder):\n    canvass_recorder(members=3, revision='1.50')\n"
    )
    (tmp_path / "test_nothing.py").write_text(record)
    (tmp_path / "pytest.ini").touch()
    (command,) = commands("The pytest plugin")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
        check=False,
        capture_output=True,
    )

    assert done.returncode == 1, done.stderr
    suite = ElementTree.parse(tmp_path / "canvass-junit.xml").getroot()
    assert "MALFORMED" in "".join(one.text or "" for one in suite.iter("error"))


@pytest.mark.parametrize(("logs", "code"), [("aeron/b-leader-killed", 0), ("aeron-hz6", 1)])
def test_the_job_decides_and_leaves_its_reports(tmp_path: Path, logs: str, code: int) -> None:
    script = "\n".join(["set -euo pipefail", *commands("GitLab")])
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "LOGS": str(SAMPLES / logs),
    }

    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, check=False, capture_output=True
    )

    assert done.returncode == code, done.stderr
    suite = ElementTree.parse(tmp_path / "canvass-junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", str(code))
    failures = [one.text or "" for one in suite.iter("failure")]
    if code:
        assert "member-0.log.gz:" in failures[0]
        assert "CommittedIsDurable ==" in failures[0]
