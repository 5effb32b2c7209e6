"""The entry point of the installed command.

It imports next to nothing itself: importing `main` takes a third of a second, and Ctrl-C in that
time must end the command as it does later.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line of this process and exit with its code."""
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        from canvass.version import VERSION

        with suppress(OSError):  # The command itself says what is wrong with stdout.
            sys.stdout.write(f"canvass {VERSION}\n")
            sys.stdout.flush()
            return
    # An interrupt that is ignored, as in the background of a script, stays ignored.
    heeds = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeds:
        signal.signal(signal.SIGINT, _quit)
    from canvass.cli.main import main as run_and_exit

    if heeds:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_and_exit()


def _quit(*_: object) -> None:
    """End the process as `canvass.cli.main.run` does at an interrupt."""
    # An exception could be lost or changed within an import.
    os.write(2, b"canvass: interrupted\n")
    os._exit(130)
