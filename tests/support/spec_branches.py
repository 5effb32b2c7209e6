"""The branches of the spec's operators that a run of TLC has taken, by marks in a copy of the spec.

TLC's own report of coverage combines the parts of an expression that were evaluated equally often,
also those that were never evaluated. So each branch gets a mark that prints its number when TLC
evaluates it for the first time. A branch is the expression after THEN, ELSE or =>, a conjunct, or a
disjunct. The marks move tokens by whole lines only, because columns matter in lists of TLA+.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MODULES: Final = (
    *("RecordingLog", "MemberState", "Election", "Replication"),
    *("Rev149", "UpstreamFix", "Hardened", "Member"),
)
"""The modules with the rules of a member."""

_TOKEN: Final = re.compile(
    r'"[^"]*"|\\[A-Za-z]+|\w+|/\\|\\/|<<|>>|=>|\|->|->|<-|\[\]|==|<=|>=|\.\.|\S'
)
_BEFORE_A_BRANCH: Final = frozenset({"THEN", "ELSE", "/\\", "\\/", "=>", "->"})
_RULE: Final = re.compile(r"(?:-{4,}.*|={4,})\s*")
_REMARK: Final = re.compile(r"\\\*.*")
_HEAD: Final = re.compile(r"(\w+)(?:\([^)]*\))?\s*==")
_HIT: Final = re.compile(r'<<"branch", (\d+)>>')

_FIRST_REGISTER: Final = 1000
_MARK_MODULE: Final = """---- MODULE BranchMarks ----
LOCAL INSTANCE TLC
LOCAL INSTANCE Integers
ASSUME \\A k \\in 0 .. {last} : TLCSet({first} + k, FALSE)
TakesBranch(k) ==
    IF TLCGet({first} + k) THEN FALSE
    ELSE TLCSet({first} + k, TRUE) /\\ PrintT(<<"branch", k>>) /\\ FALSE
====
"""


@dataclass(frozen=True, slots=True, order=True)
class Branch:
    """A branch: its operator, and the text of its first line before and after its beginning."""

    module: str
    operator: str
    before: str
    text: str


@dataclass(frozen=True, slots=True)
class _Place:
    line: int
    column: int
    branch: Branch


def _places(module: str, lines: list[str]) -> Iterator[_Place]:
    operator, before = "", ""
    for number, line in enumerate(lines):
        if _RULE.fullmatch(line):
            continue
        if head := _HEAD.match(line):
            operator, before = head[1], ""
        code = _REMARK.sub("", line)
        for token in _TOKEN.finditer(code):
            if before in _BEFORE_A_BRANCH and token[0] not in _BEFORE_A_BRANCH:
                parts = code[: token.start()], code[token.start() :]
                texts = (" ".join(part.split()) for part in parts)
                yield _Place(number, token.start(), Branch(module, operator, *texts))
            before = token[0]


def mark(folder: Path) -> tuple[Branch, ...]:
    """Write marks into the modules of a copy of the spec; return the branches by their numbers."""
    branches: list[Branch] = []
    for module in MODULES:
        path = folder / f"{module}.tla"
        lines = path.read_text(encoding="utf-8").splitlines()
        places = list(_places(module, lines))
        first = len(branches)
        for at in reversed(range(len(places))):
            place = places[at]
            line = lines[place.line]
            condition = f"IF TakesBranch({first + at}) THEN TRUE ELSE"
            rest = " " * place.column + line[place.column :]
            lines[place.line] = f"{line[: place.column]}{condition}\n{rest}"
        branches += [place.branch for place in places]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    lowest = folder / f"{MODULES[0]}.tla"
    text = lowest.read_text(encoding="utf-8")
    lowest.write_text(text.replace("EXTENDS ", "EXTENDS BranchMarks, ", 1), encoding="utf-8")
    (folder / "BranchMarks.tla").write_text(
        _MARK_MODULE.format(first=_FIRST_REGISTER, last=len(branches) - 1), encoding="utf-8"
    )
    return tuple(branches)


def hit_by(line: str) -> int | None:
    """The number of the branch in a line of TLC's output; None if the line is not from a mark."""
    found = _HIT.fullmatch(line.strip())
    return int(found[1]) if found else None
