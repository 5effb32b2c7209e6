"""Times of a run's events as texts: seconds of a member's own clock, and differences."""

from __future__ import annotations

from canvass.explanation.evidence import shown_ns


def seconds_text(time_ns: int) -> str:
    """Write a time in seconds with milliseconds."""
    ms = time_ns // 1_000_000
    return f"{'-' if ms < 0 else ''}{abs(ms) // 1000}.{abs(ms) % 1000:03d} s"


def since_text(duration_ns: int) -> str:
    """Write how much later something is."""
    if abs(duration_ns) < 50_000:
        return "+0 ms"
    return f"{'-' if duration_ns < 0 else '+'}{shown_ns(abs(duration_ns))}"
