"""A line at the end of the tests: how many edges of which graph were executed, and mismatches."""

from __future__ import annotations

import pytest

EXECUTED = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[EXECUTED] = []


@pytest.fixture
def executed(pytestconfig: pytest.Config) -> list[str]:
    """Lines for the summary."""
    return pytestconfig.stash[EXECUTED]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    lines = config.stash.get(EXECUTED, [])
    if lines:
        terminalreporter.section("state graphs executed against the core")
        for line in lines:
            terminalreporter.write_line(line)
