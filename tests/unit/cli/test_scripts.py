"""The scripts that make runs before anything else refuse in one line, and say what to install."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A folder for PATH with the shell's tools, without Java and Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("bash", "sed", "head"):
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    return folder


def call(script: str, path: Path, *words: str, **environment: str) -> tuple[int, str]:
    """Run a script of `tools` with a PATH of its own; returns the code and what it said."""
    done = subprocess.run(
        [str(path / "bash"), str(ROOT / "tools" / script), *words],
        env={"PATH": str(path), **environment},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def launcher(path: Path, said: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{path.parent}/bash\necho '{said}' >&2\n")
    path.chmod(0o755)


FIX = "install Java 17 or newer (Debian: apt-get install openjdk-17-jre-headless)\n"


def test_no_java_is_one_line_with_what_to_install(bare_path: Path) -> None:
    assert call("need-java", bare_path) == (2, f"canvass: no working Java at 'java': {FIX}")


@pytest.mark.parametrize(
    ("said", "version"),
    [('openjdk version "11.0.2"', "11"), ('java version "1.8.0_292"', "8"), ("hm", "unknown")],
)
def test_an_old_java_is_one_line_with_its_version(bare_path: Path, said: str, version: str) -> None:
    launcher(bare_path / "java", said)
    code, line = call("need-java", bare_path)

    assert code == 2
    assert line == f"canvass: 'java' is version {version}, too old: {FIX}"


@pytest.mark.parametrize("said", ['openjdk version "17.0.15"', 'openjdk version "25" 2025-09-16'])
def test_a_new_java_is_passed_in_silence(bare_path: Path, said: str) -> None:
    launcher(bare_path / "java", said)

    assert call("need-java", bare_path) == (0, "")


def test_java_home_goes_before_the_path(bare_path: Path) -> None:
    launcher(bare_path / "java", 'openjdk version "21.0.1"')
    home = bare_path.parent / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "bash").symlink_to(bare_path / "bash")
    launcher(home / "bin" / "java", 'openjdk version "11.0.2"')
    code, line = call("need-java", bare_path, JAVA_HOME=str(home))

    assert code == 2
    assert f"'{home}/bin/java' is version 11, too old" in line


@pytest.mark.parametrize(
    ("python", "complaint"),
    [
        ("", "needs Python 3.11 or newer, found none"),
        ("python-of-nowhere", "python-of-nowhere is not Python 3.11 or newer"),
    ],
)
def test_no_python_is_one_line_with_what_to_install(
    bare_path: Path, python: str, complaint: str
) -> None:
    code, line = call("setup", bare_path, python, str(bare_path.parent / "venv"))

    assert code == 2
    assert complaint in line
    assert "apt-get install python3 python3-venv" in line
    assert line.count("\n") == 1
