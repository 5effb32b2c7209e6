"""The parts of report formats that canvass uses."""

from __future__ import annotations

JUNIT_ATTRIBUTES: dict[str, set[str]] = {
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname"},
    "properties": set(),
    "property": {"name", "value"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
}
"""The elements of a JUnit file that canvass writes, and their attributes."""
