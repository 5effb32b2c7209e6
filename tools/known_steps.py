"""`make known-steps`: build the table of answers that ships with canvass.

TLC is asked about the distinct steps of the committed logs of real clusters, of captured clusters
that are in no checkout (`tests/captures/steps.msgpack.xz`), and of simulated clusters of all fault
profiles and rules, by seed, so that the table is the same on every machine.

`--take RUNS` adds the steps of imported captures to that file.
"""

from __future__ import annotations

import argparse
import lzma
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from canvass.cluster.rules import Rules
from canvass.conformance.findings import Verdict
from canvass.conformance.verify import Unit, read_and_check, units_of
from canvass.selftest.simulation_series import record_run, run_id_of
from canvass.simulation.options import PROFILES, Options
from canvass.steps.answers import ALLOWED, SHIPPED, AnswerFile, Answers, StepLookup, spec_digest
from canvass.steps.kernel import Status
from canvass.steps.step import Key, Question, Step, key_rows, question_of
from canvass.traces.alignment.importer import import_logs

Steps = dict[Key, Question]
"""Distinct steps by their keys."""

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "spec" / SHIPPED
TAKEN = ROOT / "tests" / "captures" / "steps.msgpack.xz"
LOGS = ("samples/aeron", "samples", "tests/captures/releases")


@dataclass(frozen=True, slots=True)
class Series:
    """Simulated runs of one revision and cluster size: seeds 0, 1, ... of some fault profiles."""

    revision: str
    members: int
    steps: int
    seeds: int
    profiles: tuple[str, ...] = tuple(PROFILES)

    def options(self) -> Iterator[Options]:
        """Give the options of each run."""
        for profile in self.profiles:
            for seed in range(self.seeds):
                yield PROFILES[profile](Options(seed, self.members, self.revision, self.steps))


SERIES = (
    *(Series(r, n, 1500, 3) for r in ("1.49", "1.50", "hardened") for n in (3, 5)),
    Series("hardened", 3, 5000, 20, ("swarm",)),
)
"""The last ones are the runs of `canvass simulate --seeds 20`."""


def main() -> None:
    """Build the table, or add steps of captures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--take", nargs="+", type=Path, metavar="RUNS")
    given = parser.parse_args()
    if given.take:
        take(given.take)
    else:
        make()


def make() -> None:
    """Import, simulate, ask TLC, and write `spec/known-steps.sqlite`."""
    found: Steps = {step.key: step for step in read_taken()}
    print(f"{len(found):,} steps of captures", flush=True)
    jobs: list[Path | Options] = [
        *sorted({log.parent for each in LOGS for log in (ROOT / each).glob("*/*.log*")}),
        *(options for series in SERIES for options in series.options()),
    ]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for job, steps in zip(jobs, pool.map(steps_of_job, jobs), strict=True):
            found |= steps
            name = job.name if isinstance(job, Path) else run_id_of(job)
            print(f"{len(found):,} with {name}", flush=True)
    write(found)


def steps_of_job(job: Path | Options) -> Steps:
    """Import the logs in a folder, or simulate a run; give the steps."""
    with tempfile.TemporaryDirectory(prefix="canvass-known-steps-") as scratch:
        if isinstance(job, Path):
            folder = Path(scratch, job.name)
            import_logs([job], folder)
        else:
            folder = Path(scratch, run_id_of(job))
            record_run(job, Path(scratch))
        return {step.key: step for step in steps_of(folder)}


def write(steps: Steps) -> None:
    """Let TLC decide steps, and write the keys of those that it allows."""
    ordered = [step for _, step in sorted(steps.items())]
    allowed = (StepLookup().ask_oracle(ordered) == ALLOWED).tolist()
    keys = [step.key for step, ok in zip(ordered, allowed, strict=True) if ok]
    print(f"TLC allows {len(keys):,} of {len(ordered):,}")
    TABLE.unlink(missing_ok=True)
    answers = AnswerFile(TABLE, spec_digest())
    answers.add(key_rows(keys), np.ones(len(keys), dtype=np.int8))


def read_taken() -> list[Question]:
    """Read the steps that were taken from captured clusters."""
    found: list[Question | Status] = []
    taken = msgspec.msgpack.decode(lzma.decompress(TAKEN.read_bytes()), type=dict[str, list[Step]])
    for name, steps in taken.items():
        revision, count = name.split("-")
        found += [question_of(step, Rules(int(count), revision)) for step in steps]
    return [step for step in found if isinstance(step, Question)]


def take(runs: Iterable[Path]) -> None:
    """Add the distinct steps of runs that TLC allows to the captured steps."""
    known = read_taken() if TAKEN.exists() else []
    steps = {step.key: step for step in known}
    for unit in units_of(runs):
        steps |= {step.key: step for step in steps_of(unit)}
    ordered = [step for _, step in sorted(steps.items())]
    allowed = (StepLookup().ask_oracle(ordered) == ALLOWED).tolist()
    taken: dict[str, list[Step]] = defaultdict(list)
    for step, ok in zip(ordered, allowed, strict=True):
        if ok and not step.rules.hardening:
            taken[f"{step.rules.revision}-{step.rules.member_count}"].append(step.step)
    content = msgspec.msgpack.encode(taken, order="deterministic")
    TAKEN.write_bytes(lzma.compress(content))
    print(f"{len(known):,} steps before, {sum(map(len, taken.values())):,} now")


def steps_of(unit: Unit) -> list[Question]:
    """Give the distinct steps of one run; end the process if it is malformed."""
    found = read_and_check([unit], Answers())
    for run in found.runs:
        if run.verdict.verdict is Verdict.MALFORMED:
            sys.exit(f"{run.verdict.path}: {run.verdict.reason}")
    return list(found.open_steps.values())


if __name__ == "__main__":
    main()
