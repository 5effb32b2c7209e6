"""Documents of ``canvass distance --format json`` for the page, without a search by TLC."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from itertools import chain, repeat
from pathlib import Path

import pytest

from canvass.cli import main
from canvass.distance import search
from canvass.distance.search import Distance, Moment


def write_distances(run: Path, file: Path, every: str) -> Path:
    """Write the document of a run: the first search finds two steps, the second none, the third 0.

    The command chooses the moments. All further searches find nothing within 4 steps.
    """
    found = chain((2, None, 0), repeat(None))

    def searched(_root: Path, moment: Moment, *_: object) -> Distance:
        steps = next(found)
        faults = {"crash": 1} if steps else {}
        return Distance(moment.label, steps, faults, 4, 1, 0.0, complete=True)

    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.setattr(search, "search", searched)
        assert main.run(["distance", str(run), "--every", every, "--format", "json"]) == 1
    file.write_text(said.getvalue())
    return file
