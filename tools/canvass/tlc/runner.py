"""Run TLC as a process, and yield its events; only this module starts TLC.

Invariant: when a :class:`TlcRun` is closed - at its end, by leaving its ``with`` block, by the time
limit or by Ctrl-C - the whole process group of TLC has ended, and the folder of the run is removed.
If this process dies, the process group ends as well.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Self

from canvass.tlc.config import TlcConfig
from canvass.tlc.errors import RunError
from canvass.tlc.events import Event, UserOutput
from canvass.tlc.output import OutputReader
from canvass.tlc.parse import join_values
from canvass.tlc.programs import clean_environment, find_jar, find_java
from canvass.tlc.results import OUTPUT_LINES, CheckResult, Outcome, ResultBuilder
from canvass.tlc.workspace import TlcOptions, prepare

_CHILD_PROCESS = Path(__file__).with_name("child_process.py")


class TlcRun(Iterator[Event]):
    """A run of TLC: a context manager, an iterator of events, and then the result.

    ``result`` is ready after the last event, or after :meth:`wait`. If the ``with`` block is left
    earlier, TLC is killed and the outcome is ``INTERRUPTED``. The output of the specification is
    not kept, so a run may print without bound.

    Attributes
    ----------
    argv : tuple of str
        The command.
    foreign_lines : deque of str
        The last printed lines that are not part of a value.
    """

    def __init__(
        self,
        spec_file: str | os.PathLike[str],
        config: str | os.PathLike[str] | TlcConfig | None = None,
        options: TlcOptions | None = None,
    ) -> None:
        self._result: CheckResult | None = None
        self._options = options or TlcOptions()
        self._workspace = prepare(spec_file, config, self._options, find_jar(), find_java())
        self.argv = self._workspace.argv
        self.foreign_lines: deque[str] = deque(maxlen=OUTPUT_LINES)
        self._reader = OutputReader()
        self._builder = ResultBuilder(self._workspace.config.properties)
        self._stderr: deque[str] = deque(maxlen=OUTPUT_LINES)
        self._events = self._run()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    @property
    def result(self) -> CheckResult:
        """The result of the run.

        Raises
        ------
        RunError
            If the run has not ended.
        """
        if self._result is None:
            raise RunError("the run is not finished: iterate to its end, or call wait()")
        return self._result

    def printed_values(self) -> Iterator[Any]:
        """Run to the end and yield the values that the specification prints.

        Other lines, and the lines of a value that another line interrupts, are kept in
        ``foreign_lines``.
        """
        lines = (event.line for event in self if isinstance(event, UserOutput))
        return join_values(lines, self.foreign_lines.append)

    def wait(self) -> CheckResult:
        """Run to the end and return the result."""
        for _ in self:
            pass
        return self.result

    def close(self) -> None:
        """Kill TLC if it runs, and remove the folder of the run. Closing twice is allowed."""
        self._events.close()
        if self._result is None:  # It was not started.
            self._settle(Outcome.INTERRUPTED, None, 0.0)

    def _run(self) -> Generator[Event, None, None]:
        started_s = time.monotonic()
        process = self._start()
        assert process.stdout is not None
        assert process.stderr is not None
        drain = threading.Thread(target=_drain, args=(process.stderr, self._stderr), daemon=True)
        drain.start()
        # The threads refer to the process, not to the run: a run without references is closed.
        expired = threading.Event()
        timer = threading.Timer(self._options.timeout_s or 0, _expire, (process, expired))
        timer.daemon = True
        if self._options.timeout_s is not None:
            timer.start()
        ended = False
        try:
            for raw in process.stdout:
                line = raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
                for event in self._reader.feed(line):
                    self._builder.add(event)
                    yield event
            ended = True
        finally:
            if not ended:
                _kill(process)
            # Waiting without reaping: until the leader is reaped, its pid is not used again.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            timer.cancel()
            if timer.ident is not None:
                timer.join()
            _kill(process)
            process.wait()
            drain.join()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            stopped = Outcome.TIMEOUT if expired.is_set() else None
            if not ended:
                stopped = Outcome.INTERRUPTED
            self._settle(stopped, process.returncode, time.monotonic() - started_s)

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", str(_CHILD_PROCESS), *self.argv],
                cwd=self._workspace.folder,
                env=clean_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise RunError(f"TLC cannot be started: {error}") from None

    def _settle(self, stopped: Outcome | None, exit_code: int | None, seconds: float) -> None:
        """Set the result, and remove the folder of the run."""
        self._workspace.close()
        self._result = self._builder.result(
            exit_code=exit_code,
            stopped=stopped,
            seconds=seconds,
            argv=self.argv,
            stderr=self._stderr,
            truncated=self._reader.truncated,
            spoke=self._reader.messages > 0,
        )


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the processes of the group that still run."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _expire(process: subprocess.Popen[bytes], expired: threading.Event) -> None:
    expired.set()
    _kill(process)


def _drain(stream: IO[bytes], lines: deque[str]) -> None:
    for raw in stream:
        lines.append(raw.decode("utf-8", "backslashreplace").rstrip("\r\n"))


def run(
    spec_file: str | os.PathLike[str],
    config_file: str | os.PathLike[str] | TlcConfig | None = None,
    options: TlcOptions | None = None,
) -> TlcRun:
    """Prepare a run of TLC; TLC starts when the first event is read.

    Parameters
    ----------
    spec_file
        The root module, ``Name.tla``.
    config_file
        The configuration file or its contents; ``None`` is ``Name.cfg`` beside the module.
    options
        The options of the run; ``None`` is ``TlcOptions()``.

    Returns
    -------
    TlcRun
        A context manager and iterator.

    Raises
    ------
    JarError, JavaError
        When there is no usable jar or Java.
    OptionError, ConfigError
        When a file does not exist, or TLC cannot use it.
    RunError
        When the run's folder cannot be made.
    """
    return TlcRun(spec_file, config_file, options)


def check(
    spec: str | os.PathLike[str],
    config: str | os.PathLike[str] | TlcConfig | None = None,
    *,
    on_event: Callable[[Event], object] | None = None,
    options: TlcOptions | None = None,
    **changes: Any,
) -> CheckResult:
    """Check a specification with TLC and return the result.

    Parameters
    ----------
    spec
        The root module, ``Name.tla``.
    config
        The configuration file or its contents; ``None`` is ``Name.cfg`` beside the module.
    on_event
        Called with each event while TLC runs; an exception from it ends the run.
    options
        The options of the run; ``None`` is ``TlcOptions()``.
    changes
        Options that replace those in ``options``, by name, such as ``workers`` or ``timeout_s``;
        see :class:`~canvass.tlc.workspace.TlcOptions`.

    Returns
    -------
    CheckResult
        The result, also if the specification has an error or the time limit is reached.

    Raises
    ------
    TlcError
        When TLC cannot be run: no Java, no jar, no such file, an invalid option.
    KeyboardInterrupt
        On Ctrl-C, after TLC was killed.
    """
    given = replace(options or TlcOptions(), **changes)
    with run(spec, config, given) as running:
        for event in running:
            if on_event is not None:
                on_event(event)
        return running.result
