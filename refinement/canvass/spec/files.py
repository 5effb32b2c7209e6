"""Find the folders with the TLA+ modules, in a checkout and in an installed wheel alike.

A checkout keeps the spec in ``spec/`` at its top; the wheel carries the same files beside this
module. The harness has the modules that check steps and traces. In a checkout and in a wheel, it is
in ``harness/`` beside this module. The harness extends the spec, never the other way round.

Only the layout of a module is read: the names of the modules that it uses, and the place of a
definition with the comment box above it. A definition begins in the first column. A box is a run of
comment lines that ends on the line before a definition. A box may describe several definitions: a
definition without its own box has the nearest box above it that contains its name.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


class SpecError(Exception):
    """The spec folder or its manifest cannot be used; the message is one line."""


MANIFEST_NAME = "manifest.json"

_HERE = Path(__file__).resolve().parent
PACKAGED = _HERE / "modules"
CHECKOUT = _HERE.parents[2] / "spec"  # refinement/canvass/spec -> the top of the checkout.
HARNESS = _HERE / "harness"


def spec_root() -> Path:
    """Return the folder that holds the TLA+ modules, configurations and ``manifest.json``.

    Returns
    -------
    Path
        An absolute path. It may be read-only: TLC writes to its own ``-metadir``.

    Raises
    ------
    SpecError
        If the installation carries no spec.
    """
    # Packaged data wins: in a wheel, the folder three levels up is the user's own and may hold
    # any `spec`.
    for folder in (PACKAGED, CHECKOUT):
        if folder.is_dir():
            return folder
    raise SpecError("this installation carries no spec folder; install aeron-canvass again")


def module_folders(root: Path | None = None) -> tuple[Path, Path]:
    """Return the folders in which modules are searched: those of the spec and of the harness.

    Parameters
    ----------
    root
        The spec folder; null for the one that canvass carries.

    Raises
    ------
    SpecError
        If the installation carries no spec.
    """
    return (spec_root() if root is None else root, HARNESS)


def find_file(name: str, root: Path | None = None) -> Path:
    """Return the path of a module or a configuration, of the spec or else of the harness.

    Parameters
    ----------
    name
        The file's name, which may begin with a sub-folder.
    root
        The spec folder; null for the one that canvass carries.

    Returns
    -------
    Path
        The path of the file. If neither folder has it: its path in the spec folder.

    Raises
    ------
    SpecError
        If the installation carries no spec.
    """
    places = [folder / name for folder in module_folders(root)]
    return next((place for place in places if place.is_file()), places[0])


_EXTENDS: Final = re.compile(r"^\s*EXTENDS\s+((?:\w+\s*,\s*)*\w+)", re.MULTILINE)
_INSTANCE: Final = re.compile(r"\bINSTANCE\s+(\w+)")
_DEFINED: Final = re.compile(r"^(?:LOCAL\s+)?(\w+)(?:\([^=\n]*\))?\s*==", re.MULTILINE)
_DECLARED: Final = re.compile(r"^CONSTANTS?\s+(\w+(?:\s*,\s*\w+)*)", re.MULTILINE)
_TEXT_LINE: Final = re.compile(r"^\s*(?:\(\*+(.*?)\*+\)|\\\*(.*))\s*$")
_RULED: Final = re.compile(r"^[\s*]*$")


_OUTSIDE_COMMENTS: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|\\\*[^\n]*|\(\*')
_INSIDE_COMMENT: Final = re.compile(r"\(\*|\*\)")
_NO_BREAK: Final = re.compile(r"[^\n]")


def without_comments(text: str) -> str:
    """Give the text of a module without its comments and without the lines that this leaves blank.

    All other text keeps its columns, because they have a meaning in TLA+ lists of conjuncts.
    """
    parts: list[str] = []
    at = depth = 0
    while found := (_INSIDE_COMMENT if depth else _OUTSIDE_COMMENTS).search(text, at):
        between, token = text[at : found.start()], found[0]
        is_string = token.startswith('"')
        parts.append(_NO_BREAK.sub(" ", between) if depth else between)
        parts.append(token if is_string else " " * len(token))
        depth += {"(*": 1, "*)": -1}.get(token, 0)
        at = found.end()
    parts.append(text[at:])
    lines = (line.rstrip() for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)


def module_digest(path: Path) -> str:
    """Give the SHA-256 of a module without its comments, because a comment changes no rule."""
    text = without_comments(path.read_text(encoding="utf-8"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition, its place, and the comment above it.

    Parameters
    ----------
    module
        The module's file.
    line
        Line of the definition, from 1.
    lines
        Its text, which ends before the next line that begins in the first column.
    comment
        Text of the comment box, as lines; empty when there is none.
    """

    module: Path
    line: int
    lines: tuple[str, ...]
    comment: tuple[str, ...]


def modules_of(module: Path, folders: Sequence[Path]) -> list[Path]:
    """Give a module and the modules that it extends or instantiates, nearest first.

    Standard modules of TLA+ are left out.

    Parameters
    ----------
    module
        The ``.tla`` file to begin with.
    folders
        Folders that are searched for modules, after the folder of the module that uses them.
    """
    found = [module] if module.is_file() else []
    for file in found:
        for name in _modules_named(file, file.stat().st_mtime_ns):
            places = (folder / f"{name}.tla" for folder in (file.parent, *folders))
            place = next((path for path in places if path.is_file()), None)
            if place is not None and place.stem not in {known.stem for known in found}:
                found.append(place)
    return found


@functools.cache
def _modules_named(file: Path, _changed_ns: int) -> tuple[str, ...]:
    """Give the modules that a module names; each file is read once, unless it changes."""
    text = file.read_text(encoding="utf-8", errors="replace")
    extended = [word.strip() for words in _EXTENDS.findall(text) for word in words.split(",")]
    return (*extended, *_INSTANCE.findall(text))


def names_of(module: Path, folders: Sequence[Path]) -> frozenset[str]:
    """Give the names that a configuration may have: the constants and the operators of a module and
    of the modules that it uses. For the folders see `modules_of`.
    """
    every = modules_of(module, folders)
    return frozenset().union(*(_names_in(file, file.stat().st_mtime_ns) for file in every))


@functools.cache
def _names_in(file: Path, _changed_ns: int) -> frozenset[str]:
    """Give the constants and operators of a module; each file is read once, unless it changes."""
    text = without_comments(file.read_text(encoding="utf-8", errors="replace"))
    declared = " ".join(_DECLARED.findall(text))
    return frozenset([*_DEFINED.findall(text), *re.findall(r"\w+", declared)])


def first_comment(configuration: Path) -> str:
    """Give the comment with which a configuration begins, on one line; empty if there is none."""
    lines = configuration.read_text(encoding="utf-8", errors="replace").splitlines()
    begin = itertools.takewhile(lambda line: line.startswith("\\*"), lines)
    return " ".join(line[2:].strip() for line in begin)


def find_definition(root: Path, module: Path, name: str) -> Definition | None:
    """Find a definition in a module, or in a module that it extends.

    Parameters
    ----------
    root
        The spec folder; it is searched for modules after the module's own folder.
    module
        The ``.tla`` file to begin with.
    name
        An operator, such as an action, or a property of a configuration.

    Returns
    -------
    Definition or None
        The first definition in the order in which the modules extend each other; None without one.
    """
    for file in modules_of(module, module_folders(root)):
        text = file.read_text(encoding="utf-8", errors="replace")
        for found in _DEFINED.finditer(text):
            if found[1] == name:
                lines, number = text.splitlines(), text.count("\n", 0, found.start())
                own = itertools.takewhile(lambda line: not line[:1].strip(), lines[number + 1 :])
                whole = "\n".join([lines[number], *own]).rstrip().split("\n")
                return Definition(file, number + 1, (*whole,), _comment(lines, number, name))
    return None


def _comment(lines: list[str], number: int, name: str) -> tuple[str, ...]:
    """Read the box that ends above a line, or else the nearest box above that contains the name."""
    above = _box_ending_at(lines, number)
    if above:
        return above
    mentioned = re.compile(rf"\b{re.escape(name)}\b")
    for end in range(number, 0, -1):
        if _TEXT_LINE.match(lines[end - 1]) and not (
            end < len(lines) and _TEXT_LINE.match(lines[end])
        ):
            box = _box_ending_at(lines, end)
            if any(mentioned.search(line) for line in box):
                return box
    return ()


def _box_ending_at(lines: list[str], end: int) -> tuple[str, ...]:
    """Read the comment lines directly above line `end` (from 0), without the box's border."""
    start = end
    while start > 0 and _TEXT_LINE.match(lines[start - 1]):
        start -= 1
    text = []
    for line in lines[start:end]:
        found = _TEXT_LINE.match(line)
        said = (found[1] if found[1] is not None else found[2]) if found else ""
        if not _RULED.match(said):
            text.append(said.strip())
        elif text and text[-1] and "*" not in said:
            text.append("")
    while text and not text[-1]:
        text.pop()
    return tuple(text)
