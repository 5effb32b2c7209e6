"""The commands of the README run in its order, as they are written."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Final

import pytest

from canvass.cli.main import run
from support.guide_examples import ROOT

COMMAND: Final = re.compile(r"^ {4}\.venv/bin/canvass (.*)$", re.MULTILINE)
COMMANDS: Final = COMMAND.findall((ROOT / "README.md").read_text())
ELSEWHERE: Final = {
    "browse": "tests/browser/test_command.py stops the server",
    "drive": "tests/conformance/test_aeron_classes.py has a release's classes if there are any",
}
LONG: Final = re.compile(
    r"check(?! --list)|prove|run|simulate|batch|selftest|verify my-c|.*--engine tlc"
)
"""Commands of more than a few seconds; the night has them."""


def type_readme(folder: Path, monkeypatch: pytest.MonkeyPatch, *, whole: bool) -> list[str]:
    """Type the commands in a folder like a checkout; list those that were typed."""
    for name in ("samples", "spec", "tests"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "spec", folder / "my-spec")
    monkeypatch.chdir(folder)
    typed = []
    for line in COMMANDS:
        words = shlex.split(line, comments=True)
        if words[0] in ELSEWHERE or (not whole and LONG.match(line)):
            continue
        expected = re.search(r"# .*\bexits with (\d)", line)
        assert run(words) == (int(expected[1]) if expected else 0), line
        typed.append(words[0])
    return typed


def test_the_commands_of_seconds_do_what_the_readme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = type_readme(tmp_path, monkeypatch, whole=False)

    assert set(typed) >= {"import", "verify", "explain", "check", "disks", "trace", "replay"}


@pytest.mark.night
def test_all_commands_do_what_the_readme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    assert len(type_readme(tmp_path, monkeypatch, whole=True)) > 20
