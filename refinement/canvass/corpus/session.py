"""Spark sessions: a local one that is quiet and listens to nobody, or an existing one.

Here are the settings, each with its reason. What is run on a session is elsewhere.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from canvass.tlc import JavaError, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RAISED: Final = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Fault): ")

DEFAULT_MASTER: Final = "local[2]"

LOCAL_SETTINGS: Final = {
    # Nothing may be reached from another machine.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # The driver holds names and counts, never events.
    "spark.driver.memory": "1g",
    # The JVM lives for seconds and moves numbers of tasks: to optimise its code well costs more
    # than it brings, of cores on which the workers could check.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1",
}

QUIET: Final = Path(__file__).with_name("log4j2.properties")
"""How the driver logs when it is started here, unless the user has a configuration of Spark."""

LAUNCH_SETTINGS: Final = {"spark.ui.showConsoleProgress": "false"}
"""What a driver is started with; the server of Spark Connect runs already and warns of them."""

SETTINGS: Final = {
    # Names of rows' columns are looked up as they are written.
    "spark.sql.caseSensitive": "true",
    # Small tables; 200 partitions of nothing would cost more than the work.
    "spark.sql.shuffle.partitions": "8",
}


class SparkUnavailable(Exception):
    """There is no Spark to run on; the message says what to install."""


class JobFailed(Exception):
    """A job on Spark came to no end; the message is one line."""


@contextmanager
def one_line_failures() -> Iterator[None]:
    """Turn Spark's failures into `JobFailed`, with what went wrong in a worker as the message."""
    try:
        yield
    except Exception as error:
        # Recognised by the module's name: Spark Connect comes without py4j.
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise JobFailed(failure_line(str(error))) from error


def failure_line(text: str) -> str:
    """Find the line of a failure's text with what went wrong.

    A worker's traceback ends with the exception; after it come the places in Spark itself. What
    canvass raised says most.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    own = [line for line in raised if line.startswith("canvass.")]
    return (own or raised or lines or ["Spark gives no reason"])[-1]


_MASTER: Final = re.compile(r"local(-cluster)?(\[.+\])?|yarn|(spark|sc|k8s)://.+")


def _builder() -> SparkSession.Builder:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        reason = f"{error}: install canvass with the extra `spark`"
        raise SparkUnavailable(reason) from None
    builder: SparkSession.Builder = SparkSession.builder
    return builder


@contextmanager
def open_session(master: str | None = None) -> Iterator[SparkSession]:
    """Open a session, and stop it at the end if it was not there before.

    Parameters
    ----------
    master
        ``local[N]``, ``spark://...``, ``yarn``, ``k8s://...``, or ``sc://...`` for Spark Connect.
        Without one, the master that ``spark-submit`` was given, else `DEFAULT_MASTER`.

    Raises
    ------
    SparkUnavailable
        If pyspark or Java is missing, or the master cannot be reached.
    """
    builder = _builder().appName("canvass")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    chosen = master if master is not None or submitted else DEFAULT_MASTER
    if chosen is not None and not _MASTER.fullmatch(chosen):
        raise SparkUnavailable(
            f"--master {chosen!r} is none of local[N], spark://HOST:PORT, sc://HOST, yarn and"
            " k8s://URL"
        )
    if chosen is not None and not chosen.startswith("sc://"):
        _need_java()
    with tempfile.TemporaryDirectory(prefix="canvass-spark-") as scratch:
        connect = chosen is not None and chosen.startswith("sc://")
        for name, value in (SETTINGS if connect else LAUNCH_SETTINGS | SETTINGS).items():
            builder = builder.config(name, value)
        if chosen is not None and not connect and "SPARK_CONF_DIR" not in os.environ:
            builder = builder.config(
                "spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={QUIET.as_uri()}"
            )
        if chosen is not None and connect:
            builder = builder.remote(chosen)
        elif chosen is not None:
            builder = builder.master(chosen)
        if chosen is not None and chosen.startswith("local"):
            # Workers must be the Python that has canvass, whatever `python3` is on the path.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            for name, value in LOCAL_SETTINGS.items():
                builder = builder.config(name, value)
            builder = builder.config("spark.local.dir", scratch)
            builder = builder.config("spark.sql.warehouse.dir", scratch)
        before = _active()
        held = HeldInterrupt()
        try:
            with held:
                session = builder.getOrCreate()
        except (ImportError, SystemExit) as error:
            # A program without a file pyspark takes for a doctest, which it ends without an error.
            needed = "canvass[connect]" if connect else "canvass[spark]"
            reason = f"install what is missing with pip install '{needed}': {_first_line(error)}"
            raise SparkUnavailable(reason) from None
        except Exception as error:
            where = chosen or "the master of spark-submit"
            raise SparkUnavailable(f"no session on {where}: {_first_line(error)}") from error
        try:
            with _without_interrupt_reports():
                held.release()
                yield session
        finally:
            if before is None:
                _stop(session)


def _need_java() -> None:
    """Ask for Java before Spark starts: Spark itself says only that its gateway has ended."""
    try:
        find_java()
    except JavaError as error:
        raise SparkUnavailable(str(error)) from None


class HeldInterrupt:
    """Holds the first Ctrl-C back within a ``with`` block; the second one interrupts at once.

    A driver that is interrupted while its JVM starts leaves the JVM behind, which then prints what
    it misses.
    """

    def __init__(self) -> None:
        self._held = False
        self._before: Any = None
        self._owns = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self._owns:
            self._before = signal.signal(signal.SIGINT, self._hold)

    def __exit__(self, *_: object) -> None:
        # Spark puts a handler of its own in place, which speaks to the JVM amid another call.
        if self._owns:
            signal.signal(signal.SIGINT, self._before)

    def _hold(self, *_: object) -> None:
        if self._held:
            raise KeyboardInterrupt
        self._held = True

    def release(self) -> None:
        """Raise the interrupt that was held back, if there was one.

        Raises
        ------
        KeyboardInterrupt
            If Ctrl-C was pressed within the block.
        """
        if self._held:
            raise KeyboardInterrupt


@contextmanager
def _without_interrupt_reports() -> Iterator[None]:
    """Keep py4j from logging an interrupt with a traceback."""
    root = logging.getLogger()
    root.addFilter(_is_no_interrupt)
    try:
        yield
    finally:
        root.removeFilter(_is_no_interrupt)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    raised = record.exc_info[0] if record.exc_info else None
    return raised is None or not issubclass(raised, KeyboardInterrupt)


def _stop(session: SparkSession) -> None:
    """Stop a session; its JVM may be gone: a signal to a group of processes ends both."""
    try:
        session.stop()
    except Exception as error:
        if not isinstance(error, OSError) and type(error).__module__.partition(".")[0] != "py4j":
            raise


def _active() -> SparkSession | None:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _first_line(error: BaseException) -> str:
    """The reason of an error; of an error in Java it is in the second line, after the call."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling "):
        return lines[1].removeprefix(":").strip()
    return lines[0]
