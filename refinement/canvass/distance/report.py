"""The document of ``canvass distance --format json``: the distance from each moment.

`canvass.cli.distance` writes the document, and `canvass.browser` reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from canvass.traces.counts import counted

if TYPE_CHECKING:
    from canvass.distance.search import Distance

PROPERTY: Final = "CommittedIsDurable"
"""The property whose violation is searched for: a loss of committed entries."""
Count = Annotated[int, Meta(ge=0)]


class MomentReport(Struct, frozen=True, rename="camel"):
    """The distance from one moment: an element of ``canvass distance --format json``.

    ``event`` is a place in the order of causes of the run; ``timeNs`` is the time since the first
    event of the run. Both are null for disks.
    ``steps`` is null if no violation was found within ``searched`` steps.
    ``underWay`` counts the messages under way at the moment. ``repeats`` counts further messages
    that a later message in the same channel replaces; the search leaves them out.
    ``countedTooFar`` is `Exposure.counted_too_far` in bytes; null without ``--every``.
    """

    moment: str
    event: Count | None
    time_ns: int | None
    steps: Count | None
    faults: dict[str, int]
    searched: Count
    complete: bool
    states: int
    seconds: float
    positions: list[int]
    under_way: int
    repeats: int
    counted_too_far: int | None = None


class DistanceReport(Struct, frozen=True, rename="camel"):
    """The document of ``canvass distance --format json``."""

    source: str
    property: str
    bounds: dict[str, float]
    moments: list[MomentReport]


def distance_text(report: MomentReport) -> str:
    """Write the distance from a moment, and by how many bytes reports are counted too far."""
    return found_text(report) + counted_text(report)


def found_text(report: MomentReport | Distance) -> str:
    """Write the distance from a moment to a violation of `PROPERTY`, in words."""
    if report.steps == 0:
        text = f"{PROPERTY} is violated here already"
    elif report.steps is not None:
        steps = counted(report.steps, "step")
        text = f"{steps} to a violation of {PROPERTY}{faults_text(report)}"
    else:
        stopped = "" if report.complete else ", stopped by the time limit"
        text = f"no violation of {PROPERTY} within {counted(report.searched, 'step')}{stopped}"
    return text


def faults_text(report: MomentReport | Distance) -> str:
    """Count the faults among the steps to a violation; empty if there are none."""
    named = {"crash": "crashes", "lost leader": "lost leaders"}
    parts = [f"{n} {kind if n == 1 else named[kind]}" for kind, n in sorted(report.faults.items())]
    return f" ({', '.join(parts)} among them)" if parts else ""


def counted_text(report: MomentReport) -> str:
    """Write by how many bytes reports are counted too far; empty if they are not."""
    if not report.counted_too_far:
        return ""
    return f"; reports are counted {report.counted_too_far:,} bytes too far"
