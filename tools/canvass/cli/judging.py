"""How commands that verify come by a judge: state graphs, cache and TLC from options.

Nothing here checks or prints anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from canvass.conformance.judge import Judge


def make_judge(graphs: Sequence[Path], cache: Path | None, *, keep: bool = True) -> Judge:
    """Make a judge from the options of a command.

    Parameters
    ----------
    graphs
        Folders of state-graph artifacts with a table of keys.
    cache
        Where answers are kept; None for the user's cache folder.
    keep
        Whether answers are kept at all.

    Raises
    ------
    OSError
        If a graph cannot be opened.
    """
    from canvass.conformance.judge import Judge, default_cache
    from canvass.graph.lookup import KeyTable

    folder = (cache or default_cache()) if keep else None
    return Judge(graphs={str(path): KeyTable.open(path) for path in graphs}, cache=folder)
