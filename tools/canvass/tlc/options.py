"""How a run of TLC is configured, checked when it is written down. No process is started here."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from canvass.tlc.errors import OptionError
from canvass.tlc.jar import Jar
from canvass.tlc.java import Java


@dataclass(frozen=True, kw_only=True)
class TlcOptions:
    """Everything about a run but the specification and its configuration.

    Parameters
    ----------
    workers
        Threads that search, from 1. TLC's ``auto`` is not offered: 2.15 rejects it.
    heap_mib
        Limit of the Java heap in MiB, from 64.
    stack_mib
        Stack of each thread in MiB; ``None`` leaves it to Java. Literals of some thousand elements
        need 512.
    timeout_s
        Seconds after which the run is killed, start of Java included; ``None`` is no limit.
    check_deadlock
        Whether a state without successor is an error. A configuration that says otherwise
        (``CHECK_DEADLOCK FALSE``) wins.
    simulate
        Random behaviours instead of an exhaustive search.
    traces
        In simulation: how many behaviours; ``None`` goes on until the time limit.
    depth
        In simulation: length at which a behaviour is cut off; ``None`` is TLC's 100.
    seed
        Seed of TLC's random choices (simulation, ``RandomElement``); ``None`` lets TLC draw one.
    coverage
        Ask for coverage once a minute and at the end.
    dump
        File for the state graph in dot, named ``*.dot``; actions are its edge labels.
    library
        More folders in which modules are looked for, after the specification's own.
    extra_args
        Further arguments for TLC, before the specification's name. After ``-continue`` the exit
        code of TLC is no verdict; the result looks at the violations.
    jvm_args
        Further arguments for Java.
    jar
        The jar or its path; ``None`` finds it, see :func:`~canvass.tlc.jar.find_jar`.
    java
        Java or its path; ``None`` finds it, see :func:`~canvass.tlc.java.find_java`.

    Raises
    ------
    OptionError
        When a number is out of range, a folder does not exist, or options contradict each other.
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
    coverage: bool = False
    dump: str | os.PathLike[str] | None = None
    library: tuple[str | os.PathLike[str], ...] = ()
    extra_args: tuple[str, ...] = ()
    jvm_args: tuple[str, ...] = ()
    jar: Jar | str | os.PathLike[str] | None = field(default=None)
    java: Java | str | os.PathLike[str] | None = field(default=None)

    def __post_init__(self) -> None:
        _at_least(1, workers=self.workers, traces=self.traces, depth=self.depth)
        _at_least(64, heap_mib=self.heap_mib)
        _at_least(1, stack_mib=self.stack_mib)
        if self.timeout_s is not None and not self.timeout_s > 0:
            raise OptionError(f"timeout_s must be more than 0, not {self.timeout_s}")
        if not self.simulate and (self.traces is not None or self.depth is not None):
            raise OptionError("traces and depth are for simulation: say simulate=True")
        if self.simulate and self.dump is not None:
            raise OptionError(
                "a simulation has no state graph: dump and simulate exclude each other"
            )
        if self.dump is not None and Path(self.dump).suffix != ".dot":
            raise OptionError(f"dump must be named *.dot, not {os.fspath(self.dump)!a}")
        for folder in self.library:
            if not Path(folder).is_dir():
                raise OptionError(f"library folder does not exist: {os.fspath(folder)!a}")

    def tlc_args(self) -> list[str]:
        """Return the arguments for TLC that follow from the options, without files of the run."""
        args = ["-tool", "-workers", str(self.workers)]
        if self.simulate:
            args += ["-simulate"] if self.traces is None else ["-simulate", f"num={self.traces}"]
            args += [] if self.depth is None else ["-depth", str(self.depth)]
        else:
            # One fingerprint polynomial, so that state ids in dumps are the same in every run. The
            # metadir is removed after the run, so a checkpoint would serve nobody.
            args += ["-fp", "0", "-checkpoint", "0"]
        if self.seed is not None:
            args += ["-seed", str(self.seed)]
        if self.coverage:
            args += ["-coverage", "1"]
        if self.dump is not None:
            args += ["-dump", "dot,actionlabels", str(Path(self.dump).absolute())]
        return args + list(self.extra_args)

    def java_args(self) -> list[str]:
        """Return the arguments for Java that follow from the options."""
        stack = [] if self.stack_mib is None else [f"-Xss{self.stack_mib}m"]
        return [
            "-XX:+UseParallelGC",
            "-XX:-UsePerfData",
            # By default Java writes its own warnings to stdout, among the lines of TLC.
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


def _at_least(least: int, **numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and (type(number) is not int or number < least):
            raise OptionError(f"{name} must be a whole number from {least}, not {number!r}")
