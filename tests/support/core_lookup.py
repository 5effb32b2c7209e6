"""A lookup that asks the core instead of TLC, for tests of everything around the oracle."""

from __future__ import annotations

from pathlib import Path

from canvass.conformance.step_lookup import StepLookup
from canvass.steps.core_oracle import ask_core


def _no_parts(*_: object) -> tuple[str, ...]:
    """Name no part of a guard."""
    return ()


def core_lookup(cache: Path | None = None) -> StepLookup:
    """A lookup for tests."""
    return StepLookup(oracle=ask_core, guards=_no_parts, cache=cache, digest="the core")
