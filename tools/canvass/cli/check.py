"""``canvass check`` and ``canvass prove``: the spec itself, by model checking and by proofs.

TLC checks models, and their results are compared with the manifest. Z3 proves the abstract modules
for any number of members. This module has the command lines, the texts of the results, and
counterexamples on the terminal and in files (also those of ``canvass distance``). `canvass.models`
runs TLC and compares; `canvass.proof` makes the proofs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from canvass.cli.options import Output, heap_mib
from canvass.cli.output import (
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_UNEXPECTED,
    CheckProgress,
    CommandError,
    Format,
    Stages,
    complain,
    json_text,
    lane_width,
    print_lines,
    write_file,
    write_json,
)
from canvass.cli.output import show as show_text
from canvass.cluster.messages import Record
from canvass.models import ModelError
from canvass.models.model_run import Settings, Standing, choose, run_model
from canvass.spec.files import find_file, first_comment, spec_root
from canvass.spec.manifest import Manifest, ModelEntry, ModelSet
from canvass.version import install_command

if TYPE_CHECKING:
    from canvass.models.counterexample import Counterexample
    from canvass.models.model_run import ModelReport, ModelRun


class _CheckReport(Record, frozen=True):
    """The document of ``canvass check --format json``."""

    ok: bool
    models: list[ModelReport]


def _exit_code(standings: Sequence[Standing]) -> int:
    """Return 2 if a model was not checked or there is no model; 1 if one differs; else 0."""
    if not standings or Standing.NOT_CHECKED in standings:
        return EXIT_ERROR
    return EXIT_UNEXPECTED if Standing.NOT_AS_EXPECTED in standings else EXIT_OK


def _show_list(root: Path, models: Sequence[ModelEntry]) -> None:
    """Write the models for a person: a line each."""
    rows = [
        (model, first_comment(find_file(model.config, root)).partition(" TLC on ")[0])
        for model in models
    ]
    show_text("check_list", rows=rows, width=max(len(model.name) for model in models))


Models = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL",
        help="Models to check (see --list), or My.tla, with My.cfg beside it. Default: the CI set.",
    ),
]
Diagram = Annotated[bool, typer.Option("--diagram", help="Draw counterexamples as swim lanes.")]
Spec = Annotated[
    Path | None, typer.Option(help="Use the modules and manifest.json of this folder.")
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="TLC's threads. Default: from the manifest, else all processors."),
]
Heap = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="Java heap size, such as 4g. Default: from the manifest, else 1g."
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(min=0.001, metavar="SECONDS", help="Time limit for each model. Default: none."),
]
Rules = Annotated[
    str | None,
    typer.Option(
        "--with",
        metavar="RULES",
        help="Hardenings in force, such as HZ1,HZ3 or all,-HZ6; of a model of upstream-fix,"
        " corrections, such as all,-CountedMembers.",
    ),
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--export",
        metavar="PATH",
        help="Write counterexamples to FILE.json, to FILE.itf.json, or to a folder in both forms.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the sub-commands."""
    app.command("check")(check)
    app.command("prove")(prove)


def check(
    models: Models = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List models, those with MODEL in the name.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Check the nightly set, too.")] = False,
    workers: Workers = None,
    heap: Heap = None,
    timeout: Timeout = None,
    seed: Annotated[int | None, typer.Option(help="Seed of TLC's random choices.")] = None,
    rules: Rules = None,
    diagram: Diagram = False,
    export_to: Export = None,
    spec: Spec = None,
    output: Output = Format.HUMAN,
) -> None:
    """Check models of the spec with TLC, and compare the results with the manifest.

    Exit code 0: each result is as expected (a mutant must violate a property). 1: one is not.
    2: TLC could not run, or did not finish. 130: interrupted; the output has the models
    that were finished.

    A counterexample is printed if it is not expected, or if MODEL is given. The manifest says
    nothing about models with --with: only an unfinished one makes the exit code 2.
    """
    names = models or []
    as_json = output is Format.JSON
    refused = {
        "name models or use --all, not both": names and everything,
        "--with needs the names of models": rules is not None and not names,
        "--diagram draws for a person; leave out --format json": as_json and diagram,
    }
    for reason in filter(refused.get, refused):
        raise CommandError(reason)
    if export_to is not None:
        need_export_target(export_to)
    sets = ModelSet if everything or listing else (ModelSet.CI,)
    root, chosen = choose(names, frozenset(sets), spec, lists=listing)
    if listing:
        if as_json:
            write_json(Manifest(tuple(chosen)))
        else:
            _show_list(root, chosen)
        return
    size = None if heap is None else heap_mib(heap)
    settings = Settings(workers, size, timeout, seed, rules)
    width = max(len(entry.name) for entry in chosen)

    def show(run: ModelRun) -> None:
        if not as_json:
            _show(run, width, named=bool(names), diagram=diagram)

    runs, code = _check(root, chosen, settings, show)
    if as_json:
        write_json(_CheckReport(code == EXIT_OK, [run.report() for run in runs]))
    if export_to is not None:
        export([run.counterexample for run in runs if run.counterexample], export_to)
    raise typer.Exit(code)


def _check(
    root: Path, models: Sequence[ModelEntry], settings: Settings, show: Callable[[ModelRun], None]
) -> tuple[list[ModelRun], int]:
    """Check models one by one until an interrupt; return the finished ones and the exit code."""
    runs: list[ModelRun] = []
    try:
        for entry in models:
            with CheckProgress(len(runs) + 1, len(models), entry.name) as progress:
                run = run_model(root, entry, settings, progress.on_event)
            runs.append(run)
            show(run)
            if run.comparison.standing is Standing.NOT_CHECKED:
                complain(f"{entry.name}: {run.result.outcome.value}: {run.comparison.reason}")
    except KeyboardInterrupt:
        if not runs:
            raise
        return runs, EXIT_INTERRUPTED
    return runs, _exit_code([run.comparison.standing for run in runs])


def _show(run: ModelRun, width: int, *, named: bool, diagram: bool) -> None:
    """Write the line of a model for a person, TLC's warnings, and the counterexample.

    The command writes the reason why a model could not be checked to stderr.
    """
    show_text("check", run=run, width=width)
    unexpected = run.comparison.standing is not Standing.AS_EXPECTED
    if run.counterexample is not None and (named or unexpected):
        show_counterexample(run.counterexample, diagram=diagram)


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
    from canvass.models.counterexample import swim_lanes

    if diagram:
        try:
            lanes = list(swim_lanes(shown, lane_width()))
        except ModelError as error:
            complain(f"{error}; its states are written instead")
        else:
            print_lines(lanes)
            return
    print("\n".join(shown.lines(lane_width())))


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
    show_text(
        "prove",
        module=path.stem,
        proved=proved,
        count=len(done),
        steps={each.step: [one for one in done if one.step == each.step] for each in done},
        seconds=time.monotonic() - start,
    )
    return proved == len(done)
