"""`compiled`: numba's compiler behind one typed name, with its results cached on disk.

numba sees that a cached function is stale from the file it stands in. The functions here call each
other across files and freeze constants of others, so each is cached under a name that holds a
digest of all the sources it may depend on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, TypeVar, cast

import numba

from canvass.cluster import member
from canvass.traces import layout

_F = TypeVar("_F", bound=Callable[..., object])

_OWN: Final = Path(__file__).parent
_TRACES: Final = Path(layout.__file__).parent
_CLUSTER: Final = Path(member.__file__).parent
_SOURCES: Final = (
    *(
        _OWN / f"{name}.py"
        for name in ("frame_table", "frames", "jit", "regimes", "steps", "tables")
    ),
    *sorted(_OWN.glob("kernel*.py")),
    *sorted((_OWN.parent / "conformance").glob("kernel*.py")),
    *(_TRACES / f"{name}.py" for name in ("actions", "layout", "limits", "wire")),
    *(_CLUSTER / f"{name}.py" for name in ("member", "messages")),
)


@cache
def _digest() -> str:
    found = hashlib.sha256()
    for path in _SOURCES:
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def compiled(function: _F) -> _F:
    """Compile a function of numbers and arrays to machine code at its first call."""
    function.__qualname__ = f"{function.__qualname__}_{_digest()}"
    return cast(_F, numba.njit(cache=True, nogil=True)(function))
