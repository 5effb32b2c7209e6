"""Measure what an import says of logs out of which lines were cut, and that the checker agrees.

Run with `python benchmarks/aeron_holes.py [--copies N] [--seed S] [--made-up M]`. Of each captured
scenario that is there so many copies are made, and of each of so many made-up clusters; in each one
a member's log lacks a block of consecutive lines: from 1 to 200 of them, half of the blocks at most
20. Printed is for each scenario how many copies are explained, incomplete and contradicted, and for
those that are not incomplete where that was.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from canvass.traces.aeron_import.importer import summarise, write_run
from canvass.traces.aeron_import.proposing import propose
from canvass.traces.aeron_import.summary import CONTRADICTED, EXPLAINED, INCOMPLETE
from canvass.traces.aeron_log.logs import read_cluster
from canvass.traces.aeron_log.records import LogRecord
from support.aeron_hostile import HostileCluster
from support.aeron_runs import captures, logs_of_nodes
from support.checked_runs import checked

Lines = dict[int, list[LogRecord]]

OUTCOMES = {EXPLAINED: "CONFORMS", INCOMPLETE: "INCOMPLETE", CONTRADICTED: "DIVERGES"}
LONGEST, SHORT = 200, 20


def scenarios(made_up: int) -> Iterator[tuple[str, Lines]]:
    """Name and lines of each captured scenario, and of some made-up ones."""
    for path in captures():
        logs = read_cluster([path])
        yield path.name, {member_id: log.records for member_id, log in logs.members.items()}
    for seed in range(1000, 1000 + made_up):
        cluster = HostileCluster(seed, 3 if seed % 3 else 5)
        cluster.run(8_000)
        lines = {i: node.lines for i, node in enumerate(cluster.nodes)}
        yield f"made up {seed}, {cluster.story}", lines


def without_block(lines: Lines, random: Random) -> tuple[str, Lines]:
    """A copy that lacks a block of lines, and where that was."""
    member_id = random.choice(sorted(lines))
    mine = lines[member_id]
    count = random.randint(1, random.choice((LONGEST, SHORT)))
    at = random.randrange(1, len(mine) - 1)
    where = f"member {member_id} lacks {len(mine[at : at + count])} lines from its line {at + 1} on"
    return where, {**lines, member_id: mine[:at] + mine[at + count :]}


def verdict_of(lines: Lines) -> tuple[str, str]:
    """What the checker says of the imported run, and why if it diverges."""
    found = propose(logs_of_nodes(lines))
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        write_run(found, run, "holes")
        outcome = OUTCOMES[summarise(found, "holes", 1).outcome]
        verdict = checked(run).verdict.value
    if verdict == "MALFORMED" and outcome == "INCOMPLETE":
        verdict = outcome  # Not a single step is known to be possible.
    if verdict != outcome:
        return f"{outcome}, and checked {verdict}", ""
    return verdict, found.failure.reason if found.failure else ""


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--copies", type=int, default=30)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--made-up", type=int, default=0)
    given = arguments.parse_args()
    total: Counter[str] = Counter()
    gc.disable()
    for name, lines in scenarios(given.made_up):
        random = Random(f"{given.seed} {name}")
        counts: Counter[str] = Counter()
        told = []
        for _ in range(given.copies):
            where, copy = without_block(lines, random)
            verdict, reason = verdict_of(copy)
            counts[verdict] += 1
            if verdict != "INCOMPLETE":
                told.append(f"  {verdict}: {where}{reason and ': '}{reason}")
        total += counts
        print(f"{name:32}", "  ".join(f"{verdict} {n}" for verdict, n in sorted(counts.items())))
        print(*told, sep="\n", end="\n" if told else "", flush=True)
        gc.collect()
    count = total.total()
    print("all", "  ".join(f"{verdict} {n / count:.1%}" for verdict, n in sorted(total.items())))


if __name__ == "__main__":
    main()
