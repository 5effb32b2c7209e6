"""Run TLC as a process, and yield its events.

Every run starts here; only ``canvass doctor`` starts TLC itself, to read its version.
TLC's metadata, its unpacked standard modules and its working directory are all in the folder of the
run. So the specification's own folder may be read-only, and parallel runs of one specification are
independent.

Invariant: when a :class:`TlcRun` is closed - at its end, by leaving its ``with`` block, by the time
limit or by Ctrl-C - the whole process group of TLC has ended, and the folder of the run is removed.
If this process dies, the process group ends as well.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final, Self

from canvass.tlc.config import TlcConfig, existing_file, read_config
from canvass.tlc.errors import ConfigError, TlcError
from canvass.tlc.output import Event, UserOutput
from canvass.tlc.programs import Jar, clean_environment, find_jar, find_java
from canvass.tlc.results import OUTPUT_LINES, CheckResult, Outcome, ResultBuilder
from canvass.tlc.values import IDENTIFIER, join_values

MIN_HEAP_MIB: Final = 64
"""The smallest heap with which TLC is run."""

LIBRARIES: Final = "CANVASS_TLA_LIBRARY"
"""The environment variable that names further folders and jars of modules, such as the community
modules. Its items are separated as those of ``PATH``. A jar may contain Java code for its
operators.
"""

SHORT_RUN: Final = ("-XX:TieredStopAtLevel=1",)
"""Arguments for Java in a run of some seconds.

In such a run, Java's optimising compiler would take more processor time than it saves.
"""


@dataclass(frozen=True, kw_only=True)
class TlcOptions:
    """The options of a run, besides the specification and its configuration.

    Parameters
    ----------
    workers
        Number of search threads, from 1. TLC's ``auto`` is not offered: 2.15 rejects it.
    heap_mib
        Limit of the Java heap in MiB, from 64.
    stack_mib
        Stack of each thread in MiB; ``None`` is Java's default. Literals of some thousand elements
        need 512.
    timeout_s
        Seconds after which the run is killed; they include the start of Java. ``None`` is no limit.
    check_deadlock
        Whether a state without a successor is an error. ``CHECK_DEADLOCK`` in the configuration
        takes precedence.
    simulate
        Whether random behaviours replace the exhaustive search.
    traces
        In simulation: number of behaviours; ``None`` runs until the time limit.
    depth
        In simulation: maximum length of a behaviour; ``None`` is TLC's default, 100.
    seed
        Seed of TLC's random choices (simulation, ``RandomElement``); ``None`` lets TLC draw one.
    dump
        File for the state graph in dot, named ``*.dot``; the edge labels are the actions.
    library
        Folders that are searched for modules after the specification's own folder, and before
        what `LIBRARIES` names.
    extra_args
        Further arguments for TLC, before the specification's name. With ``-continue`` TLC's exit
        code does not show violations; the result is made from the reported ones.
    jvm_args
        Further arguments for Java.
    """

    workers: int = 1
    heap_mib: int = 1024
    stack_mib: int | None = None
    timeout_s: float | None = None
    check_deadlock: bool = True
    simulate: bool = False
    traces: int | None = None
    depth: int | None = None
    seed: int | None = None
    dump: str | os.PathLike[str] | None = None
    library: tuple[str | os.PathLike[str], ...] = ()
    extra_args: tuple[str, ...] = ()
    jvm_args: tuple[str, ...] = ()

    def tlc_args(self) -> list[str]:
        """Return TLC's arguments for the options, without the files of the run."""
        args = ["-tool", "-workers", str(self.workers)]
        if self.simulate:
            args += ["-simulate"] if self.traces is None else ["-simulate", f"num={self.traces}"]
            args += [] if self.depth is None else ["-depth", str(self.depth)]
        else:
            # With one fingerprint polynomial the state ids in dumps are equal in every run. No
            # checkpoint is needed, because the metadir is removed after the run.
            args += ["-fp", "0", "-checkpoint", "0"]
        if self.seed is not None:
            args += ["-seed", str(self.seed)]
        if self.dump is not None:
            args += ["-dump", "dot,actionlabels", str(Path(self.dump).absolute())]
        return args + list(self.extra_args)

    def java_args(self) -> list[str]:
        """Return Java's arguments for the options."""
        stack = [] if self.stack_mib is None else [f"-Xss{self.stack_mib}m"]
        return [
            "-XX:+UseParallelGC",
            "-XX:-UsePerfData",
            # By default Java writes its own warnings to stdout, between the lines of TLC.
            "-XX:+DisplayVMOutputToStderr",
            "-Xlog:disable",
            "-Xlog:all=warning:stderr",
            f"-Xmx{self.heap_mib}m",
            *stack,
            "-Dfile.encoding=UTF-8",
            "-Dstdout.encoding=UTF-8",
            "-Dstderr.encoding=UTF-8",
            "-Duser.language=en",
            "-Duser.country=US",
            *self.jvm_args,
        ]


def _filled_folder(spec: Path, config: TlcConfig) -> Path:
    """Make the folder of a run, in which TLC reads and writes."""
    root = None
    try:
        root = Path(tempfile.mkdtemp(prefix="canvass-tlc-"))
        for name in ("work", "meta", "tmp"):
            (root / name).mkdir()
        shutil.copyfile(spec, root / "work" / spec.name)
        (root / "work" / "model.cfg").write_text(config.text(), encoding="utf-8")
    except OSError as error:
        if root is not None:
            shutil.rmtree(root, ignore_errors=True)
        raise TlcError(f"the run's folder cannot be made: {error}") from None
    return root


def _refuse_unsupported(config: TlcConfig, spec: Path, jar: Jar) -> None:
    """Refuse keywords that the jar's TLC does not know."""
    newer = {"ALIAS": config.alias, "POSTCONDITION": config.postcondition}
    for keyword, given in newer.items():
        if given is not None and jar.known == "2.15":
            raise ConfigError(
                f"{spec.name}: the configuration has {keyword} {given}, which needs a newer TLC"
                " than 2.15: name its tla2tools.jar with CANVASS_TLA2TOOLS"
            )


def _unsplit(folders: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Give the folders of modules; refuse a folder whose path TLC would split."""
    found = [str(Path(one).absolute()) for one in folders]
    if split := [one for one in found if os.pathsep in one]:
        raise TlcError(f"TLC finds no module in a folder with {os.pathsep!r}: {split[0]!a}")
    return found


def _named_libraries() -> list[str]:
    """The folders and jars of `LIBRARIES`: TLC also finds modules on the class path.

    Raises
    ------
    TlcError
        If one of them does not exist, or is a file but not a jar.
    """
    found = [Path(one) for one in os.environ.get(LIBRARIES, "").split(os.pathsep) if one]
    for one in found:
        if not (one.is_dir() or zipfile.is_zipfile(one)):
            raise TlcError(f"{LIBRARIES}: {str(one)!a} is neither a folder nor a jar")
    return [str(one.absolute()) for one in found]


_CHILD_PROCESS = Path(__file__).with_name("child_process.py")


class TlcRun(Iterator[Event]):
    """A run of TLC: a context manager, an iterator of events, and then the result.

    TLC starts when the first event is read. ``result`` is ready after the last event, or after
    :meth:`wait`. If the ``with`` block is left earlier, TLC is killed and the outcome is
    ``INTERRUPTED``. The output of the specification is not kept, so a run may print without bound.

    Parameters
    ----------
    spec_file
        The root module, ``Name.tla``.
    config
        The configuration file or its contents; ``None`` is ``Name.cfg`` beside the module.
    options
        The options of the run; ``None`` is ``TlcOptions()``.

    Attributes
    ----------
    argv : tuple of str
        The command.
    foreign_lines : deque of str
        The last printed lines that are not part of a value.

    Raises
    ------
    ConfigError
        When the configuration cannot be read.
    TlcError
        When there is no usable jar or Java, a file does not exist or cannot be given to TLC, or the
        run's folder cannot be made.
    """

    def __init__(
        self,
        spec_file: str | os.PathLike[str],
        config: str | os.PathLike[str] | TlcConfig | None = None,
        options: TlcOptions | None = None,
    ) -> None:
        options = options or TlcOptions()
        jar, java = find_jar(), find_java()
        spec = existing_file(spec_file, "specification")
        if spec.suffix != ".tla" or not IDENTIFIER.match(spec.stem):
            raise TlcError(f"a specification is named Name.tla, not {spec.name!a}")
        if not isinstance(config, TlcConfig):
            config = read_config(spec.with_suffix(".cfg") if config is None else config)
        _refuse_unsupported(config, spec, jar)
        class_path = os.pathsep.join([str(jar.path), *_named_libraries()])
        library = os.pathsep.join([str(spec.parent), *_unsplit(options.library)])
        own = config.check_deadlock
        check_deadlock = options.check_deadlock if own is None else own
        self._root = root = _filled_folder(spec, config)
        self.argv = (
            str(java.path),
            *options.java_args(),
            f"-Djava.io.tmpdir={root / 'tmp'}",
            f"-Duser.home={root / 'tmp'}",
            f"-DTLA-Library={library}",
            "-cp",
            class_path,
            "tlc2.TLC",
            *options.tlc_args(),
            *([] if check_deadlock else ["-deadlock"]),
            "-metadir",
            str(root / "meta"),
            "-config",
            "model.cfg",
            f"{spec.stem}.tla",
        )
        self._timeout_s = options.timeout_s
        self._result: CheckResult | None = None
        self.foreign_lines: deque[str] = deque(maxlen=OUTPUT_LINES)
        self._builder = ResultBuilder(config.properties)
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
        TlcError
            If the run has not ended.
        """
        if self._result is None:
            raise TlcError("the run is not finished: iterate to its end, or call wait()")
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
        timer = threading.Timer(self._timeout_s or 0, _expire, (process, expired))
        timer.daemon = True
        if self._timeout_s is not None:
            timer.start()
        ended = False
        try:
            for raw in process.stdout:
                line = raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
                yield from self._builder.feed(line)
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
                cwd=self._root / "work",
                env=clean_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise TlcError(f"TLC cannot be started: {error}") from None

    def _settle(self, stopped: Outcome | None, exit_code: int | None, seconds: float) -> None:
        """Set the result, and remove the folder of the run."""
        shutil.rmtree(self._root, ignore_errors=True)
        self._result = self._builder.result(
            exit_code=exit_code,
            stopped=stopped,
            seconds=seconds,
            stderr=self._stderr,
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
        see `TlcOptions`.

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
    with TlcRun(spec, config, given) as running:
        for event in running:
            if on_event is not None:
                on_event(event)
        return running.result
