"""Recording of runs: the port for a consensus module, and the recorder of a run folder.

A step is recorded after it is computed and before any of its effects leaves the member. So each
received message is in the trace of its sender, even if the sender's process dies. A message carries
the number of its id; the receiver knows the sender.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol, Self

from canvass.cluster.duty_cycle import StepRecorder
from canvass.cluster.member import NO_INPUT, Input, Member
from canvass.cluster.messages import NULL_VALUE, Message
from canvass.traces.actions import Action
from canvass.traces.ndjson import EventReader, checked_line, decode_run, open_stream
from canvass.traces.schema import (
    MAX_LINE_BYTES,
    Event,
    LogChecksum,
    Run,
    Send,
    encode,
    to_trace_input,
)
from canvass.traces.streams import StreamFile, read_whole

_BATCH: Final = 256
"""The most events in memory, if steps are not flushed one by one."""


class Recorder(StepRecorder, Protocol):
    """The place where one member records its steps: a `StepRecorder` that can be closed."""

    def close(self) -> None:
        """End the recording."""
        ...


class StreamRecorder:
    """Records the steps of one member in its stream.

    Parameters
    ----------
    path
        The stream's file. If it exists, it must be plain, and the recording continues after its
        last step. An incomplete last line of a process that died is removed first: the effects of
        its step never left the member.
    member_id
        The member.
    flush
        Whether to write each step to the operating system at once, so that it survives the process.
    numbers
        The numbers of the next step and of the next message. By default the whole stream is read to
        find them.

    Raises
    ------
    TraceError
        If the existing file is not a stream of this member.
    ValueError
        If the existing file is compressed. From `record`: if a step does not fit the format, or the
        recorder is closed.
    OSError
        If the file system refuses to open or to write the file.
    """

    def __init__(
        self,
        path: Path,
        member_id: int,
        *,
        flush: bool = True,
        numbers: tuple[int, int] | None = None,
    ) -> None:
        self._member_id = member_id
        self._flush = flush
        self._pending: list[bytes] = []
        self._closed = False
        self._step = self._number = 0
        exists = path.exists()
        if exists:
            if path.suffix in (".gz", ".zst"):
                raise ValueError(f"{path} is compressed; a recording cannot be continued in it")
            if numbers is None:
                self._resume(path)
            else:
                self._step, self._number = numbers
                _mend(path, cut=True)
        self._file = open_stream(path, "ab" if exists else "xb")

    def _resume(self, path: Path) -> None:
        with StreamFile(path) as source:
            reader = EventReader(source, str(path), self._member_id)
            for event in reader:
                self._step = event.step + 1
                if event.sends:
                    self._number = int(event.sends[-1].id.split(":")[1]) + 1
        _mend(path, cut=reader.is_truncated)

    def record(
        self,
        time_ns: int,
        action: str,
        state: Member,
        *,
        inputs: Input = NO_INPUT,
        sender: int = NULL_VALUE,
        number: int = NULL_VALUE,
        sends: Sequence[tuple[int, Message]] = (),
        log_checksums: Sequence[tuple[int, int]] = (),
    ) -> int:
        """Record one step; see `StepRecorder.record`. A step that is refused leaves no trace.

        Raises
        ------
        ValueError
            If the step does not fit the format, or the recorder is closed.
        """
        step = f"member {self._member_id}, step {self._step}, {action}"
        if self._closed:
            raise ValueError(f"{step}: the recorder is closed; close it after the last step")
        first = self._number
        try:
            event = Event(
                step=self._step,
                time_ns=time_ns,
                action=Action(action),
                input=to_trace_input(inputs, sender, "" if number < 0 else f"{sender}:{number}"),
                sends=tuple(
                    Send(receiver, f"{self._member_id}:{first + place}", message)
                    for place, (receiver, message) in enumerate(sends)
                ),
                state=state,
                log_checksums=tuple(
                    LogChecksum(position, f"{checksum:016x}")
                    for position, checksum in log_checksums
                ),
            )
            line = checked_line(event, self._member_id)
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"{step}: {error}") from error
        self._step += 1
        self._number += len(sends)
        self._pending.append(line)
        if self._flush or len(self._pending) >= _BATCH:
            self.flush()
        return first

    def flush(self) -> None:
        """Write all recorded steps to the operating system."""
        pending, self._pending = self._pending, []
        if pending:
            self._file.write(b"".join(pending))
        self._file.flush()

    def close(self) -> None:
        """Write the steps in memory and finish the file."""
        self._closed = True
        try:
            self.flush()
        finally:
            self._file.close()


def _mend(path: Path, *, cut: bool) -> None:
    """Make a stream end with a line break: remove an incomplete line, or finish a complete one."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - MAX_LINE_BYTES - 1)
        file.seek(start)
        tail = file.read()
        if cut:
            file.truncate(start + tail.rfind(b"\n") + 1)
        elif tail and not tail.endswith(b"\n"):
            file.write(b"\n")


class RunRecorder:
    """Records a run in a folder: ``run.json``, and a stream for each member that `member` names.

    Several processes may record members of the same run, each with its own recorder of the folder.
    The first one writes ``run.json``; the others must agree with it.

    Parameters
    ----------
    folder
        The run folder; it is made if it does not exist.
    run
        The contents of ``run.json``.
    suffix
        ``""``, ``".gz"`` or ``".zst"``.
    flush
        Whether to write each step to the operating system at once. If not, steps wait in memory;
        that is for runs whose members are all in this process.

    Raises
    ------
    TraceError
        If the folder's ``run.json`` cannot be read.
    ValueError
        If the folder's ``run.json`` differs from ``run``.
    """

    def __init__(self, folder: Path, run: Run, *, suffix: str = "", flush: bool = True) -> None:
        self.folder = folder
        self.run = run
        self._suffix, self._flush, self._closed = suffix, flush, False
        self._members: dict[int, StreamRecorder] = {}
        folder.mkdir(parents=True, exist_ok=True)
        header = folder / "run.json"
        data = encode(run) + b"\n"
        decode_run(data, "run.json")
        # It is written to another file and linked, so other processes see all of it or nothing.
        aside = folder / f".run.json.{os.getpid()}"
        try:
            aside.write_bytes(data)
            os.link(aside, header)
        except FileExistsError:
            found = read_whole(header, str(header))
            if decode_run(found, str(header)) != run:
                raise ValueError(f"{header} is of another run") from None
        finally:
            aside.unlink(missing_ok=True)

    def member(self, member_id: int, numbers: tuple[int, int] | None = None) -> StreamRecorder:
        """Return the recorder of a member, the same one at each call.

        ``numbers`` is a parameter of `StreamRecorder`.

        Raises
        ------
        ValueError
            If the run has no such member, or the recorder is closed and has not recorded it.
        """
        if not 0 <= member_id < self.run.member_count:
            raise ValueError(f"the run has no member {member_id}")
        if member_id not in self._members:
            if self._closed:
                raise ValueError(f"member {member_id}: the recorder of {self.folder} is closed")
            path = self.folder / f"member-{member_id}.ndjson{self._suffix}"
            self._members[member_id] = StreamRecorder(
                path, member_id, flush=self._flush, numbers=numbers
            )
        return self._members[member_id]

    def close(self) -> None:
        """Close the streams of all members."""
        self._closed = True
        for recorder in self._members.values():
            recorder.close()

    def __enter__(self) -> Self:
        """Give the recorder."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the streams of all members."""
        self.close()
