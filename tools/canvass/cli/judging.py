"""How commands that verify come by a judge from their options; heavy imports only when asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from canvass.conformance.judge import Judge


def make_judge(graphs: Sequence[Path], cache: Path | None, *, keep: bool = True) -> Judge:
    """Make a judge; see `canvass.conformance.judges.make_judge`."""
    from canvass.conformance import judges

    return judges.make_judge(graphs, cache, keep=keep)
