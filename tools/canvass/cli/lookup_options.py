"""What answers for steps, as options name it; heavy imports only when needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from canvass.conformance.step_lookup import StepLookup


def make_lookup(graphs: Sequence[Path], cache: Path | None, *, keep: bool = True) -> StepLookup:
    """See `canvass.conformance.lookup_sources`."""
    from canvass.conformance import lookup_sources

    return lookup_sources.make_lookup(graphs, cache, keep=keep)
