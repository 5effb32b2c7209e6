"""Compile the driver against a release with javac.

The driver extends some final classes of Aeron. Copies of these classes without the final flag come
first on the class path. Everything is written to a cache folder, whose name has the release and a
digest of the sources and of the class path. Nothing of Aeron is kept anywhere else.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from canvass.aeron_driver import DriverError
from canvass.graph.folders import alone
from canvass.tlc.programs import clean_environment, find_java

REVISION_149: Final = "1.49"
REVISION_150: Final = "1.50"

_AGENT: Final = "io/aeron/cluster/ConsensusModuleAgent.class"
_VERSION: Final = "io/aeron/AeronVersion.class"
_MANIFEST: Final = "META-INF/MANIFEST.MF"
_RELEASE: Final = re.compile(rb"[\x00-\xff]{2}(\d+\.\d+\.\d+(?:-SNAPSHOT)?)")
_TITLE: Final = re.compile(rb"^Implementation-Version: (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class ClassPath:
    """A Java class path.

    Parameters
    ----------
    entries
        Existing folders and jars, in order.
    """

    entries: tuple[Path, ...]

    @classmethod
    def parse(cls, text: str) -> ClassPath:
        """Read a class path as ``java -cp`` does; ``folder/*`` stands for the jars of a folder.

        Raises
        ------
        DriverError
            If an entry does not exist, or no entry holds Aeron Cluster.
        """
        entries: list[Path] = []
        for part in filter(None, text.split(os.pathsep)):
            path = Path(part)
            if path.name == "*":
                jars = sorted(path.parent.glob("*.jar"))
                if not jars:
                    raise DriverError(f"--classpath: {path.parent} holds no jar")
                entries += jars
            elif not path.exists():
                raise DriverError(f"--classpath: {path} does not exist")
            else:
                entries.append(path)
        found = cls(tuple(path.absolute() for path in entries))
        if found.content(_AGENT) is None:
            raise DriverError(
                "--classpath holds no Aeron Cluster: none of its entries has"
                f" {_AGENT.removesuffix('.class').replace('/', '.')}"
            )
        return found

    @property
    def text(self) -> str:
        """The class path for ``java -cp``."""
        return os.pathsep.join(map(str, self.entries))

    def content(self, name: str) -> bytes | None:
        """Return the content of the first file with this name; None if there is none.

        Raises
        ------
        DriverError
            If a jar cannot be read.
        """
        return next(self._contents(name), None)

    def _contents(self, name: str) -> Iterator[bytes]:
        for entry in self.entries:
            if entry.is_dir():
                path = entry / name
                if path.is_file():
                    yield path.read_bytes()
                continue
            try:
                with zipfile.ZipFile(entry) as jar:
                    yield jar.read(name)
            except KeyError:
                continue
            except (OSError, zipfile.BadZipFile) as error:
                raise DriverError(f"--classpath: {entry} is not a jar: {error}") from None

    @cached_property
    def release(self) -> str:
        """The release that Aeron's own class or the jar's manifest names; else ``unknown``."""
        constant = _RELEASE.search(self.content(_VERSION) or b"")
        titles = map(_TITLE.search, self._contents(_MANIFEST))
        found = constant or next(filter(None, titles), None)
        return found[1].decode() if found else "unknown"

    @cached_property
    def revision(self) -> str:
        """The revision of the protocol; the fields of the release's NewLeadershipTerm decide it."""
        codec = self.content("io/aeron/cluster/codecs/NewLeadershipTermDecoder.class") or b""
        return REVISION_150 if b"commitPositionEncodingOffset" in codec else REVISION_149

    @cached_property
    def digest(self) -> str:
        """A digest of the names, sizes and times of the entries, and of Aeron Cluster's agent."""
        found = hashlib.sha256(self.content(_AGENT) or b"")
        for entry in self.entries:
            status = entry.stat()
            found.update(f"{entry} {status.st_size} {status.st_mtime_ns}\n".encode())
        return found.hexdigest()


_MAGIC: Final = 0xCAFEBABE
_POOL_COUNT: Final = 8
_POOL: Final = 10
_UTF8: Final = 1
_ENTRY_BYTES: Final = {
    3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 17: 5, 18: 5,
    19: 3, 20: 3,
}  # fmt: skip
"""Size in bytes of a constant pool entry by its tag, except UTF-8 (JVMS 4.4)."""
_TWO_SLOTS: Final = (5, 6)
"""Tags of long and double constants, which take two indexes of the pool."""
_FINAL: Final = 0x0010


def without_final(content: bytes, name: str) -> bytes:
    """Return the class file with ``ACC_FINAL`` cleared in the access flags of the class.

    Raises
    ------
    DriverError
        If the bytes are not a class file.
    """
    try:
        if struct.unpack_from(">I", content)[0] != _MAGIC:
            raise DriverError(f"{name}: not a class file")
        (count,) = struct.unpack_from(">H", content, _POOL_COUNT)
        at, index = _POOL, 1
        while index < count:
            tag = content[at]
            if tag == _UTF8:
                at += 3 + struct.unpack_from(">H", content, at + 1)[0]
            else:
                at += _ENTRY_BYTES[tag]
            index += 2 if tag in _TWO_SLOTS else 1
        (flags,) = struct.unpack_from(">H", content, at)
    except (struct.error, IndexError, KeyError):
        raise DriverError(f"{name}: a damaged class file") from None
    changed = bytearray(content)
    struct.pack_into(">H", changed, at, flags & ~_FINAL)
    return bytes(changed)


SOURCES: Final = Path(__file__).resolve().parent / "java"
FIELDS_FILE: Final = SOURCES / "fields.txt"
EXTENDED: Final = (
    "io/aeron/Aeron",
    "io/aeron/ExclusivePublication",
    "io/aeron/Subscription",
    "io/aeron/Image",
    "io/aeron/archive/client/AeronArchive",
)
"""Final classes of Aeron that the driver extends: the ports of a member."""

_DONE: Final = "complete"
_TIMEOUT_S: Final = 300


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver compiled against a release."""

    java: Path
    classes: Path
    class_path: ClassPath

    @property
    def search_path(self) -> str:
        """The class path with the driver's classes first."""
        return os.pathsep.join((str(self.classes), self.class_path.text))


def compile_driver(class_path: ClassPath, cache: Path) -> Driver:
    """Compile the driver against a class path, unless the cache has it.

    Raises
    ------
    DriverError
        If there is no compiler, or the release lacks a class or method that the driver uses.
    JavaError
        If there is no Java.
    """
    java = find_java().path
    # Absolute, because the driver's Java runs in another folder.
    folder = cache.absolute() / f"{class_path.release}-{_digest(class_path)[:16]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        if not (folder / _DONE).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            _compile(_compiler(java), class_path, folder)
            (folder / _DONE).touch()
    return Driver(java, folder, class_path)


def _digest(class_path: ClassPath) -> str:
    found = hashlib.sha256(class_path.digest.encode())
    for source in sorted(SOURCES.rglob("*.java")):
        found.update(source.read_bytes())
    return found.hexdigest()


def _compiler(java: Path) -> Path:
    beside = java.resolve().parent / "javac"
    found = str(beside) if beside.is_file() else shutil.which("javac")
    if found is None:
        raise DriverError(
            f"{java} has no compiler (it is a JRE): install a JDK of version 17 or newer, such as"
            " the package openjdk-17-jdk-headless, or set JAVA_HOME to one"
        )
    return Path(found)


def _compile(compiler: Path, class_path: ClassPath, folder: Path) -> None:
    folder.mkdir()
    for name in EXTENDED:
        content = class_path.content(f"{name}.class")
        if content is None:
            raise DriverError(f"--classpath has no class {name.replace('/', '.')}")
        target = folder / f"{name}.class"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(without_final(content, name))
    sources = sorted(map(str, SOURCES.rglob("*.java")))
    command = [
        str(compiler), "-nowarn", "-proc:none", "-encoding", "UTF-8", "-d", str(folder),
        "-cp", os.pathsep.join((str(folder), class_path.text)), *sources,
    ]  # fmt: skip
    try:
        result = subprocess.run(
            command,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DriverError(f"{compiler} cannot compile the driver: {error}") from None
    if result.returncode != 0:
        errors, first = first_error(result.stderr)
        raise DriverError(
            f"the driver does not compile against Aeron {class_path.release}"
            f" ({errors} errors): {first.removeprefix(str(SOURCES) + os.sep)}"
        )


def first_error(output: str) -> tuple[int, str]:
    """Return the number of errors that javac reports, and the first one with its symbol."""
    _, *errors = re.split(r"^(?=.*: error: )", output, flags=re.MULTILINE)
    first = errors[0] if errors else output.strip()
    symbol = re.search(r"^ +symbol: +(.*)", first, re.MULTILINE)
    line = first.partition("\n")[0]
    return len(errors), f"{line}: {symbol[1]}" if symbol else line
