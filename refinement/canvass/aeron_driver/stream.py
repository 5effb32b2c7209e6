"""The stream between Python and Java: states, inputs and outcomes as rows of integers.

`StepDriver.java` is the other end. A request has an action, a mask of departures of Aeron's hidden
state (`canvass.aeron_driver.drivable`), an input and a state. An answer has a status, the state
after the step and the sends. The driver first reads the layout file. It names every cell, so the
order of fields is defined in one place only.
"""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from canvass.aeron_driver import DriverError
from canvass.aeron_driver.compilation import FIELDS_FILE, Driver
from canvass.cluster.messages import MESSAGE_TYPES, wire_name
from canvass.tlc.programs import clean_environment
from canvass.traces.layout import (
    ACTION_NAMES,
    INPUT_COLUMNS,
    LOG_COLUMNS,
    MEMBER_COLUMNS,
    MESSAGE_FIELDS,
    STATE_COLUMNS,
)

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


def ask_all(driver: Driver, layout: StreamLayout, requests: Iterator[Cells]) -> Iterator[Answers]:
    """Start the driver's process, send it batches of requests, and give the answers batch by batch.

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
            "-cp", driver.search_path, "io.aeron.cluster.StepDriver",
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
                for batch in requests:
                    yield _ask(process, batch, layout.answer_width, errors)
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
    count = len(state)
    rows = np.full((count, layout.state_width), -1, dtype=np.int32)
    rows[:, : layout.records] = state
    rows[:, layout.records : layout.log] = members.reshape(count, -1)
    lengths = np.diff(log_offsets)
    rows[:, layout.log] = lengths
    width = len(LOG_COLUMNS)
    for entry in range(int(lengths.max(initial=0))):
        has = lengths > entry
        start = layout.log + 1 + width * entry
        rows[has, start : start + width] = log[log_offsets[:-1][has] + entry]
    return rows


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
