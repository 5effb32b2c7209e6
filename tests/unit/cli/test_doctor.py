"""``canvass doctor`` names each problem and the line that fixes it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from canvass.tlc.programs import find_jar
from canvass.version import install_command

Command = Callable[..., tuple[int, str, str]]

PACKAGED_SHA256 = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"


def finding(out: str, subject: str) -> dict[str, str]:
    """The line on a subject, and the fix below it."""
    lines = [*out.splitlines(), ""]
    (at,) = [k for k, line in enumerate(lines) if line[9:].startswith(f"{subject:<14}")]
    fix = lines[at + 1].partition(" fix: ")[2]
    return {"status": lines[at][:9].strip(), "detail": lines[at][24:], "fix": fix}


@pytest.mark.tlc
def test_a_machine_with_everything_is_sound(command: Command) -> None:
    code, out, err = command("doctor")

    assert (code, err) == (0, "")
    assert int(finding(out, "Java")["detail"].split()[0]) >= 17
    assert finding(out, "extra spark")["status"] == "ok"
    subjects = [line.split()[:2] for line in out.splitlines() if "fix: " not in line]
    assert {status for status, subject in subjects if subject != "extra"} == {"ok"}
    assert len(subjects) == 12
    assert f"SHA-256 {PACKAGED_SHA256[:12]}… (known, TLC 2.15)" in out


@pytest.mark.tlc
def test_a_jar_that_is_not_known_may_be_used_and_is_said(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "tla2tools.jar"
    shutil.copyfile(find_jar().path, jar)
    with zipfile.ZipFile(jar, "a") as archive:
        archive.writestr("note.txt", "another checksum")
    monkeypatch.setenv("CANVASS_TLA2TOOLS", str(jar))
    code, out, _ = command("doctor")

    assert code == 0
    assert "canvass is not tested with it" in finding(out, "tla2tools.jar")["detail"]


@pytest.mark.tlc
def test_a_missing_extra_is_no_problem(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    version = metadata.version

    def without_spark(name: str) -> str:
        if name == "pyspark":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without_spark)
    code, out, _ = command("doctor")
    found = finding(out, "extra spark")

    assert (code, found["status"]) == (0, "absent")
    assert found["fix"] == "make setup-test"


@pytest.mark.tlc
@pytest.mark.parametrize(("ours", "status"), [(False, "problem"), (True, "ok")])
def test_another_project_of_that_name_is_a_problem(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: bool, status: str
) -> None:
    installed = tmp_path / "canvass-0.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: canvass\nVersion: 0.0\n")
    if ours:  # Made before the distribution had a name of its own.
        (installed / "entry_points.txt").write_text("[console_scripts]\ncanvass = canvass.cli:x\n")
    monkeypatch.syspath_prepend(tmp_path)
    _, out, _ = command("doctor")
    found = finding(out, "canvass")

    assert found["status"] == status
    assert ("pip uninstall canvass" in found["fix"]) is not ours


def test_outside_a_checkout_an_extra_is_installed_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canvass.version.SETUP", tmp_path / "setup")

    assert install_command("graph") == "pip install 'aeron-canvass[graph]'"


def test_the_command_names_the_module_that_hides_the_package(tmp_path: Path) -> None:
    (tmp_path / "canvass.py").touch()
    script = f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; import aeron_canvass as a; a.main()"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert (found.returncode, found.stdout) == (2, "")
    (line,) = found.stderr.splitlines()
    assert str(tmp_path / "canvass.py") in line
    assert "pip uninstall canvass" in line


def test_a_spoilt_manifest_is_a_problem(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    monkeypatch.setattr("canvass.spec.files.PACKAGED", tmp_path)
    code, out, _ = command("doctor")
    found = finding(out, "spec")

    assert (code, found["status"]) == (2, "problem")
    assert str(tmp_path / "manifest.json") in found["detail"]
