"""Spark sessions: a local session that prints little and listens to nobody, or one elsewhere.

The settings of a session are here, each with its reason. `canvass.corpus.engine` runs jobs on a
session.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from canvass.tlc import JavaError, find_java
from canvass.version import install_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER: Final = "local[2]"
CONNECT_S: Final = 10
"""Seconds in which the address of a master must accept a connection, and Spark Connect answer."""
_CONNECT_PORT: Final = 15002
"""The port of Spark Connect, if the URL names none."""
_MASTER: Final = re.compile(r"local(-cluster)?(\[.+\])?|yarn|(spark|sc|k8s)://.+")

LOCAL_SETTINGS: Final = {
    # Nothing may be reached from another machine.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # The driver holds names and counts, never events.
    "spark.driver.memory": "1g",
    # The JVM lives for seconds and only hands out tasks: the optimising compiler would take cores
    # from the workers and save nothing.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1",
}

QUIET: Final = Path(__file__).with_name("log4j2.properties")
"""Logging of a driver that is started here, unless the user has a configuration of Spark."""

LAUNCH_SETTINGS: Final = {"spark.ui.showConsoleProgress": "false"}
"""Settings for the start of a driver. A server of Spark Connect runs already and refuses them."""

SETTINGS: Final = {
    # Names of columns keep their case.
    "spark.sql.caseSensitive": "true",
    # Tables are small: Spark's 200 partitions would take longer than the work.
    "spark.sql.shuffle.partitions": "8",
    # Times with a zone, as all readers have them; INT96 has none.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
}


VARIABLES: Final = (
    "JAVA_HOME",
    "JAVA_TOOL_OPTIONS",
    "PYSPARK_DRIVER_PYTHON",
    "PYSPARK_PYTHON",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
    "SPARK_LOCAL_IP",
    "SPARK_REMOTE",
    "SPARK_SUBMIT_OPTS",
)
"""Variables of the environment that change how Spark starts; an error names the ones in use."""


class SparkUnavailable(Exception):
    """No session can be opened; the message is one line with the master or what to install."""


class JobFailed(Exception):
    """A job on Spark has failed; the message is one line."""


_RAISED: Final = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Fault): ")


@contextmanager
def one_line_failures() -> Iterator[None]:
    """Turn Spark's exceptions into `JobFailed`, with the reason that `failure_line` finds."""
    try:
        yield
    except Exception as error:
        # Recognised by the module's name: Spark Connect comes without py4j.
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise JobFailed(failure_line(str(error))) from error


def failure_line(text: str) -> str:
    """Return the line with the reason of a failure, whose text may have tracebacks.

    The last exception of canvass is the best reason, else the last exception, else the last line.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if _RAISED.match(line)]
    own = [line for line in raised if line.startswith("canvass.")]
    return (own or raised or lines or ["Spark gives no reason"])[-1]


def _builder() -> SparkSession.Builder:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        reason = f"{error}: {install_command('spark')}"
        raise SparkUnavailable(reason) from None
    builder: SparkSession.Builder = SparkSession.builder
    return builder


@contextmanager
def open_session(master: str | None = None) -> Iterator[SparkSession]:
    """Open a session, and stop it at the end unless it was active before.

    Parameters
    ----------
    master
        ``local[N]``, ``spark://...``, ``yarn``, ``k8s://...``, or ``sc://...`` for Spark Connect.
        Without one, the master that ``spark-submit`` was given, else `DEFAULT_MASTER`.

    Raises
    ------
    SparkUnavailable
        If pyspark or Java is missing, or the master cannot be reached: within `CONNECT_S` if
        nobody accepts connections at its address.
    """
    builder = _builder().appName("canvass")
    given = ", ".join(name for name in VARIABLES if name in os.environ)
    given = given and f" (the environment sets {given})"
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    chosen = master if master is not None or submitted else DEFAULT_MASTER
    connect = chosen is not None and chosen.startswith("sc://")
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell").split()
    if not connect and not submitted and arguments[-1:] != ["pyspark-shell"]:
        raise SparkUnavailable("PYSPARK_SUBMIT_ARGS does not end with the word pyspark-shell")
    if chosen is not None:
        _check_master(chosen)
    with tempfile.TemporaryDirectory(prefix="canvass-spark-") as scratch:
        for name, value in (SETTINGS if connect else LAUNCH_SETTINGS | SETTINGS).items():
            builder = builder.config(name, value)
        if chosen is not None and not connect and "SPARK_CONF_DIR" not in os.environ:
            builder = builder.config(
                "spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={QUIET.as_uri()}"
            )
        if chosen is not None:
            builder = builder.remote(chosen) if connect else builder.master(chosen)
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
                if connect:
                    _await_connect_server(str(chosen))
                session = builder.getOrCreate()
        except SparkUnavailable:
            raise
        except (ImportError, SystemExit) as error:
            # In a program without a file pyspark ends the process without an error.
            needed = install_command("connect" if connect else "spark")
            reason = f"install what is missing with {needed}: {_first_line(error)}"
            raise SparkUnavailable(reason) from None
        except Exception as error:
            reason = f"{_first_line(error)}{given}"
            raise _no_session(chosen or "the master of spark-submit", reason) from error
        with _ended(session) if before is None else nullcontext(), _without_interrupt_reports():
            held.release()
            yield session


def _no_session(master: str, reason: str) -> SparkUnavailable:
    if master.startswith("spark://") and "stopped SparkContext" in reason:
        reason = "it is no standalone master, or a master of another version of Spark"
    return SparkUnavailable(f"no session on {master}: {reason}")


def _check_master(master: str) -> None:
    """Check the name of a master, its address and Java, before Spark starts.

    Spark itself tries an address without a listener for a minute (standalone) or ten (Connect).
    Without Java it says only that its gateway has ended.
    """
    if not _MASTER.fullmatch(master):
        raise SparkUnavailable(
            f"--master {master!r} is none of local[N], spark://HOST:PORT, sc://HOST, yarn and"
            " k8s://URL"
        )
    scheme, _, rest = master.partition("://")
    if scheme != "sc":
        try:
            find_java()
        except JavaError as error:
            raise SparkUnavailable(str(error)) from None
    if scheme not in ("spark", "sc"):
        return
    reasons = []
    for address in rest.split(",") if scheme == "spark" else [rest]:  # Standby masters.
        try:
            url = urlsplit(f"//{address}")
            port = url.port if scheme == "spark" else url.port or _CONNECT_PORT
            if not url.hostname or port is None:
                raise ValueError(f"{address} is no HOST:PORT")
            socket.create_connection((url.hostname, port), timeout=CONNECT_S).close()
        except (OSError, ValueError) as error:
            reasons.append(getattr(error, "strerror", None) or str(error))
        else:
            return
    raise _no_session(master, "; ".join(dict.fromkeys(reasons)))


def _await_connect_server(master: str) -> None:
    """Wait until the server of Spark Connect answers; pyspark would wait without a limit."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with DefaultChannelBuilder(master).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(CONNECT_S)
        except grpc.FutureTimeoutError:
            reason = f"it has not answered for {CONNECT_S} s: it is no server of Spark Connect"
            raise _no_session(master, reason) from None


class HeldInterrupt:
    """Holds the first Ctrl-C back within a ``with`` block; the second one interrupts at once.

    If a driver is interrupted while its JVM starts, the JVM goes on without it and prints errors.
    """

    def __init__(self) -> None:
        self._held = False
        self._before: Any = None
        self._owns = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self._owns:
            self._before = signal.signal(signal.SIGINT, self._hold)

    def __exit__(self, *_: object) -> None:
        # Replaces Spark's handler, which calls the JVM in the middle of another call. While a job
        # runs, `interrupt_cancels_jobs` has its own.
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
def interrupt_cancels_jobs(session: SparkSession) -> Iterator[None]:
    """Have Ctrl-C cancel the jobs of a classic session: whoever waits for one waits for its end.

    The job that was cancelled fails, which is the interrupt here and no failure. If interrupts are
    ignored, or if the program has its own handler, nothing changes.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    interrupted = False

    def cancel() -> None:
        with suppress(Exception):  # The session may stop at the same time.
            session.sparkContext.cancelAllJobs()

    def handle(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        # This thread may be within a call of the JVM; another one has its own connection.
        threading.Thread(target=cancel, daemon=True).start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    except Exception:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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


@contextmanager
def _ended(session: SparkSession) -> Iterator[None]:
    """Stop a session at the end of a ``with`` block."""
    try:
        yield
    except KeyboardInterrupt:
        # Cancelled tasks report their end to a Spark that has stopped. Connect has no context.
        with suppress(Exception):
            session.sparkContext.setLogLevel("OFF")
        raise
    finally:
        _stop(session)


def _stop(session: SparkSession) -> None:
    """Stop a session, whose JVM may have ended: Ctrl-C reaches both processes."""
    try:
        session.stop()
    except Exception as error:
        if not isinstance(error, OSError) and type(error).__module__.partition(".")[0] != "py4j":
            raise


def _active() -> SparkSession | None:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _first_line(error: BaseException) -> str:
    """Return the reason of an error. For an error in Java it is the second line, after the call."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling "):
        return lines[1].removeprefix(":").strip()
    return lines[0]
