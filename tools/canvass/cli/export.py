"""Write counterexamples to files: own JSON, and the Informal Trace Format of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from canvass.cli.output import CommandError

if TYPE_CHECKING:
    from canvass.cli.models import ModelRun

JSON: Final = ".json"
ITF: Final = ".itf.json"


def export(runs: Sequence[ModelRun], target: Path) -> list[Path]:
    """Write counterexamples to files.

    Parameters
    ----------
    runs
        The models that were run.
    target
        A file ``*.itf.json`` (Informal Trace Format) or ``*.json`` for the only counterexample
        there is, or a folder for both forms of each.

    Returns
    -------
    list of Path
        What was written; empty when there is no counterexample.

    Raises
    ------
    CommandError
        If there are several counterexamples for one file.
    """
    violated = [run for run in runs if run.counterexample is not None]
    if target.suffix != JSON:
        target.mkdir(parents=True, exist_ok=True)
        return [
            _write(target / f"{run.entry.name}{form}", _document(run, form))
            for run in violated
            for form in (JSON, ITF)
        ]
    if len(violated) > 1:
        raise CommandError(
            f"{len(violated)} models have a counterexample: name one model, or export to a folder"
        )
    form = ITF if target.name.endswith(ITF) else JSON
    return [_write(target, _document(run, form)) for run in violated]


def _document(run: ModelRun, form: str) -> dict[str, Any]:
    assert run.counterexample is not None
    if form == ITF:
        return run.counterexample.violation.to_itf(f"{run.entry.module}.tla")
    return run.counterexample.document()


def _write(path: Path, document: dict[str, Any]) -> Path:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    return path
