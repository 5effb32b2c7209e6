"""Compare the two importers of Aeron's logs: on logs as they are, on copies out of which a block of
lines was cut, and on copies with one false number.

Run with `python benchmarks/aeron_differential.py FOLDER... [--copies N] [--seed S] [--production]`.
Printed is a line for each log on which the outcomes differ, and a table of how often each pair of
outcomes came. A contradiction counts as met if it names the line that is false, or the next one.
"""

from __future__ import annotations

import argparse
import gzip
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final

from canvass.traces.aeron_import.importer import import_logs as import_by_rules
from canvass.traces.aeron_import.summary import CONTRADICTED, ImportSummary
from canvass.traces.alignment.importer import import_logs as import_by_alignment

Logs = dict[int, list[str]]
Copy = tuple[str, Logs, tuple[int, int] | None]

PRODUCTION: Final = ("CANVASS_POSITION", "APPEND_POSITION", "COMMIT_POSITION")
LONGEST, SHORT = 200, 20
_NUMBER: Final = re.compile(r"\b(\w*(?:TermId|Position))=(-?[0-9]+)")
_EVENT: Final = re.compile(r"CLUSTER: ([A-Z_]+)")
_CHECKED: Final = re.compile(
    r"CLUSTER: (ELECTION_STATE_CHANGE|NEW_ELECTION|CANVASS_POSITION|REQUEST_VOTE|VOTE"
    r"|COMMIT_POSITION|NEW_LEADERSHIP_TERM|APPEND_POSITION|CATCHUP_POSITION"
    r"|REPLAY_NEW_LEADERSHIP_TERM) "
)


def logs_of(folder: Path, *, production: bool) -> Logs:
    """The cluster's lines of each member's log."""
    logs: Logs = {}
    for path in sorted(folder.glob("member-*.log*")):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        lines = [line for line in text.split("\n") if "CLUSTER: " in line or "log started" in line]
        if production:
            lines = [line for line in lines if not any(event in line for event in PRODUCTION)]
        logs[int(path.name.split("-")[1].split(".")[0])] = lines
    return logs


def without_block(logs: Logs, random: Random) -> Copy:
    """A copy that lacks a block of lines of one member."""
    member_id = random.choice(sorted(logs))
    lines = logs[member_id]
    count = random.randint(1, random.choice((LONGEST, SHORT)))
    at = random.randrange(1, len(lines) - 1)
    what = f"member {member_id} lacks {count} lines from line {at + 1} on"
    return what, {**logs, member_id: lines[:at] + lines[at + count :]}, None


def with_false_number(logs: Logs, random: Random) -> Copy:
    """A copy in which one number of one line is another; events are chosen equally often."""
    member_id = random.choice(sorted(logs))
    lines = logs[member_id]
    kinds: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        if (event := _CHECKED.search(line)) is not None:
            kinds.setdefault(event[1], []).append(index)
    at = random.choice(kinds[random.choice(sorted(kinds))])
    number = random.choice(list(_NUMBER.finditer(lines[at])))
    away = 32 * random.randint(1, 60) if "Position" in number[1] else 1
    value = int(number[2]) + random.choice((-1, 1)) * away
    false = f"{lines[at][: number.start(2)]}{value}{lines[at][number.end(2) :]}"
    event = _EVENT.search(false)
    what = f"member {member_id}, line {at + 1}: {event[1] if event else ''} {number[1]}={value}"
    return what, {**logs, member_id: [*lines[:at], false, *lines[at + 1 :]]}, (member_id, at + 1)


def copies(logs: Logs, count: int, random: Random) -> Iterator[Copy]:
    """The logs as they are, and copies of both kinds."""
    yield "as it is", logs, None
    for _ in range(count):
        yield without_block(logs, random)
        yield with_false_number(logs, random)


def outcome_of(
    import_logs: Callable[[list[Path], Path], ImportSummary], logs: Logs, at: tuple[int, int] | None
) -> tuple[str, float]:
    """What an importer says, with whether it names a false line, and how long it took."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for member_id, lines in logs.items():
            path = Path(folder) / f"member-{member_id}.log"
            path.write_text("\n".join(lines) + "\n")
        summary = import_logs([Path(folder)], Path(folder) / "run")
    found = summary.contradiction
    outcome = summary.outcome
    if outcome == CONTRADICTED and at is not None and found is not None:
        named = found.member_id == at[0] and at[1] <= found.line <= at[1] + 1
        outcome += " there" if named else " elsewhere"
    return outcome, time.perf_counter() - begun


def main() -> None:
    """Print what differs, and the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folders", type=Path, nargs="+")
    arguments.add_argument("--copies", type=int, default=5)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--production", action="store_true")
    given = arguments.parse_args()
    table: Counter[tuple[str, str, str]] = Counter()
    seconds = [0.0, 0.0]
    for folder in given.folders:
        logs = logs_of(folder, production=given.production)
        for what, copy, at in copies(logs, given.copies, Random(f"{given.seed} {folder.name}")):
            old, old_seconds = outcome_of(import_by_rules, copy, at)
            new, new_seconds = outcome_of(import_by_alignment, copy, at)
            seconds[0] += old_seconds
            seconds[1] += new_seconds
            kind = "true" if what == "as it is" else "false number" if at else "block cut"
            table[kind, old, new] += 1
            if old != new:
                print(f"{folder.name}, {what}: rules {old}, alignment {new}", flush=True)
    print(f"{'logs':14}{'rules':26}{'alignment':26}count")
    for (kind, old, new), count in sorted(table.items()):
        print(f"{kind:14}{old:26}{new:26}{count}")
    print(f"time: rules {seconds[0]:.1f} s, alignment {seconds[1]:.1f} s")


if __name__ == "__main__":
    main()
