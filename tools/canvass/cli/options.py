"""Options that several commands share: each has one type, one help text and one reader."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Annotated, Final

import typer

from canvass.cli.output import CommandError, Format

Output = Annotated[Format, typer.Option("--format", help="Output format.")]
Graphs = Annotated[
    list[Path] | None,
    typer.Option(
        "--graph", metavar="GRAPH", help="A state graph to use as a step cache; repeatable."
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        file_okay=False,
        help="Cache of TLC's answers. Default: ~/.cache/canvass.",
    ),
]
Heap = Annotated[str | None, typer.Option(metavar="SIZE", help="Java heap size, such as 4g.")]
Page = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Also write an HTML report.")
]
RunId = Annotated[
    str | None, typer.Option("--run", metavar="ID", help="Id of the run, if there are several.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PROPERTY=TIME",
        help="A timeout of the cluster, by the name of Aeron's property. Default: of run.json or"
        " config.json, else measured in the logs, else Aeron's own.",
    ),
]

_EVENT: Final = re.compile(r"(\d{1,2})[:/](\d{1,18})", re.ASCII)


def named_step(text: str) -> tuple[int, int] | None:
    """Read the name of an event, ``MEMBER:STEP``: the member's id, and its step; None for others.

    ``MEMBER/STEP``, as ``canvass check --from`` once had it, names the same event.
    """
    match = _EVENT.fullmatch(text)
    return None if match is None else (int(match[1]), int(match[2]))


class Revision(str, Enum):
    """The protocol that the members of a cluster of ours run."""

    R149 = "1.49"
    R150 = "1.50"
    HARDENED = "hardened"


def read_settings(texts: Iterable[str] | None) -> dict[str, int]:
    """Read what `Settings` gives: nanoseconds by the name of the property.

    Raises
    ------
    CommandError
        If a text is no setting.
    """
    from canvass.traces.timeouts import SettingFault, parse_setting

    try:
        return dict(map(parse_setting, texts or ()))
    except SettingFault as fault:
        raise CommandError(f"--set: {fault}") from None
