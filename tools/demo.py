"""`make demo`: what canvass does, shown on the real thing, command by command.

Each command is printed before it runs. The first that does not end as it should ends the demo with
its exit code. Nothing here does any work of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

CANVASS = Path(sys.executable).with_name("canvass")


def show(what: str, *arguments: str) -> None:
    """Print a sentence and a command, run the command, and end the demo if it fails."""
    print(f"\n# {what}\n$ canvass {' '.join(arguments)}", flush=True)
    done = subprocess.run([CANVASS, *arguments], check=False)
    if done.returncode:
        print(f"the command ended with exit code {done.returncode}", file=sys.stderr)
        sys.exit(done.returncode)


def main() -> None:
    """Run the demo."""
    with tempfile.TemporaryDirectory(prefix="canvass-demo-") as folder:
        show("Is what is needed there?", "doctor")
        show("The models of the spec, and what is expected of each.", "check", "--list")
        show("TLC checks the smallest.", "check", "MCSingleNode")
        show(
            "A mutant, whose members vote twice, must violate ElectionSafety. Its counterexample:",
            *("check", "MUT_VoteTwice", "--export", folder),
        )


if __name__ == "__main__":
    main()
