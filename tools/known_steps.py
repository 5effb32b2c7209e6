"""`make known-steps`: make the table of steps that ships with canvass anew.

Its runs are the committed logs of real clusters and simulated clusters of all fault profiles, by
seed, so that the table is the same on every machine.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from canvass.conformance.lookup_sources import SHIPPED
from canvass.simulation.profiles import PROFILES

CANVASS = Path(sys.executable).with_name("canvass")
ROOT = Path(__file__).resolve().parent.parent
LOGS = ("samples/aeron", "samples", "tests/captures/releases")
CLUSTERS = (("1.50", 3, 12), ("1.50", 5, 3), ("1.49", 3, 3))
"""The revisions and numbers of members that are simulated, with the seeds of each profile."""
STEPS = 1500


def main() -> None:
    """Import, simulate, ask TLC, and write `spec/known-steps.npz`."""
    table = ROOT / "spec" / SHIPPED
    made = table.with_name("new-known-steps.npz")
    made.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="canvass-known-steps-") as scratch:
        runs = Path(scratch, "imported")
        for folder in sorted(
            {log.parent for each in LOGS for log in (ROOT / each).glob("*/*.log*")}
        ):
            command("import", "aeron", folder, "--out", runs / folder.name, ends_with=(0, 1, 3))
        command("graph", "grow", made, runs)
        for revision, members, seeds in CLUSTERS:
            simulated = []
            for profile in PROFILES:
                simulated.append(Path(scratch, f"{revision}-{members}-{profile}"))
                words = ["--revision", revision, "--members", members, "--profile", profile]
                words += ["--seeds", seeds, "--steps", STEPS, "--out", simulated[-1]]
                command("simulate", *words, ends_with=(0, 1))
            command("graph", "grow", made, *simulated)
    made.replace(table)


def command(*words: object, ends_with: tuple[int, ...] = (0,)) -> None:
    """Run a command of canvass; end with its exit code if that is not expected."""
    print("$ canvass", *words[:2], f"... {words[-1]}", flush=True)
    done = subprocess.run([CANVASS, *map(str, words)], check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in ends_with:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
