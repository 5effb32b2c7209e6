"""The class path of ``canvass drive``, and the flags of its classes."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

from canvass.aeron_driver import DriverError, driver
from canvass.aeron_driver.driver import ClassPath, compile_driver, first_error, without_final
from canvass.tlc.programs import Java

AGENT = "io/aeron/cluster/ConsensusModuleAgent.class"
PUBLIC, FINAL, SUPER = 0x0001, 0x0010, 0x0020


def class_file(flags: int) -> bytes:
    """Make a class file up to its access flags; its long constant takes two indexes of the pool."""
    pool = b"\x01\x00\x03abc" + b"\x05" + bytes(8) + b"\x07\x00\x01"
    return b"\xca\xfe\xba\xbe" + bytes(4) + struct.pack(">H", 5) + pool + struct.pack(">H", flags)


def flags_of(content: bytes) -> int:
    return int(struct.unpack(">H", content[-2:])[0])


@pytest.fixture
def aeron(tmp_path: Path) -> Path:
    place = tmp_path / "classes" / AGENT
    place.parent.mkdir(parents=True)
    place.write_bytes(class_file(PUBLIC | FINAL))
    return tmp_path / "classes"


def test_only_the_final_flag_is_cleared() -> None:
    content = class_file(PUBLIC | FINAL | SUPER)

    changed = without_final(content, "A")

    assert flags_of(changed) == PUBLIC | SUPER
    assert changed[:-2] == content[:-2]
    assert without_final(changed, "A") == changed


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (b"", "damaged"),
        (b"PK\x03\x04" + bytes(20), "not a class file"),
        (class_file(PUBLIC)[:-1], "damaged"),
        (class_file(PUBLIC)[:10] + b"\xff" + class_file(PUBLIC)[11:], "damaged"),
    ],
)
def test_other_bytes_than_a_class_file_are_refused(content: bytes, phrase: str) -> None:
    with pytest.raises(DriverError, match=phrase):
        without_final(content, "A")


def test_the_first_entry_with_a_class_counts(tmp_path: Path, aeron: Path) -> None:
    jar = tmp_path / "aeron.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(AGENT, b"of the jar")
        archive.writestr("META-INF/MANIFEST.MF", "Implementation-Version: 1.52.2\r\n")

    both = ClassPath.parse(f"{jar}:{aeron}")

    assert both.content(AGENT) == b"of the jar"
    assert ClassPath.parse(f"{aeron}:{jar}").content(AGENT) == class_file(PUBLIC | FINAL)
    assert both.release == "1.52.2"
    assert both.content("io/aeron/Nothing.class") is None
    assert ClassPath.parse(str(tmp_path / "*")).entries == (jar,)


def test_revision_and_release_follow_from_the_classes(aeron: Path) -> None:
    assert ClassPath.parse(str(aeron)).revision == "1.49"
    assert ClassPath.parse(str(aeron)).release == "unknown"

    codec = aeron / "io/aeron/cluster/codecs/NewLeadershipTermDecoder.class"
    codec.parent.mkdir()
    codec.write_bytes(b"..commitPositionEncodingOffset..")
    (aeron / "io/aeron/AeronVersion.class").write_bytes(b"\x01\x00\x061.50.4\x01")

    assert ClassPath.parse(str(aeron)).revision == "1.50"
    assert ClassPath.parse(str(aeron)).release == "1.50.4"


def test_a_class_path_without_aeron_is_refused_in_one_line(tmp_path: Path) -> None:
    text = tmp_path / "text.jar"
    text.write_text("no jar")

    for path, phrase in (
        (tmp_path / "gone", "gone does not exist"),
        (tmp_path, "holds no Aeron Cluster"),
        (text, "is not a jar"),
        (tmp_path / "empty" / "*", "holds no jar"),
    ):
        with pytest.raises(DriverError, match=phrase) as raised:
            ClassPath.parse(str(path))
        assert "\n" not in str(raised.value)


def test_without_a_compiler_the_error_names_a_jdk(
    aeron: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "find_java", lambda: Java(tmp_path / "jre" / "bin" / "java", 17))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(DriverError, match=r"it is a JRE.*install a JDK"):
        compile_driver(ClassPath.parse(str(aeron)), tmp_path / "cache")


def test_a_release_without_a_port_is_refused(aeron: Path, tmp_path: Path) -> None:
    with pytest.raises(DriverError, match=r"no class io\.aeron\.Aeron"):
        driver._compile(Path("javac"), ClassPath.parse(str(aeron)), tmp_path / "out")


def test_a_relative_cache_folder_is_found_from_the_folder_of_the_driver(
    aeron: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "find_java", lambda: Java(tmp_path / "java", 17))
    monkeypatch.setattr(driver, "_compiler", lambda java: java)
    monkeypatch.setattr(driver, "_compile", lambda _compiler, _path, folder: folder.mkdir())
    monkeypatch.chdir(tmp_path)

    compiled = compile_driver(ClassPath.parse(str(aeron)), Path("cache"))

    assert compiled.classes.is_absolute()
    assert compiled.classes.parent == tmp_path / "cache"


def test_the_first_error_of_the_compiler_names_the_symbol() -> None:
    first = "A.java:3: error: cannot find symbol\n    B b;\n    ^\n  symbol:   class B\n"
    second = "  location: class A\nA.java:9: error: incompatible types\n  symbol: class C\n"

    assert first_error(first + second) == (2, "A.java:3: error: cannot find symbol: class B")
    assert first_error("A.java:1: error: other\n") == (1, "A.java:1: error: other")
    assert first_error("no such file\nx") == (0, "no such file")
