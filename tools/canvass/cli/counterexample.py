"""Counterexamples on the terminal and in files, for ``canvass check`` and ``canvass distance``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from canvass.cli.output import (
    CommandError,
    complain,
    json_text,
    lane_width,
    print_lines,
    typed,
    write_file,
)
from canvass.models import ModelError
from canvass.models.counterexample import Counterexample, swim_lanes

_JSON: Final = ".json"
_ITF: Final = ".itf.json"


def need_export_target(target: Path) -> None:
    """Check that counterexamples can be exported to a path: ``*.json``, or a folder.

    Raises
    ------
    CommandError
        If the name is that of another kind of file, such as ``loss.txt``, or the file's folder does
        not exist.
    """
    if target.suffix not in ("", _JSON) and not target.is_dir():
        raise CommandError(
            f"--export {target}: name a file FILE.json or FILE.itf.json, or a folder for both"
        )
    if target.suffix == _JSON and not target.absolute().parent.is_dir():
        raise CommandError(f"--export {target}: there is no such folder to write to")


def export(found: Sequence[Counterexample], target: Path) -> None:
    """Write counterexamples to files, and name the files on stderr.

    Parameters
    ----------
    found
        The counterexamples; if there are none, a line on stderr says so.
    target
        ``*.itf.json`` (Informal Trace Format) or ``*.json`` for a single counterexample; a folder
        for both forms of each.

    Raises
    ------
    CommandError
        If there are several counterexamples for one file.
    """
    if not found:
        complain("there is no counterexample to export")
    if target.suffix != _JSON:
        target.mkdir(parents=True, exist_ok=True)
        files = [(target / f"{one.model}{form}", one) for one in found for form in (_JSON, _ITF)]
    elif len(found) > 1:
        raise CommandError(
            f"{len(found)} models have a counterexample: name one model, or export to a folder"
        )
    else:
        files = [(target, one) for one in found]
    for path, one in files:
        is_itf = path.name.endswith(_ITF)
        document: object = one.violation.to_itf(one.source) if is_itf else one.document()
        write_file(path, json_text(document))
        complain(f"wrote {path}")


def show_counterexample(shown: Counterexample, *, diagram: bool) -> None:
    """Write a counterexample for a person, as swim lanes if it has any, or with all changes."""
    if diagram:
        try:
            lanes = list(swim_lanes(shown, lane_width()))
        except ModelError as error:
            complain(f"{error}; its states are written instead")
        else:
            print_lines(lanes)
            return
    print("\n".join(shown.lines(lane_width(), typed())))
