"""Memory of long runs: arrays in a file, and work in processes that end.

A page on 100,000 events needs few of them at a time. Their columns are mapped from a file, so that
the system can take back the memory of columns that are not read. A function that reads all events,
such as the check, leaves its process with several times their size. For a long run, such a function
runs in a process of its own.
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
"""The number of events from which a run is long: checking so many takes as long as a new process
needs to start.
"""
_starting: Final = Lock()
atexit.register(_starting.acquire)  # A process whose start is cut off would print an error.
_files = list[ref[mmap]]()
_trim: Final = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)
"""Only glibc has the function; elsewhere this does nothing."""


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
    # The other process blocks interrupts, as it would print a traceback. It ends with this one.
    resource_tracker.ensure_running()  # Else `start` starts it, which unblocks interrupts again.
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
    """Make a value whose arrays are mapped from a file.

    The file has no name, and is removed with the arrays. If it cannot be written, the arrays stay
    in memory.
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
    """Give free memory and the pages of all mapped files back to the system.

    The pages stay in the page cache. glibc keeps the memory of freed arrays: a hundred megabytes
    after 100,000 events were read.
    """
    _trim(0)
    for file in filter(None, [one() for one in _files]):
        file.madvise(MADV_DONTNEED)
