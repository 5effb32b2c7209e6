"""Memory of long runs: arrays in a file, and work in processes that end.

A page on 100,000 events needs few of them at a time. Their columns are mapped from a file, so that
the system can take back what is not read. What reads all of them, such as the check, leaves several
times their size to its process; for a long run that is one of its own.
"""

from __future__ import annotations

import atexit
import ctypes
import pickle
import tempfile
from collections.abc import Callable
from itertools import accumulate, pairwise
from mmap import ACCESS_READ, MADV_DONTNEED, mmap
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from threading import Lock
from typing import Any, Final, ParamSpec, TypeVar
from weakref import ref

_P = ParamSpec("_P")
_R = TypeVar("_R")

LONG: Final = 20_000
"""Events from which a run is long: a new process takes as long as the check of so many."""
_starting: Final = Lock()
atexit.register(_starting.acquire)  # A process whose start was cut off would complain of it.
_files = list[ref[mmap]]()
_trim: Final = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)
"""A function of glibc alone."""


def in_own_process(events: int, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Call a function on a run; if the run is long, in a process of its own.

    Parameters
    ----------
    events
        The number of events of the run.
    work
        A function of a module. Its arguments and its result can be pickled.

    Raises
    ------
    Exception
        The error of the function.
    ChildProcessError
        If the process ended without a result, for example because the system had no memory left.
    """
    if events < LONG:
        return work(*args, **kwargs)
    context = get_context("spawn")
    ours, its = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(its, work, args, kwargs), daemon=True)
    # An interrupt ends this process, and with it the other one, which would not do so in one line.
    resource_tracker.ensure_running()  # Else it begins now, and lets interrupts through again.
    with _starting, its:
        heeded = pthread_sigmask(SIG_BLOCK, {SIGINT})
        try:
            process.start()
        finally:
            pthread_sigmask(SIG_SETMASK, heeded)
    try:
        found, error = ours.recv()
    except EOFError:
        process.join()
        raise ChildProcessError(f"its process ended with code {process.exitcode}") from None
    process.join()
    if error is not None:
        raise error
    result: _R = found
    return result


def _work(to: Connection, work: Callable[..., object], args: Any, kwargs: Any) -> None:
    try:
        to.send((work(*args, **kwargs), None))
    except Exception as error:  # noqa: BLE001 - the process that has asked raises it
        to.send((None, error))


def mapped(make: Callable[[], _R]) -> _R:
    """Make a value whose arrays are mapped from a file, which has no name and ends with them.

    They stay in memory if the file for them cannot be written.
    """
    value, buffers = make(), list[pickle.PickleBuffer]()
    packed = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    try:
        with tempfile.TemporaryFile(prefix="canvass-browse-") as file:
            sizes = [file.write(buffer.raw()) for buffer in buffers]
            file.flush()
            whole = mmap(file.fileno(), 0, access=ACCESS_READ)
    except (OSError, ValueError):  # No room, or nothing to map.
        return value
    _files.append(ref(whole, _files.remove))
    view, places = memoryview(whole), pairwise(accumulate(sizes, initial=0))
    found: _R = pickle.loads(packed, buffers=[view[start:end] for start, end in places])
    return found


def give_back() -> None:
    """Let go of memory that is free, and of the pages of all mapped files, which stay in the cache.

    glibc keeps what arrays have held: a hundred megabytes after 100,000 events were read.
    """
    _trim(0)
    for file in filter(None, [one() for one in _files]):
        file.madvise(MADV_DONTNEED)
