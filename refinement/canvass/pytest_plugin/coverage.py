"""What of the spec the checked runs have covered: its actions, and the steps of state graphs.

This module counts only what `add` receives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_LISTED: Final = 12


@dataclass(slots=True)
class Coverage:
    """Counts of what was checked; those of several processes add up."""

    verdicts: Counter[str] = field(default_factory=Counter)
    events: int = 0
    actions: set[str] = field(default_factory=set)
    steps: dict[str, set[int]] = field(default_factory=dict)
    """For each graph the numbers of those of its canonical steps that were taken."""
    sizes: dict[str, int] = field(default_factory=dict)
    """For each graph how many canonical steps it has."""

    def add(self, verdict: str, events: int, actions: Iterable[str]) -> None:
        """Count one run."""
        self.verdicts[verdict] += 1
        self.events += events
        self.actions |= set(actions)

    def add_steps(self, graph: str, size: int, numbers: Iterable[int]) -> None:
        """Count steps of a graph."""
        self.sizes[graph] = size
        self.steps.setdefault(graph, set()).update(numbers)

    def to_builtins(self) -> dict[str, Any]:
        """Give it in a form that travels between processes."""
        return {
            "verdicts": dict(self.verdicts),
            "events": self.events,
            "actions": sorted(self.actions),
            "steps": {graph: sorted(numbers) for graph, numbers in self.steps.items()},
            "sizes": dict(self.sizes),
        }

    def add_builtins(self, counts: Mapping[str, Any]) -> None:
        """Add what another process has counted."""
        self.verdicts.update(counts["verdicts"])
        self.events += counts["events"]
        self.actions |= set(counts["actions"])
        for graph, numbers in counts["steps"].items():
            self.add_steps(graph, counts["sizes"][graph], numbers)

    def lines(self, every_action: Iterable[str]) -> Iterator[str]:
        """Say it, line by line."""
        runs = sum(self.verdicts.values())
        verdicts = ", ".join(f"{count:,} {name}" for name, count in sorted(self.verdicts.items()))
        yield f"{runs:,} run{'' if runs == 1 else 's'} checked, {self.events:,} events: {verdicts}"
        actions = list(every_action)
        never = [name for name in actions if name not in self.actions]
        taken = len(actions) - len(never)
        said = f"actions of the spec: {taken} of {len(actions)} ({percent(taken, len(actions))})"
        if never:
            more = f" and {len(never) - _LISTED} more" if len(never) > _LISTED else ""
            said += f"; never taken: {', '.join(never[:_LISTED])}{more}"
        yield said
        for graph, size in self.sizes.items():
            met = len(self.steps[graph])
            yield f"steps of {graph}: {met:,} of {size:,} ({percent(met, size)})"


def percent(part: int, whole: int) -> str:
    """Give a share, rounded down, so that only all is 100%."""
    return f"{share(part, whole):.1f}%"


def share(part: int, whole: int) -> float:
    """Give a share in percent, rounded down to a tenth; of nothing it is none."""
    return part * 1000 // whole / 10 if whole else 0.0
