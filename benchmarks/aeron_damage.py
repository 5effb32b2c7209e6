"""Import captured logs and damaged copies of them, and count the outcomes.

A copy lacks a block of lines, or has one false number. Run with
`python benchmarks/aeron_damage.py [FOLDER...] [--copies N] [--seed S] [--production]`. Without a
FOLDER the script takes the captures that tests use. It prints the copies whose outcome is not as
expected, and a table of outcomes. Expected is `EXPLAINED` for unchanged logs, anything but
`CONTRADICTED` for a deleted block, and `CONTRADICTED` at the false line or the next one for a false
number. Some false numbers contradict nothing, because some fields are compared with nothing.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from canvass.traces.alignment.importer import CONTRADICTED, EXPLAINED, import_logs
from support.aeron_runs import captures

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
    """A copy in which one number of one line is changed; each kind of event is equally likely."""
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


def outcome_of(logs: Logs, at: tuple[int, int] | None) -> str:
    """Run the import; give its outcome, and whether it names the false line."""
    with tempfile.TemporaryDirectory() as folder:
        for member_id, lines in logs.items():
            path = Path(folder) / f"member-{member_id}.log"
            path.write_text("\n".join(lines) + "\n")
        summary = import_logs([Path(folder)], Path(folder) / "run")
    found = summary.contradiction
    if at is None or found is None:
        return summary.outcome
    named = found.member_id == at[0] and at[1] <= found.line <= at[1] + 1
    return f"{summary.outcome} {'there' if named else 'elsewhere'}"


def is_wanted(kind: str, outcome: str) -> bool:
    """Whether an outcome is right for logs of a kind."""
    if kind == "true":
        return outcome == EXPLAINED
    if kind == "false number":
        return outcome == f"{CONTRADICTED} there"
    return not outcome.startswith(CONTRADICTED)


def main() -> None:
    """Print the unexpected outcomes, and the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folders", type=Path, nargs="*")
    arguments.add_argument("--copies", type=int, default=5)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--production", action="store_true")
    given = arguments.parse_args()
    table: Counter[tuple[str, str]] = Counter()
    begun = time.perf_counter()
    for folder in given.folders or captures():
        logs = logs_of(folder, production=given.production)
        for what, copy, at in copies(logs, given.copies, Random(f"{given.seed} {folder.name}")):
            kind = "true" if what == "as it is" else "false number" if at else "deleted block"
            outcome = outcome_of(copy, at)
            table[kind, outcome] += 1
            if not is_wanted(kind, outcome):
                print(f"{folder.name}, {what}: {outcome}", flush=True)
    print(f"{'logs':16}{'outcome':26}count")
    for (kind, outcome), count in sorted(table.items()):
        print(f"{kind:16}{outcome:26}{count}")
    print(f"{table.total()} imports in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
