"""The installed command.

This module is outside the package `canvass`. If another project has a module `canvass` in the same
environment, it hides the package; then only this module can report that.
"""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line of this process and exit with its code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Imports take a third of a second, in which an exception of Ctrl-C could be lost.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from canvass.cli.main import main as run_and_exit
    except ModuleNotFoundError as error:
        import canvass

        if error.name != "canvass.cli" or hasattr(canvass, "__path__"):
            raise
        print(
            f"canvass: another project's module is installed here as well, and hides this one:"
            f" {canvass.__file__} (fix: pip uninstall canvass; this project is aeron-canvass)",
            file=sys.stderr,
        )
        sys.exit(2)
    run_and_exit()
