"""Read the state graph that ``-dump dot,actionlabels`` writes, state by state and edge by edge.

Reading takes linear time and keeps one line in memory. The form of TLC 2.15 is read, and the newer
one with ``node [..]`` lines and tooltips.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from canvass.tlc.errors import DumpError
from canvass.tlc.output import called

_HEAD: Final = re.compile(r"(-?[0-9]+)(?: -> (-?[0-9]+))?(?=[ ;\[])", re.ASCII)
_ATTRIBUTE: Final = re.compile(
    r'[\[,; ]*([A-Za-z_]+) *= *(?:"([^"\\]*(?:\\.[^"\\]*)*)"|([^",;\] ]+))', re.DOTALL | re.ASCII
)


@dataclass(frozen=True, slots=True)
class DumpState:
    """A node of the graph.

    Attributes
    ----------
    id : int
        TLC's fingerprint, signed, 64 bits; equal in another run only with the same polynomial.
    text : str
        The state as TLC printed it, with real line breaks.
    initial : bool
        Whether it is an initial state.
    """

    id: int
    text: str
    initial: bool


@dataclass(frozen=True, slots=True)
class DumpEdge:
    """An edge of the graph; ``action`` is empty when the dump has no name for it.

    ``arguments`` is the text between the parentheses of newer labels such as ``Send(1)``.
    """

    source: int
    target: int
    action: str
    arguments: str | None


Dump: TypeAlias = Iterator[DumpState | DumpEdge]


def read_dump(path: str | os.PathLike[str]) -> Dump:
    """Yield the states and edges of a dot file in the order of the file.

    Each edge line is an edge, so parallel edges are kept, although the file calls the graph
    ``strict``. TLC writes one line for each state.

    Parameters
    ----------
    path
        The dot file.

    Raises
    ------
    DumpError
        When the file cannot be read, a line has another form, or the end of the graph is missing
        because TLC was killed.
    """
    name = Path(path).name
    try:
        with Path(path).open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
            started, last = False, ""
            for number, line in enumerate(lines, 1):
                head = _HEAD.match(line)
                if not head:
                    started = started or line.startswith(("strict digraph", "digraph"))
                elif started:
                    yield _item(head, line, f"{name}, line {number}")
                if not started:
                    raise DumpError(f"{name}, line {number}: not a state graph in dot")
                last = line if line.strip() else last
            if not last.rstrip().endswith("}"):
                raise DumpError(f"{name}: the end is missing; TLC did not finish writing it")
    except OSError as error:
        raise DumpError(f"{path} cannot be read: {error.strerror}") from None


def _item(head: re.Match[str], line: str, place: str) -> DumpState | DumpEdge:
    attributes: dict[str, str] = {}
    at = head.end()
    while match := _ATTRIBUTE.match(line, at):
        quoted = match[2]
        attributes[match[1]] = match[3] if quoted is None else _unescape(quoted)
        at = match.end()
    if line[at:].strip() not in ("]", "];", ";"):
        raise DumpError(f"{place}: attributes were expected: {line[at : at + 40]!a}")
    source = int(head[1])
    if head[2] is None:
        if "label" not in attributes:
            raise DumpError(f"{place}: a state without a label")
        initial = "filled" in attributes.get("style", "")
        return DumpState(source, attributes["label"], initial)
    return DumpEdge(source, int(head[2]), *called(attributes.get("label", "")))


def _unescape(text: str) -> str:
    # Cut at escaped backslashes first: the parts have escapes of quotes and line breaks only.
    parts = text.split("\\\\")
    return "\\".join(part.replace('\\"', '"').replace("\\n", "\n") for part in parts)
