"""Progress of a batch verification in words: tasks, events, rate, divergences so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from canvass.corpus.job import SoFar


def progress_text(so_far: SoFar, seconds: float) -> str:
    """Put the figures into words."""
    parts = [f"{so_far.done:,} of {so_far.tasks:,} tasks", f"{so_far.events:,} events"]
    parts.append(f"{so_far.events / max(seconds, 0.001):,.0f} events/s")
    runs = "run diverges" if so_far.diverging == 1 else "runs diverge"
    parts.append(f"{so_far.diverging:,} {runs} so far")
    return ", ".join(parts)
