"""Read recorded output of TLC without running anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from canvass.tlc.output import Event
from canvass.tlc.results import CheckResult, Outcome, ResultBuilder
from support.tlc_cases import FIXTURES

EXIT_CODES: dict[str, int] = json.loads((FIXTURES / "index.json").read_text(encoding="utf-8"))


def recorded(name: str) -> list[str]:
    """Return the lines of a fixture."""
    return (FIXTURES / f"{name}.out").read_text(encoding="utf-8").splitlines()


def events(lines: Iterable[str]) -> list[Event]:
    """Return the events that are read from lines."""
    builder = ResultBuilder()
    return [event for line in lines for event in builder.feed(line)]


def interpret(
    lines: Iterable[str],
    exit_code: int | None,
    *,
    properties: Sequence[str] = (),
    stopped: Outcome | None = None,
    stderr: Sequence[str] = (),
) -> CheckResult:
    """Return the result of a run that printed the lines and ended with the code."""
    builder = ResultBuilder(properties)
    for line in lines:
        builder.feed(line)
    return builder.result(
        exit_code=exit_code,
        stopped=stopped,
        seconds=1.0,
        stderr=stderr,
    )
