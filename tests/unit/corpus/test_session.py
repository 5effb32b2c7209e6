"""What is told of failures on Spark."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from canvass.corpus.session import JobFailed, failure_line, one_line_failures

WORKER = """
An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "checker.py", line 1, in check
ValueError: something earlier

During handling of the above exception, another exception occurred:

canvass.tlc.errors.JavaError: there is no java: install a JDK of 17 or newer
 SQLSTATE: 38000
\tat org.apache.spark.Something
java.lang.RuntimeException: from below
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (WORKER, "canvass.tlc.errors.JavaError: there is no java: install a JDK of 17 or newer"),
        ("Traceback\n  x\nKeyError: 'a'\n at b", "KeyError: 'a'"),
        ("[CONNECT] no such host", "[CONNECT] no such host"),
        ("", "Spark tells no reason"),
    ],
)
def test_the_reason_of_a_failure_is_one_line(text: str, line: str) -> None:
    assert failure_line(text) == line


def test_failures_of_spark_are_failed_jobs_and_others_stay() -> None:
    with pytest.raises(JobFailed, match="no such host"), one_line_failures():
        raise PySparkException("no such host")
    with pytest.raises(ValueError, match="mine"), one_line_failures():
        raise ValueError("mine")
