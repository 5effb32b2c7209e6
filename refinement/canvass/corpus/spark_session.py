"""When a job runs on Spark, and the session: a local one that prints little and is closed to the
network, or one elsewhere.

Small corpora are faster in one process: to open a Spark session and to start its Python workers
takes seconds. No report depends on the choice: `canvass.corpus.spark_engine` on DataFrames and
`canvass.corpus.job.ProcessEngine` on Arrow tables apply the same functions to the same rows. The
settings of a session are here, each with its reason. The command line imports this module, which
imports little.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from canvass.tlc.programs import find_java
from canvass.version import install_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from canvass.corpus.plan import Unit

# --- the choice -----------------------------------------------------------------------------------

SPARK_PAYS_FROM: Final = 9_000_000
"""Number of events from which on ``local[2]`` is faster than one process, the start of Spark
included. `docs/guide/spark.md` has the measurement.
"""


class EngineName(str, Enum):
    """The values of ``--engine``."""

    AUTO = "auto"
    """One process if that is faster, else Spark."""
    PROCESS = "process"
    SPARK = "spark"


def choose_engine(
    units: Sequence[Unit], master: str | None, wanted: EngineName
) -> tuple[EngineName, str]:
    """Choose the engine of a job.

    Parameters
    ----------
    units
        All units of the job.
    master
        The Spark master that the user named. If there is one, ``AUTO`` means Spark.
    wanted
        The engine that the user named.

    Returns
    -------
    tuple
        ``PROCESS`` or ``SPARK``, and the reason in one line; no reason if the user chose.
    """
    if wanted is not EngineName.AUTO:
        return wanted, ""
    if master is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return EngineName.SPARK, ""
    from canvass.corpus.plan import COST_PER_EVENT

    events = sum(unit.cost for unit in units) // COST_PER_EVENT
    digits = max(0, len(str(events)) - 1)
    work = f"the work of about {round(events, -digits):,} events"
    if events < SPARK_PAYS_FROM:
        reason = "which Spark takes longer to start than it saves (--engine spark uses Spark)"
        return EngineName.PROCESS, f"one process: {work}, for {reason}"
    if find_spec("pyspark") is None:
        return EngineName.PROCESS, f"one process, as pyspark is not installed: {work}"
    return EngineName.SPARK, f"Spark: {work} (--engine process does not use it)"


# --- sessions -------------------------------------------------------------------------------------

DEFAULT_MASTER: Final = "local[2]"
CONNECT_S: Final = 10
"""Seconds in which the address of a master must accept a connection."""
_CONNECT_PORT: Final = 15002
"""The port of Spark Connect, if the URL names none."""

LOCAL_SETTINGS: Final = {
    # Nothing may be reached from another machine.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # The driver holds names and counts, never events.
    "spark.driver.memory": "1g",
    # The JVM lives for seconds and only hands out tasks: the optimising compiler and threads that
    # collect garbage would take cores from the workers and save nothing.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}

QUIET: Final = Path(__file__).with_name("log4j2.properties")
"""Logging of a driver that is started here, unless the user has a configuration of Spark."""

SETTINGS: Final = {
    # Tables are small: Spark's 200 partitions would take longer than the work.
    "spark.sql.shuffle.partitions": "8",
    # Times with a zone, as all readers have them; INT96 has none.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
}


VARIABLES: Final = (
    *("JAVA_HOME", "JAVA_TOOL_OPTIONS", "PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"),
    *("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_LOCAL_IP", "SPARK_REMOTE"),
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
    from pyspark.sql import SparkSession

    # Workers must be the Python that has canvass, whatever `python3` is on the path.
    own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    given = ", ".join(x for x in VARIABLES if os.environ.get(x, own.get(x)) != own.get(x))
    given = given and f" (the environment sets {given})"
    chosen = master if master or "PYSPARK_GATEWAY_PORT" in os.environ else DEFAULT_MASTER
    connect = chosen is not None and chosen.startswith("sc://")
    settings = dict(SETTINGS)
    if chosen is not None and not connect:
        if os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell").split()[-1:] != ["pyspark-shell"]:
            raise SparkUnavailable("PYSPARK_SUBMIT_ARGS does not end with the word pyspark-shell")
        find_java()  # Without Java, Spark says only that its gateway has ended.
        settings["spark.ui.showConsoleProgress"] = "false"  # A server that runs refuses it.
        if "SPARK_CONF_DIR" not in os.environ:
            logging_option = f"-Dlog4j2.configurationFile={QUIET.as_uri()}"
            settings["spark.driver.extraJavaOptions"] = logging_option
    if chosen is not None:
        _check_address(chosen)
        builder = builder.remote(chosen) if connect else builder.master(chosen)
    if chosen is not None and chosen.startswith("local"):
        for name, value in own.items():
            os.environ.setdefault(name, value)
        settings |= LOCAL_SETTINGS
    for name, value in settings.items():
        builder = builder.config(name, value)
    running = SparkSession.getActiveSession() is not None
    logging.getLogger().addFilter(_is_no_interrupt)
    session = _started(builder, chosen or "the master of spark-submit", given, connect=connect)
    try:
        yield session
    except KeyboardInterrupt:
        running = True  # No other call can end the one that is interrupted. The JVM ends with us.
        raise
    finally:
        if not running:
            session.stop()


def _started(
    builder: SparkSession.Builder, master: str, given: str, *, connect: bool
) -> SparkSession:
    # A JVM whose driver ends while it starts goes on forever, so Ctrl-C waits for its start.
    held: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main:
        signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        session = builder.getOrCreate()
    except (ImportError, SystemExit) as error:
        # In a program without a file pyspark ends the process without an error.
        needed = install_command("connect" if connect else "spark")
        reason = f"install what is missing with {needed}: {_first_line(error)}"
        raise SparkUnavailable(reason) from None
    except Exception as error:
        raise SparkUnavailable(f"no session on {master}: {_first_line(error)}{given}") from error
    finally:
        if is_main:  # Spark's own handler calls the JVM in the middle of another call.
            signal.signal(signal.SIGINT, handler)
    if held and handler is not signal.SIG_IGN:
        session.stop()
        raise KeyboardInterrupt
    return session


def _check_address(master: str) -> None:
    """Check that somebody listens at the address of a master.

    Spark itself tries an address without a listener for a minute (standalone) or ten (Connect).
    """
    scheme, _, rest = master.partition("://")
    reasons = []
    for address in rest.split(",") if scheme in ("spark", "sc") else ():  # Standby masters.
        try:
            url = urlsplit(f"//{address}")
            port = url.port or _CONNECT_PORT
            socket.create_connection((url.hostname or "", port), timeout=CONNECT_S).close()
        except (OSError, ValueError) as error:
            reasons.append(getattr(error, "strerror", None) or str(error))
        else:
            return
    if reasons:
        reason = "; ".join(dict.fromkeys(reasons))
        raise SparkUnavailable(f"no session on {master}: {reason}")


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Tell whether py4j logs something else than an interrupt, with a traceback."""
    raised = record.exc_info[0] if record.exc_info else None
    return raised is None or not issubclass(raised, KeyboardInterrupt)


def _first_line(error: BaseException) -> str:
    """Return the reason of an error. For an error in Java it is the second line, after the call."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling "):
        return lines[1].removeprefix(":").strip()
    return lines[0]
