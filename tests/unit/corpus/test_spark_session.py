"""Error messages about failures on Spark, and the settings of a session."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException, PySparkImportError

from canvass.corpus import spark_session
from canvass.corpus.spark_session import (
    SETTINGS,
    VARIABLES,
    JobFailed,
    SparkUnavailable,
    failure_line,
    one_line_failures,
    open_session,
)
from canvass.tlc.errors import TlcError

WORKER = """
An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "checker.py", line 1, in check
ValueError: something earlier

During handling of the above exception, another exception occurred:

canvass.tlc.errors.TlcError: there is no java: install a JDK of 17 or newer
 SQLSTATE: 38000
\tat org.apache.spark.Something
java.lang.RuntimeException: from below
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (WORKER, "canvass.tlc.errors.TlcError: there is no java: install a JDK of 17 or newer"),
        ("Traceback\n  x\nKeyError: 'a'\n at b", "KeyError: 'a'"),
        ("[CONNECT] no such host", "[CONNECT] no such host"),
        ("", "Spark gives no reason"),
    ],
)
def test_the_reason_of_a_failure_is_one_line(text: str, line: str) -> None:
    assert failure_line(text) == line


def test_failures_of_spark_are_failed_jobs_and_others_stay() -> None:
    with pytest.raises(JobFailed, match="no such host"), one_line_failures():
        raise PySparkException("no such host")
    with pytest.raises(ValueError, match="mine"), one_line_failures():
        raise ValueError("mine")


def refusal(builder: Nowhere, master: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Open a session with a builder; give the reason why there is none, in one line."""
    monkeypatch.setattr(spark_session, "_builder", lambda: builder)
    with pytest.raises(SparkUnavailable) as caught, open_session(master):
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A socket on the loopback interface that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as opened:
        yield opened


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every address accepts connections."""
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: socket.socket())


class Nowhere:
    """A builder of sessions that reaches no Spark; it keeps what it is given."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error or PySparkException("nobody there")
        self.settings: dict[str, str] = {}
        self.address = ""

    def appName(self, name: str) -> Nowhere:  # noqa: N802 (as in pyspark)
        return self

    def config(self, name: str, value: str) -> Nowhere:
        self.settings[name] = value
        return self

    def remote(self, address: str) -> Nowhere:
        self.address = address
        return self

    master = remote

    def getOrCreate(self) -> Any:  # noqa: N802 (as in pyspark)
        raise self.error


class Opened(Nowhere):
    """A builder of a session that can only be stopped."""

    def getOrCreate(self) -> Opened:  # noqa: N802 (as in pyspark)
        return self

    def stop(self) -> None:
        """Stop it."""


@pytest.mark.usefixtures("reachable")
def test_a_server_of_spark_connect_keeps_what_it_was_started_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It refuses that, and pyspark warns of each."""
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    printed = {}
    for address in ("sc://host", "spark://host:7077"):
        builder = Nowhere()
        assert "nobody there" in refusal(builder, address, monkeypatch)
        assert builder.address == address
        printed[address] = set(builder.settings)

    assert printed["sc://host"] == set(SETTINGS)
    assert printed["spark://host:7077"] - printed["sc://host"] == {
        "spark.driver.extraJavaOptions",
        "spark.ui.showConsoleProgress",
    }


def closed_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("master", "arguments", "reason"),
    [
        ("local[1]", "--master local[1]", "PYSPARK_SUBMIT_ARGS"),
        # Spark itself would try for a minute, Spark Connect for ten.
        ("spark://127.0.0.1:{port}", "", "no session on {master}: Connection refused"),
        ("sc://127.0.0.1:{port}", "", "no session on {master}: Connection refused"),
        ("spark://127.0.0.1", "", "no session on {master}: "),
        ("spark://:7077", "", "no session on {master}: "),
        ("sc://127.0.0.1:x", "", "no session on {master}: "),
    ],
)
def test_a_session_that_cannot_be_is_refused_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, master: str, arguments: str, reason: str
) -> None:
    if arguments:
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    master = master.format(port=closed_port())
    started = Nowhere(AssertionError("Spark was started"))

    assert reason.format(master=master) in refusal(started, master, monkeypatch)


def test_one_reachable_master_of_several_is_enough(
    monkeypatch: pytest.MonkeyPatch, listener: socket.socket
) -> None:
    builder = Nowhere()
    master = f"spark://127.0.0.1:{closed_port()},127.0.0.1:{listener.getsockname()[1]}"

    assert "nobody there" in refusal(builder, master, monkeypatch)
    assert builder.address == master


@pytest.mark.usefixtures("reachable")
def test_a_master_that_is_not_there_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first line of an error in Java names only the call.

    Variables that an earlier session of canvass has set are not named as the user's.
    """
    for name in spark_session.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    error = Exception(
        "An error occurred while calling None.org.apache.spark.sql.classic.SparkSession.\n"
        ": java.lang.IllegalStateException: All masters are unresponsive\n\tat org.apache.spark"
    )

    assert refusal(Nowhere(error), "spark://host:7077", monkeypatch) == (
        "no session on spark://host:7077:"
        " java.lang.IllegalStateException: All masters are unresponsive"
    )


@pytest.mark.usefixtures("reachable")
def test_variables_that_change_how_spark_starts_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_HOME", "/opt/spark-3")
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")

    assert refusal(Nowhere(Exception("cannot start")), "local[2]", monkeypatch) == (
        "no session on local[2]: cannot start (the environment sets SPARK_HOME, SPARK_REMOTE)"
    )


@pytest.mark.parametrize(
    "error",
    [
        PySparkImportError("grpcio >= 1.48.1 must be installed; however, it was not found."),
        SystemExit(0),  # What pyspark does if the program has no file, as with `python -c`.
    ],
)
@pytest.mark.usefixtures("reachable")
def test_without_what_connect_needs_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    assert "make setup-test" in refusal(Nowhere(error), "sc://host", monkeypatch)


def test_an_interrupt_is_not_logged_with_a_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As py4j does on the root logger, whatever the call that it interrupts."""
    monkeypatch.setattr(spark_session, "_builder", Opened)

    with open_session("local[1]"):
        for error in (KeyboardInterrupt(), ValueError("kept")):
            try:
                raise error
            except BaseException:
                logging.exception("while sending command")  # noqa: LOG015 - as py4j does

    raised = [record.exc_info[0] for record in caplog.records if record.exc_info]
    assert raised == [ValueError]


def test_java_is_asked_for_before_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "_builder", Opened)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")

    reason = r"no Java at /nowhere.*install OpenJDK"
    with pytest.raises(TlcError, match=reason), open_session("local[1]"):
        pass


@pytest.mark.usefixtures("reachable")
def test_an_interrupt_waits_for_the_start_and_stops_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A JVM whose driver ends while it starts would go on forever."""
    done: list[str] = []

    class Session:
        def stop(self) -> None:
            done.append("stopped")

    class Slow(Nowhere):
        def getOrCreate(self) -> Any:  # noqa: N802 (as in pyspark)
            os.kill(os.getpid(), signal.SIGINT)
            done.append("started")
            return Session()

    monkeypatch.setattr(spark_session, "_builder", Slow)
    # A shell starts what is in the background with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), open_session("local[1]"):
            done.append("used")

        assert done == ["started", "stopped"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
