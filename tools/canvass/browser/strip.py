"""A run at a glance: the election states of its members, leaderships, and marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from canvass.browser import api
from canvass.browser.runs import OpenRun
from canvass.browser.tracks import bands_of, times_of
from canvass.lanes.model import MARKED, Mark
from canvass.traces.layout import ACTION_NAMES

MAX_PARTS: Final = 5000
"""Segments, and marks, at most: more are narrower than a pixel each."""


def strip_of(opened: OpenRun, wrong: Mapping[int, str]) -> api.RunStrip:
    """Give a run at a glance; ``wrong`` says of rows what is wrong there."""
    rows = np.array(opened.lanes.rows, dtype=np.int64)
    members = [list(track.segments()) for track in opened.tracks]
    marks = _marks(opened, rows, wrong)
    left_out, kept = max(0, len(marks) - MAX_PARTS), []
    room = MAX_PARTS
    for member, segments in enumerate(members):
        kept.append(api.MemberStrip(id=member, segments=tuple(segments[:room])))
        left_out += len(segments) - len(kept[-1].segments)
        room -= len(kept[-1].segments)
    return api.RunStrip(
        total=opened.total,
        members=tuple(kept),
        marks=tuple(marks[:MAX_PARTS]),
        bands=bands_of(opened.tracks, opened.total),
        times=times_of(opened.loaded.columns, opened.lanes.rows),
        left_out=left_out,
    )


def _marks(
    opened: OpenRun, rows: NDArray[np.int64], wrong: Mapping[int, str]
) -> list[api.StripMark]:
    columns = opened.loaded.columns
    action = columns.action[rows]
    codes = [ACTION_NAMES.index(name) for name in MARKED]
    marked = np.isin(action, codes)
    gap = (columns.predecessor[rows] < 0) & (columns.step[rows] > 0)
    first = (columns.step[rows] == 0) & (action == ACTION_NAMES.index("Restart"))
    is_wrong = np.isin(rows, np.array(list(wrong), dtype=np.int64))
    found = []
    for place in np.flatnonzero((marked & ~first) | gap | is_wrong).tolist():
        row = int(rows[place])
        if row in wrong:
            kind, text = Mark.DIVERGES, wrong[row]
        elif gap[place]:
            kind, text = Mark.GAP, f"steps before {int(columns.step[row])} are missing"
        else:
            kind, text = MARKED[ACTION_NAMES[int(columns.action[row])]]
        found.append(
            api.StripMark(
                number=place,
                member=int(columns.member[row]),
                kind=kind.value,
                text=text,
            )
        )
    return found
