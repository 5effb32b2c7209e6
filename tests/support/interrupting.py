"""Processes that are interrupted: whoever starts the tests may have made them ignore that."""

from __future__ import annotations

import signal


def heed_interrupts() -> None:
    """Undo, in a process that begins, that SIGINT is ignored (for ``preexec_fn``)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
