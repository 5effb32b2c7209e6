"""`make known-steps`: build the table of steps that ships with canvass.

Its runs are the committed logs of real clusters and simulated clusters of all fault profiles, by
seed, so that the table is the same on every machine. Of captured clusters that are in no checkout
the distinct steps are kept in `tests/captures/steps.msgpack.xz`; TLC is asked about them as well.

`--take RUNS` adds the steps of imported captures to that file; `--share RUNS` says how many of the
steps of some runs the table has, and which actions those have that it lacks.
"""

from __future__ import annotations

import argparse
import lzma
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace

from canvass.cluster.member import NULL_RECORD, MemberRecord
from canvass.cluster.rules import Rules
from canvass.conformance.check import units_of
from canvass.conformance.known_steps import SHIPPED, KnownSteps
from canvass.conformance.screen import Screening, Unit, path_of
from canvass.conformance.step_checker import Example, example_of, reduced_example
from canvass.conformance.step_lookup import StepLookup, spec_digest
from canvass.simulation.options import PROFILES
from canvass.steps.reduction import core_answer
from canvass.steps.step import Step

CANVASS = Path(sys.executable).with_name("canvass")
ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "spec" / SHIPPED
TAKEN = ROOT / "tests" / "captures" / "steps.msgpack.xz"
LOGS = ("samples/aeron", "samples", "tests/captures/releases")
CLUSTERS = (("1.50", 3), ("1.50", 5), ("1.49", 3), ("1.49", 5))
"""The revisions and cluster sizes to simulate."""
SEEDS = 3
"""Simulated runs for each cluster and fault profile."""
STEPS = 1500
SMALLER, LARGER = 3, 5
"""Size of the clusters from which steps are taken, and of the larger clusters in which they are
tried."""


def main() -> None:
    """Build the table, or run the work of an option."""
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--take", nargs="+", type=Path, metavar="RUNS")
    what.add_argument("--share", nargs="+", type=Path, metavar="RUNS")
    given = parser.parse_args()
    if given.take:
        take(given.take)
    elif given.share:
        share(given.share)
    else:
        make()


def make() -> None:
    """Import, simulate, ask TLC, and write `spec/known-steps.npz`."""
    with tempfile.TemporaryDirectory(prefix="canvass-known-steps-") as scratch:
        runs = Path(scratch, "imported")
        for folder in sorted(
            {log.parent for each in LOGS for log in (ROOT / each).glob("*/*.log*")}
        ):
            command("import", "aeron", folder, "--out", runs / folder.name, ends_with=(0, 1, 3))
        imported = [step for unit in units_of([runs]) for step in steps_of(unit)]
        simulated: dict[tuple[int, int], Example] = {}
        for revision, members in CLUSTERS:
            for profile in PROFILES:
                out = Path(scratch, f"{revision}-{members}-{profile}")
                words = ["--revision", revision, "--members", members, "--profile", profile]
                words += ["--seeds", SEEDS, "--steps", STEPS, "--out", out]
                command("simulate", *words, ends_with=(0, 1))
                for unit in units_of([out]):
                    simulated |= {form.key: form for form in map(reduced_example, steps_of(unit))}
    table_of(imported, list(simulated.values())).write(TABLE)


def command(*words: object, ends_with: tuple[int, ...] = (0,)) -> None:
    """Run a command of canvass; exit with its code unless that is in ``ends_with``."""
    print("$ canvass", *words[:2], f"... {words[-1]}", flush=True)
    done = subprocess.run([CANVASS, *map(str, words)], check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in ends_with:
        sys.exit(done.returncode)


def table_of(imported: Iterable[Example], simulated: Iterable[Example]) -> KnownSteps:
    """Make the table of imported and captured steps, their reduced forms and variants, as far as
    TLC allows them.

    Only the forms of captured and simulated steps get variants, which are reduced, too. TLC decides
    only variants that the core allows.
    """
    imported, taken = distinct(imported), read_taken()
    forms = distinct([*map(reduced_example, taken), *simulated])
    others = (
        reduced_example(step)
        for step in variants(forms)
        if core_answer(step.rules, step.step).allowed
    )
    whole = [*imported, *map(reduced_example, imported), *taken]
    tried = distinct([*whole, *forms, *others])
    print(f"{len(imported):,} imported steps, {len(taken):,} captured ones,", end=" ")
    print(
        f"{len(forms):,} reduced forms with simulated ones, {len(tried):,} with variants",
        flush=True,
    )
    lookup = StepLookup()
    keys = [step.key for step, ok in zip(tried, lookup.allowed(tried), strict=True) if ok]
    print(f"TLC allows {len(keys):,} of them")
    return KnownSteps.of(spec_digest(), np.array(keys, dtype=np.uint64))


def distinct(steps: Iterable[Example]) -> list[Example]:
    """Give the distinct steps."""
    return list({step.key: step for step in steps}.values())


def read_taken() -> list[Example]:
    """Read the steps that were taken from captured clusters."""
    found: list[Example | None] = []
    taken = msgspec.msgpack.decode(lzma.decompress(TAKEN.read_bytes()), type=dict[str, list[Step]])
    for name, steps in taken.items():
        revision, count = name.split("-")
        found += [example_of(step, Rules(int(count), revision)) for step in steps]
    return [step for step in found if step is not None]


def variants(steps: Iterable[Example]) -> Iterator[Example]:
    """Give variants of steps: in each revision, and for three members also in a cluster of five.

    The two further peers have sent nothing yet, or behave as one of the others. TLC may refuse a
    variant.
    """
    for step in steps:
        count = step.rules.member_count
        for revision in ("1.49", "1.50"):
            yield from filter(None, [example_of(step.step, Rules(count, revision))])
            if count == SMALLER:
                for peer in (None, 1, 2):
                    wider = widened(step.step, peer)
                    yield from filter(None, [example_of(wider, Rules(LARGER, revision))])


def widened(step: Step, peer: int | None) -> Step:
    """Give a step in a larger cluster, whose further members equal ``peer`` or are silent."""
    more = range(SMALLER, LARGER)

    def records(members: tuple[MemberRecord, ...]) -> tuple[MemberRecord, ...]:
        return members + tuple(NULL_RECORD if peer is None else members[peer] for _ in more)

    def members(given: frozenset[int]) -> frozenset[int]:
        return given | frozenset(more) if peer in given else given

    sends = [(to, message) for new in more for to, message in step.sends if to == peer]
    copies = len(sends) // len(more)
    return replace(
        step,
        before=replace(step.before, members=records(step.before.members)),
        after=replace(step.after, members=records(step.after.members)),
        input=replace(
            step.input, active=members(step.input.active), accepted=members(step.input.accepted)
        ),
        sends=(
            *step.sends,
            *((SMALLER + place // copies, message) for place, (_, message) in enumerate(sends)),
        ),
    )


def take(runs: Iterable[Path]) -> None:
    """Add the distinct steps of runs that TLC allows to the captured steps."""
    known = read_taken() if TAKEN.exists() else []
    steps = {step.key: step for step in known}
    for unit in units_of(runs):
        steps |= {step.key: step for step in steps_of(unit)}
    ordered = [step for _, step in sorted(steps.items())]
    allowed = StepLookup(shipped=KnownSteps.read(TABLE).index()).allowed(ordered)
    taken: dict[str, list[Step]] = defaultdict(list)
    for step, ok in zip(ordered, allowed, strict=True):
        if ok and not step.rules.hardening and not step.step.barred:
            taken[f"{step.rules.revision}-{step.rules.member_count}"].append(step.step)
    content = msgspec.msgpack.encode(taken, order="deterministic")
    TAKEN.write_bytes(lzma.compress(content))
    print(f"{len(known):,} steps before, {sum(map(len, taken.values())):,} now")


def steps_of(unit: Unit) -> list[Example]:
    """Give the distinct steps of one run; end the process if it is malformed."""
    screening = Screening(StepLookup())
    screening.add(unit)
    screening.flush()
    for run in screening.runs:
        if run.malformed:
            sys.exit(f"{run.path}: {run.malformed}")
    return list(screening.open_steps.values())


def share(runs: Iterable[Path]) -> None:
    """Print the share of each run's distinct steps that the table has."""
    table = KnownSteps.read(TABLE).index()
    lookup = StepLookup(shipped=table, reduces=True)
    shares, absent = defaultdict[int, list[float]](list), Counter[str]()
    for unit in units_of(runs):
        steps = steps_of(unit)
        if not steps:
            continue
        keys = np.array([step.key for step in steps], dtype=np.uint64).reshape(-1, 2)
        has = (table.lookup(keys) >= 0) | lookup.look_up_reduced(steps)
        found = float(has.mean())
        shares[steps[0].rules.member_count].append(found)
        absent.update(step.step.action.value for step, ok in zip(steps, has, strict=True) if not ok)
        print(f"{found:6.1%} of {len(steps):5,}  {path_of(unit).name}", flush=True)
    for count, each in sorted(shares.items()):
        ranked = sorted(each)
        mean, median = sum(ranked) / len(ranked), ranked[len(ranked) // 2]
        print(
            f"{len(ranked)} runs of {count} members: mean {mean:.1%}, median {median:.1%},", end=" "
        )
        print(f"lowest {ranked[0]:.1%}")
    print("absent:", ", ".join(f"{name} {count}" for name, count in absent.most_common(12)))


if __name__ == "__main__":
    main()
