"""`make demo`: what canvass does, shown on the real thing, command by command.

Each command is printed before it runs. The first that does not end as it should ends the demo with
its exit code. Nothing here does any work of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

CANVASS = Path(sys.executable).with_name("canvass")
ROOT = Path(__file__).resolve().parent.parent
SAMPLES = "samples/aeron"
OUT = "out/demo"

TRY_NEXT = """
# What to try next
  .venv/bin/canvass check                          every model of the push set
  .venv/bin/canvass check MCHazard3                another hazard, and docs/findings/
  .venv/bin/canvass import aeron LOGDIR --out RUN  your own logs; then: canvass verify RUN
  make browse                                      the run in a page: election, lanes, state graph
  .venv/bin/canvass simulate --seeds 20 --out CORPUS
  make test                                        everything that must hold
  and open out/demo/report/report.html in a browser
"""


def show(what: str, *arguments: str) -> None:
    """Print a sentence and a command, run the command, and end the demo if it fails."""
    print(f"\n# {what}\n$ canvass {' '.join(arguments)}", flush=True)
    done = subprocess.run([CANVASS, *arguments], check=False, cwd=ROOT)
    if done.returncode:
        print(f"the command ended with exit code {done.returncode}", file=sys.stderr)
        sys.exit(done.returncode)


def main() -> None:
    """Run the demo; what it makes stays in `out/demo`. Its cache begins empty: TLC is asked."""
    shutil.rmtree(ROOT / OUT, ignore_errors=True)
    (ROOT / OUT).mkdir(parents=True)
    run, report, cache = (f"{OUT}/{name}" for name in ("b-leader-killed", "report", "cache"))
    show("Is what is needed there?", "doctor")
    show("TLC checks a model: a cluster of one.", "check", "MCSingleNode")
    show(
        "A mutant, whose members vote twice, must violate ElectionSafety. Its counterexample:",
        *("check", "MUT_VoteTwice", "--export", OUT),
    )
    show(
        "The event logs of a real Aeron cluster, whose leader was killed twice, become a run.",
        *("import", "aeron", f"{SAMPLES}/b-leader-killed", "--out", run),
    )
    show(
        "Every step of it is held against the spec: TLC is asked about each distinct one.",
        *("verify", run, "--cache", cache),
    )
    show(
        "The same on Spark, for all samples at once, straight from the logs.",
        *("batch", "verify", SAMPLES, "--out", report, "--cache", cache),
    )
    print(TRY_NEXT)


if __name__ == "__main__":
    main()
