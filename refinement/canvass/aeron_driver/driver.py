"""The driver, a process of Java: compiled against a release, and asked for outcomes.

The driver extends some final classes of Aeron. Copies of these classes without the final flag come
first on the class path. Everything is written to a cache folder, whose name has the release and a
digest of the sources and of the class path. Nothing of Aeron is kept anywhere else.

Python and `StepDriver.java` exchange states, inputs and outcomes as rows of integers. A request has
an action, a mask of departures of Aeron's hidden state (`canvass.aeron_driver.drivable`), an input
and a state. An answer has a status, the state after the step and the sends. The driver first reads
the layout file. It names every cell, so the order of fields is defined in one place only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.aeron_driver import DriverError
from canvass.cluster.messages import MESSAGE_TYPES, wire_name
from canvass.cluster.rules import REVISIONS
from canvass.graph.folders import alone
from canvass.tlc.programs import clean_environment, find_java
from canvass.traces.schema import (
    ACTION_NAMES,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_FIELDS,
    STATE_COLUMNS,
)

# --- a release ------------------------------------------------------------------------------------

REVISION_149, REVISION_150 = REVISIONS

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

    def after(self, folder: Path) -> str:
        """Give the class path for ``java -cp``, with the classes of a folder first."""
        return os.pathsep.join(map(str, (folder, *self.entries)))

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


# --- compiled -------------------------------------------------------------------------------------

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


def compile_driver(class_path: ClassPath, cache: Path) -> Driver:
    """Compile the driver against a class path, unless the cache has it.

    Raises
    ------
    DriverError
        If there is no compiler, or the release lacks a class or method that the driver uses.
    TlcError
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
        "-cp", class_path.after(folder), *sources,
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


# --- asked ----------------------------------------------------------------------------------------

Cells = NDArray[np.int32]

SCALE: Final = 256
"""Bytes of log for each position of the spec: more than the length of a term's first entry."""
BATCH_ROWS: Final = 4096
HEAP: Final = "-Xmx512m"

OK, RAISED, THROWN, TERMINATED = range(4)
"""Status of an answer, in this order: the step returned; it threw an exception that returns the
election to INIT; it threw another exception; it ended the member.
"""

_OPENED: Final = (
    "java.base/jdk.internal.misc",
    "java.base/sun.nio.ch",
    "java.base/java.util.zip",
)
"""Packages of the JDK that are opened to Agrona, as in any process of Aeron."""
_FAST_FOLDER: Final = Path("/dev/shm")
"""A file system in memory, on systems that have one."""


@dataclass(frozen=True, slots=True)
class StreamLayout:
    """The places of all cells of a row.

    Parameters
    ----------
    member_count
        The size of the cluster.
    log_capacity
        Maximum number of recording log entries in a row.
    """

    member_count: int
    log_capacity: int

    @property
    def send_capacity(self) -> int:
        """Maximum number of sends in an answer."""
        return 3 * self.member_count

    @property
    def message_width(self) -> int:
        """Number of cells of a message: its type, then the fields of all types."""
        return 1 + len(MESSAGE_FIELDS)

    @property
    def records(self) -> int:
        """The first cell of the member records in a state."""
        return len(STATE_COLUMNS)

    @property
    def log(self) -> int:
        """The cell of the length of the recording log in a state; its entries follow."""
        return self.records + self.member_count * len(MEMBER_COLUMNS)

    @property
    def state_width(self) -> int:
        """Number of cells of a state."""
        return self.log + 1 + len(LOG_COLUMNS) * self.log_capacity

    @property
    def state(self) -> int:
        """The first cell of the state in a request."""
        return 2 + len(INPUT_COLUMNS) + self.message_width

    @property
    def request_width(self) -> int:
        """Number of cells of a request."""
        return self.state + self.state_width

    @property
    def sends_width(self) -> int:
        """Number of cells of an answer's sends: their count, then each receiver and message."""
        return 1 + self.send_capacity * (1 + self.message_width)

    @property
    def answer_width(self) -> int:
        """Number of cells of an answer: status, state, sends."""
        return 1 + self.state_width + self.sends_width

    def text(self) -> str:
        """Write the layout for the driver."""
        lines = [
            f"members {self.member_count}",
            f"scale {SCALE}",
            f"log-capacity {self.log_capacity}",
            f"send-capacity {self.send_capacity}",
            " ".join(("state", *STATE_COLUMNS)),
            " ".join(("record", *MEMBER_COLUMNS)),
            " ".join(("input", *INPUT_COLUMNS)),
            " ".join(("message", *MESSAGE_FIELDS)),
            " ".join(("actions", *ACTION_NAMES)),
        ]
        for message in MESSAGE_TYPES:
            names = [f"{wire_name(name)} {name}" for name in message.__struct_fields__]
            lines.append(" ".join(("type", message.__name__, *names)))
        fields = FIELDS_FILE.read_text(encoding="utf-8").splitlines()
        lines += [f"field {line}" for line in fields if line.strip() and line[0] != "#"]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Answers:
    """The results of some requests, in their order.

    Attributes
    ----------
    cells : (n, answer_width) array
        The answers.
    notes
        The driver's notes by row, such as an exception of Java.
    """

    cells: Cells
    notes: dict[int, str]


@contextlib.contextmanager
def started(driver: Driver, layout: StreamLayout) -> Iterator[Callable[[Cells], Answers]]:
    """Start the driver's process; give a function that sends it requests and gives the answers.

    Raises
    ------
    DriverError
        If the process cannot start or ends, or the release lacks a member that the driver uses.
    """
    base = _FAST_FOLDER if _FAST_FOLDER.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="canvass-drive-", dir=base) as folder:
        place = Path(folder)
        (place / "layout").write_text(layout.text(), encoding="utf-8")
        (place / "cluster").mkdir()
        command = [
            str(driver.java), HEAP, "-XX:+UseSerialGC",
            *(word for name in _OPENED for word in ("--add-opens", f"{name}=ALL-UNNAMED")),
            "-cp", driver.class_path.after(driver.classes), "io.aeron.cluster.StepDriver",
            str(place / "layout"), str(place / "cluster"),
        ]  # fmt: skip
        with (place / "errors").open("w+b") as errors:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=clean_environment(),
                cwd=folder,
            )
            try:
                yield lambda batch: _ask(process, batch, layout.answer_width, errors)
            finally:
                process.kill()
                process.communicate()


def _ask(process: subprocess.Popen[bytes], batch: Cells, width: int, errors: IO[bytes]) -> Answers:
    assert process.stdin is not None
    # The driver reads a whole batch before it answers.
    with contextlib.suppress(OSError):  # The process has ended: `_read` gives the cause.
        process.stdin.write(len(batch).to_bytes(4, "little"))
        process.stdin.write(np.ascontiguousarray(batch, dtype="<i4").tobytes())
        process.stdin.flush()
    content = _read(process, 4 * len(batch) * width, errors)
    length = int.from_bytes(_read(process, 4, errors), "little")
    lines = _read(process, length, errors).decode().splitlines()
    notes = (line.split("\t", 1) for line in lines)
    cells = np.frombuffer(content, dtype="<i4").reshape(len(batch), width)
    return Answers(cells, {int(row): note for row, note in notes})


def _read(process: subprocess.Popen[bytes], count: int, errors: IO[bytes]) -> bytes:
    assert process.stdout is not None
    content = process.stdout.read(count)
    if len(content) < count:
        code = process.wait()
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
        shown = [line for line in lines if not line.startswith(("WARNING", "\tat "))]
        message = " / ".join(shown[:6]) or "without a message"
        raise DriverError(f"the driver ended with {code}: {message}")
    return content


def state_cells(
    layout: StreamLayout,
    state: NDArray[Any],
    members: NDArray[Any],
    log_offsets: NDArray[Any],
    log: NDArray[Any],
) -> Cells:
    """Lay out states as rows: single fields, member records, recording log."""
    width = layout.log - layout.records
    logs = list_cells(log_offsets, log, layout.log_capacity)
    return np.concatenate([state, members.reshape(-1, width), logs], axis=1, dtype=np.int32)


def list_cells(offsets: NDArray[Any], entries: NDArray[Any], capacity: int) -> Cells:
    """Lay out lists of entries as rows: the number of entries, then each; -1 after the last."""
    counts = np.diff(offsets)
    cells = np.full((len(counts), capacity, entries.shape[1]), -1, dtype=np.int32)
    cells[np.arange(capacity) < counts[:, None]] = entries
    return np.concatenate([counts[:, None], cells.reshape(len(counts), -1)], axis=1, dtype=np.int32)


def without_implied_terms(layout: StreamLayout, rows: Cells) -> Cells:
    """Remove implied terms: empty terms whose next entry begins at the same position."""
    out = rows.copy()
    width = len(LOG_COLUMNS)
    start = layout.log + 1
    for row in np.flatnonzero(rows[:, layout.log] > 1).tolist():
        entries = rows[row, start : start + width * rows[row, layout.log]].reshape(-1, width)
        implied = [
            k + 1 < len(entries) and entries[k, 1] == entries[k, 2] == entries[k + 1, 1]
            for k in range(len(entries))
        ]
        kept: Sequence[Any] = [
            entry for entry, drop in zip(entries, implied, strict=True) if not drop
        ]
        out[row, layout.log] = len(kept)
        out[row, start:] = -1
        out[row, start : start + width * len(kept)] = np.concatenate(kept)
    return out
