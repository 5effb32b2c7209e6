"""Processor time of an action, as several benchmarks measure and print it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def median_cpu(action: Callable[[], object], rounds: int = 5) -> float:
    """Median CPU seconds of an action."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return statistics.median(times)


def show(name: str, count: int, unit: str, seconds: float) -> None:
    """Print one line of a table: the rate per second, and the time for one."""
    rate = f"{count / seconds:>14,.0f} {unit}/s"
    print(f"{name:<52}{rate}  ({seconds * 1e9 / count:,.0f} ns each)")
