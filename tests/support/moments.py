"""A captured run in which a committed entry is on one member only, and the first such moment."""

from __future__ import annotations

from pathlib import Path

from canvass.cluster.predicates import quorum_size
from canvass.distance.moments import RunMoments
from canvass.distance.search import Moment
from canvass.simulation.world import agreement, length
from canvass.traces.alignment.importer import import_logs
from support.aeron_runs import FINDING


def captured_loss(folder: Path) -> Path:
    """Import the logs of the sample with hazard HZ6; give the run folder."""
    import_logs([FINDING], folder / "hz6")
    return folder / "hz6"


def is_durable(moment: Moment) -> bool:
    """Tell whether a quorum has recorded the whole committed log."""
    holders = sum(
        agreement(moment.committed, log) == length(moment.committed) for log in moment.logs
    )
    return holders >= quorum_size(len(moment.logs))


def first_loss(run: Path) -> int:
    """Give the place of the first event after which no quorum has the whole committed log."""
    moments = RunMoments(run)
    every = moments.moments(range(moments.total))
    return next(place for place, moment in enumerate(every) if not is_durable(moment))
