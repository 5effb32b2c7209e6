"""`make demo`: the main commands of canvass on real input.

Each command is printed before it runs. The first one that fails ends the demo with its exit code.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CANVASS = Path(sys.executable).with_name("canvass")
ROOT = Path(__file__).resolve().parent.parent
SAMPLES = "samples/aeron"
OUT = "out/demo"

TRY_NEXT = """
# What to try next
  make page                                          build the page of canvass browse, then:
  .venv/bin/canvass browse out/demo/b-leader-killed  this run in a page: what happened, lanes
  .venv/bin/canvass check                            every model of the CI set
  .venv/bin/canvass import aeron LOGDIR --out RUN    a run of your own logs
  .venv/bin/canvass verify RUN                       and its verdict
  .venv/bin/canvass check MCHazard3                  a known hazard; docs/findings/ has them all
  make test                                          everything that must hold
  and open out/demo/report/report.html in a browser
"""


def show(what: str, *arguments: str) -> None:
    """Print a sentence and a command, run the command, and end the demo if it fails."""
    print(f"\n# {what}\n$ .venv/bin/canvass {' '.join(arguments)}", flush=True)
    done = subprocess.run([CANVASS, *arguments], check=False, cwd=ROOT)
    if done.returncode:
        print(f"the command ended with exit code {done.returncode}", file=sys.stderr)
        sys.exit(done.returncode)


def findings(run: str, report: str, cache: str) -> Iterator[str]:
    """Summarise the results of the commands, from their JSON output."""
    story = document("explain", f"{SAMPLES}/b-leader-killed")
    verdict = document("verify", run, "--cache", cache)
    counts = verdict["counts"]
    yield "A mutant of the model, whose members vote twice, lets two members lead one term."
    for led in story["leaderships"]:
        who = f"Member {led['leaderMemberId']} led term {led['leadershipTermId']}"
        seconds = (led["untilNs"] - led["fromNs"]) / 1e9
        yield f"{who} for {seconds:.1f} s. The end: {led['endedBy']}."
    taken = f"{counts['events']:,} steps of {story['memberCount']} members"
    yield f"{taken} have {counts['distinctSteps']} distinct canonical forms."
    yield f"{counts['foundInTable']} of them are known steps, which ship with canvass."
    yield f"The verdict is {verdict['runs'][0]['verdict']}: every step and message is allowed."
    tables = sorted(path.name for path in Path(ROOT, report).iterdir() if path.is_dir())
    yield f"Spark found that both samples conform, and left tables: {', '.join(tables)}."


def document(*arguments: str) -> Any:
    """Run a command and give its JSON output."""
    command = [str(CANVASS), *arguments, "--format", "json"]
    done = subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    return json.loads(done.stdout)


def main() -> None:
    """Run the demo; its results stay in `out/demo`."""
    shutil.rmtree(ROOT / OUT, ignore_errors=True)
    (ROOT / OUT).mkdir(parents=True)
    run, report, cache = (f"{OUT}/{name}" for name in ("b-leader-killed", "report", "cache"))
    show("Check the prerequisites.", "doctor")
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
        "Who led, and why did each election take so long?", "explain", f"{SAMPLES}/b-leader-killed"
    )
    show(
        "Each step is looked up in the steps that TLC has allowed; TLC is asked about the rest.",
        *("verify", run, "--cache", cache),
    )
    show(
        "The same on Spark, for all samples at once, straight from the logs.",
        *("batch", "verify", SAMPLES, "--out", report, "--cache", cache, "--engine", "spark"),
    )
    print("\n# What was found")
    for line in findings(run, report, cache):
        print(f"  {line}")
    print(TRY_NEXT)


if __name__ == "__main__":
    main()
