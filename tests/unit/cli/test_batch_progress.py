"""What is said of the progress of a batch verification."""

from __future__ import annotations

from canvass.cli.batch_verify import progress_text
from canvass.corpus.job import SoFar


def test_tasks_events_rate_and_divergences_are_reported() -> None:
    words = progress_text(SoFar(done=3, tasks=8, events=12_000, diverging=1), 4.0)

    assert words == "3 of 8 tasks, 12,000 events, 3,000 events/s, 1 run diverges so far"
