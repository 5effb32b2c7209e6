"""The evidence of an answer: lines of the members' logs."""

from __future__ import annotations

from canvass.cluster.messages import Record


class Evidence(Record, frozen=True):
    """One line of a member's log.

    Parameters
    ----------
    file
        The name of the file.
    line
        The number of the line, counted from 1.
    member_id
        The member that wrote the line.
    time_ns
        The line's own stamp, on the clock of that member's host.
    """

    file: str
    line: int
    member_id: int
    time_ns: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Sentence(Record, frozen=True):
    """A statement and the lines that show it; at least one."""

    text: str
    evidence: tuple[Evidence, ...]

    def __str__(self) -> str:
        places = ", ".join(dict.fromkeys(str(one) for one in self.evidence))
        return f"{self.text} [{places}]"


def in_findings(page: str) -> str:
    """Name the page of a finding, in brackets after a blank; empty if there is no page."""
    return f" (docs/findings/{page}.md)" if page else ""


def seconds_of(time_ns: int | None) -> str:
    """Write a time in seconds; a question mark if it is not known."""
    return "?" if time_ns is None else f"{time_ns / 1e9:.3f}"


def shown_ns(duration_ns: int) -> str:
    """Write a duration: milliseconds below ten seconds, else seconds."""
    ms = duration_ns / 1_000_000
    if abs(ms) < 10:
        return f"{ms:.1f} ms"
    return f"{ms:,.0f} ms" if abs(ms) < 10_000 else f"{ms / 1000:,.1f} s"
