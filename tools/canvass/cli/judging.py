"""What answers for steps, as options name it; heavy imports only when needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from canvass.conformance.judge import Judge


def make_judge(graphs: Sequence[Path], cache: Path | None, *, keep: bool = True) -> Judge:
    """See `canvass.conformance.judges`."""
    from canvass.conformance import judges

    return judges.make_judge(graphs, cache, keep=keep)
