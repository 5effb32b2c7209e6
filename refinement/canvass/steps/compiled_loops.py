"""Loops over arrays: plain Python for few rows, machine code by numba where that pays.

numba checks only the file of a cached function to see whether it is stale. The functions here call
each other across files and freeze constants of other modules. So each is cached under a name with a
digest of all sources that it may depend on.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar, cast

import numpy as np

from canvass.cluster import member
from canvass.traces import schema
from canvass.version import install_command

_F = TypeVar("_F", bound=Callable[..., object])
_P = ParamSpec("_P")
_R = TypeVar("_R")

ROWS_TO_COMPILE = 60_000
"""Rows that a kernel takes in plain Python before it is compiled.

To compile all kernels takes as long as plain Python takes for some 250,000 rows
(``benchmarks/command.py``). A full batch has more rows than this, so lists of its rows are never
made.
"""
ROWS_TO_LOAD = 10_000
"""Rows that a kernel takes in plain Python before machine code on disk is loaded.

To load numba takes as long as plain Python takes for some 10,000 rows.
"""

_OWN: Final = Path(__file__).parent
_TRACES: Final = Path(schema.__file__).parent
_CLUSTER: Final = Path(member.__file__).parent
_SOURCES: Final = (
    *(_OWN / f"{name}.py" for name in ("action_fields", "compiled_loops", "kernel")),
    *(
        _OWN.parent / f"conformance/{name}.py"
        for name in ("causality", "run_arrays", "safety_monitors")
    ),
    *(_TRACES / f"{name}.py" for name in ("actions", "schema")),
    *(_CLUSTER / f"{name}.py" for name in ("member", "messages")),
)
_parts = dict[Callable[..., object], Callable[..., object]]()
"""Functions that kernels call, each with the function that is compiled in its place."""


@cache
def _digest() -> str:
    found = hashlib.sha256()
    for path in _SOURCES:
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def compiled(function: _F) -> _F:
    """Mark a function of numbers and arrays that kernels call: it is compiled with them."""
    _parts[function] = function
    return function


def compiled_from(machine: Callable[..., object]) -> Callable[[_F], _F]:
    """Mark a function that kernels call; ``machine``, which does the same, is compiled instead."""

    def mark(function: _F) -> _F:
        _parts[function] = machine
        return function

    return mark


def kernel(
    rows: str, lists: tuple[str, ...] = ()
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Make a function of arrays a kernel: the argument ``rows`` is as long as its loop.

    Its arguments are given by position. Plain Python and machine code give the same result. Machine
    code runs once the calls have had `ROWS_TO_COMPILE` rows in all, or `ROWS_TO_LOAD` if machine
    code is on disk. Without numba it never runs, and a warning says so. The arguments ``lists`` are
    only read. Plain Python gets them as lists, which it reads several times faster than arrays.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        code = cast(FunctionType, function)
        names = code.__code__.co_varnames
        place = names.index(rows)
        read = [names.index(name) for name in lists]
        done = 0

        @wraps(function)
        def call(*args: Any) -> Any:
            nonlocal done
            done += len(args[place])
            if (done > ROWS_TO_COMPILE and has_numba()) or (
                done > ROWS_TO_LOAD and is_on_disk(code)
            ):
                return machine_code(code)(*args)
            return plain(*args)

        def plain(*args: Any) -> Any:
            given = list(args)
            for argument in read:
                given[argument] = _as_lists(given[argument])
            with np.errstate(over="ignore"):
                return code(*given)

        cast(Any, call).plain = plain
        return cast(Callable[_P, _R], call)

    return decorate


@cache
def has_numba() -> bool:
    """Whether numba is installed; warns at the first call if it is not."""
    if find_spec("numba") is not None:
        return True
    slower = "many events take three times as long without numba"
    warnings.warn(f"{slower}: {install_command('fast')}", stacklevel=2)
    return False


def _as_lists(value: Any) -> Any:
    """Give an array as lists, or a named tuple of arrays as one of lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return type(value)(*map(_as_lists, value))


@cache
def is_on_disk(function: FunctionType) -> bool:
    """Whether numba is installed and has left machine code for a function of these sources."""
    if find_spec("numba") is None:
        return False
    module = Path(function.__code__.co_filename)
    name = f"{module.stem}.{_cached_name(function)}-*.nbi"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return any(Path(chosen).glob(f"*/{name}"))
    return any((module.parent / "__pycache__").glob(name))


@cache
def machine_code(function: FunctionType) -> Callable[..., object]:
    """Compile a function, and the parts that it calls, at its first call."""
    import numba

    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        if (part := names.get(name)) in _parts:
            names[name] = machine_code(cast(FunctionType, _parts[part]))
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__qualname__ = _cached_name(function)
    copy.__module__ = function.__module__
    return cast(Callable[..., object], numba.njit(cache=True, nogil=True)(copy))


def _cached_name(function: FunctionType) -> str:
    return f"{function.__qualname__}_{_digest()}"
