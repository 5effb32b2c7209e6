"""Processes for tests of interrupts, which a process may ignore by inheritance."""

from __future__ import annotations

import signal


def heed_interrupts() -> None:
    """Make a new process heed SIGINT, even if its parent ignores it (for ``preexec_fn``)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
