"""``canvass prove``: prove the abstract modules of the spec with Z3, for any number of members.

This module has the command line and the text of the result. `canvass.proof` makes the proofs.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from canvass.cli.output import EXIT_UNEXPECTED, CommandError, Stages, show
from canvass.version import install_command


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("prove")(prove)


def prove(
    modules: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODULE",
            help="Modules, or files. Default: the modules of spec/proofs.json.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="STEP|LEMMA|STEP/LEMMA",
            help="Only this part of the proof; repeatable.",
        ),
    ] = None,
) -> None:
    """Prove invariants with Z3, for any number of members, terms and entries.

    Needs the extra `prove`, and Java to parse the modules.
    A lemma that an action breaks comes with a small counterexample to induction.

    Exit code 0: everything is proved. 1: something is not. 2: a module cannot be read.

    canvass prove Ballots
    """
    if find_spec("z3") is None:
        raise CommandError(f"canvass prove needs Z3: {install_command('prove')}")
    from canvass.proof.sany import ModuleError

    try:
        results = [_prove(path, only or []) for path in _paths(modules or [])]
    except ModuleError as error:
        raise CommandError(str(error)) from None
    if not all(results):
        raise typer.Exit(EXIT_UNEXPECTED)


def _paths(names: list[str]) -> list[Path]:
    from canvass.proof.prove import PROOFS
    from canvass.spec.files import spec_root

    known = list(msgspec.json.decode((spec_root() / PROOFS).read_bytes()))
    for name in names:
        if name not in known and not name.endswith(".tla"):
            raise CommandError(f"{name} is no module with a proof ({', '.join(known)}) and no file")
    return [spec_root() / f"{name}.tla" if name in known else Path(name) for name in names or known]


def _prove(path: Path, only: list[str]) -> bool:
    """Prove a module, print the result, and say whether everything is proved."""
    from canvass.proof.prove import prove

    start, done = time.monotonic(), []
    with Stages() as progress:
        progress.stage(f"{path.stem}: SANY parses it")
        count, proofs = prove(path, only)
        for each in proofs:
            done.append(each)
            progress.stage(f"{path.stem}: {len(done)} of {count} obligations, {each.step}")
    proved = sum(each.outcome == "proved" for each in done)
    steps = {each.step: [one for one in done if one.step == each.step] for each in done}
    seconds = time.monotonic() - start
    show("prove", module=path.stem, proved=proved, count=len(done), steps=steps, seconds=seconds)
    return proved == len(done)
