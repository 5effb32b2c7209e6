"""The distance to a loss over a run as a picture: SVG, a mark for each moment that was searched.

Time goes to the right. The lower a mark, the nearer the loss; one on the ground has happened.
Where none was found the mark is hollow and stands one step above the depth that was searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, Protocol

_WIDTH: Final = 720
_LEFT: Final = 76
_RIGHT: Final = 16
_TOP: Final = 34
_ROW: Final = 16
_STYLE: Final = """
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #5c5f66; }
.axis { stroke: #b9bcc4; stroke-dasharray: 2 4; } .stem { stroke: #b3261e; stroke-width: 2; }
.far { fill: none; stroke: #5c5f66; } .exposed { fill: none; stroke: #b36b00; stroke-width: 2; }
.near { fill: #b3261e; } text.said { fill: #b3261e; }
"""


class Point(Protocol):
    """A moment that was searched."""

    @property
    def time_ns(self) -> int | None:
        """When it was, in nanoseconds from the first event."""

    @property
    def steps(self) -> int | None:
        """How many steps a violation is away; null if none is in reach."""

    @property
    def searched(self) -> int:
        """How many steps were searched."""

    @property
    def counted_too_far(self) -> int | None:
        """How many bytes too far reports are counted."""


def curve(points: Sequence[Point], title: str) -> str:
    """Draw the distance of each moment.

    Parameters
    ----------
    points
        Moments with a time, in the order of time; at least one.
    title
        What stands above the picture.

    Returns
    -------
    str
        A document without scripts or links.
    """
    depth = max(point.searched for point in points)
    height = _TOP + _ROW * (depth + 1) + 34
    rows = [
        *_axes(depth, points),
        *(row for point in points for row in _mark(point, depth, points)),
    ]
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style>",
            f'<text x="8" y="16">{escape(title)}</text>',
            *rows,
            "</svg>\n",
        ]
    )


def _x(point: Point, points: Sequence[Point]) -> float:
    end = max(point.time_ns or 0 for point in points) or 1
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * (point.time_ns or 0) / end, 1)


def _y(steps: int, depth: int) -> int:
    return _TOP + _ROW * (depth + 1 - steps)


def _axes(depth: int, points: Sequence[Point]) -> Iterator[str]:
    names = {0: "0 steps", depth: f"{depth} steps"}
    for steps, name in names.items():
        y = _y(steps, depth)
        yield f'<text x="8" y="{y + 4}">{name}</text>'
        yield f'<line class="axis" x1="{_LEFT}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}"/>'
    ground = _y(0, depth) + 24
    end = max(point.time_ns or 0 for point in points)
    yield f'<text x="{_LEFT}" y="{ground}">0 s</text>'
    yield (f'<text x="{_WIDTH - _RIGHT}" y="{ground}" text-anchor="end">{end / 1e9:.1f} s</text>')


def _mark(point: Point, depth: int, points: Sequence[Point]) -> Iterator[str]:
    x = _x(point, points)
    if point.steps is None:
        kind = "exposed" if point.counted_too_far else "far"
        yield f'<circle class="{kind}" cx="{x}" cy="{_y(point.searched + 1, depth)}" r="4"/>'
        return
    y = _y(point.steps, depth)
    yield f'<line class="stem" x1="{x}" y1="{_TOP}" x2="{x}" y2="{y}"/>'
    yield f'<circle class="near" cx="{x}" cy="{y}" r="5"/>'
    anchor, shift = ("end", -8) if x > _WIDTH / 2 else ("start", 8)
    yield (
        f'<text class="said" x="{x + shift}" y="{y - 6}" text-anchor="{anchor}">'
        f"{(point.time_ns or 0) / 1e9:.3f} s</text>"
    )
