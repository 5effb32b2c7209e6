"""``canvass doctor`` and ``canvass selftest``: is canvass itself in order?

`doctor` checks that what canvass needs is installed, and prints a fix for each problem. It only
reads. `selftest` checks the checker, by corrupted runs that it must reject. `canvass.selftest` does
the work; here are its command line and report.
"""

from __future__ import annotations

import platform
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Annotated, Final

import typer

from canvass.cli.options import Output
from canvass.cli.output import EXIT_ERROR, EXIT_OK, EXIT_UNEXPECTED, Format, Stages, emit, show
from canvass.version import DISTRIBUTION, EXTRAS, VERSION, install_command


class Status(str, Enum):
    """Meaning of a finding for the use of canvass."""

    OK = "ok"
    ABSENT = "absent"
    """An optional part is not installed; all others work."""
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """The state of one prerequisite.

    Parameters
    ----------
    subject
        Name of the prerequisite.
    status
        Its status.
    detail
        Its version and place, or the problem.
    fix
        How to mend the problem; empty without a problem.
    """

    subject: str
    status: Status
    detail: str
    fix: str = ""


def _canvass() -> Prerequisite:
    """Look for the other project of this name: its files may take the place of ours."""
    with suppress(metadata.PackageNotFoundError):
        other = metadata.distribution("canvass")
        if not other.entry_points:  # An installation of this project has the command.
            detail = f"another project, canvass {other.version}, is installed here as well"
            fix = f"pip uninstall canvass, then install {DISTRIBUTION} again"
            return Prerequisite("canvass", Status.PROBLEM, detail, fix)
    return Prerequisite("canvass", Status.OK, f"{VERSION} ({DISTRIBUTION})")


def _java_and_tlc() -> Iterator[Prerequisite]:
    from canvass.tlc.errors import TlcError
    from canvass.tlc.programs import find_jar, find_java

    try:
        java = find_java()
    except TlcError as error:
        yield _problem("Java", error)
    else:
        yield Prerequisite("Java", Status.OK, f"{java.version} at {java.path}")

    try:
        found = find_jar()
    except TlcError as error:
        yield _problem("tla2tools.jar", error)
    else:
        known = f"known, TLC {found.known}" if found.known else "canvass is not tested with it"
        yield Prerequisite(
            "tla2tools.jar",
            Status.OK,
            f"{found.path} (from {found.source}), SHA-256 {found.sha256[:12]}… ({known})",
        )


def _spec() -> Prerequisite:
    from canvass.spec.files import SpecError, spec_root
    from canvass.spec.manifest import load_manifest

    try:
        models = len(load_manifest().models)
    except SpecError as error:
        fix = f"install {DISTRIBUTION} again, or repair the named file"
        return Prerequisite("spec", Status.PROBLEM, str(error), fix)
    return Prerequisite("spec", Status.OK, f"{models} models in {spec_root()}")


def _known_steps() -> Prerequisite:
    from canvass.spec.files import SpecError
    from canvass.steps.answers import SHIPPED, shipped_answers, spec_digest

    subject = "known steps"
    try:
        steps = len(shipped_answers(spec_digest()))
    except (SpecError, OSError) as error:
        return Prerequisite(subject, Status.PROBLEM, str(error), f"install {DISTRIBUTION} again")
    if not steps:
        other = f"{SHIPPED} is not of this spec: TLC is asked about every step"
        return Prerequisite(subject, Status.ABSENT, other, "make known-steps, in a checkout")
    detail = f"{steps:,} steps that TLC has allowed ship with canvass"
    return Prerequisite(subject, Status.OK, detail)


def _extras() -> Iterator[Prerequisite]:
    for extra, packages in EXTRAS.items():
        found, missing = [], []
        for package in packages:
            try:
                found.append(f"{package} {metadata.version(package)}")
            except metadata.PackageNotFoundError:
                missing.append(package)
        subject = f"extra {extra}"
        if missing:
            detail = f"without {', '.join(missing)}"
            yield Prerequisite(subject, Status.ABSENT, detail, install_command(extra))
        else:
            yield Prerequisite(subject, Status.OK, ", ".join(found))


def _problem(subject: str, error: Exception) -> Prerequisite:
    """Split an error of ``canvass.tlc``: the fix follows the last colon of its text."""
    reason, separator, fix = str(error).rpartition(": ")
    if not separator:
        reason, fix = fix, ""
    return Prerequisite(subject, Status.PROBLEM, reason, fix)


def register(app: typer.Typer) -> None:
    """Add the sub-commands."""
    app.command("doctor")(doctor)
    app.command("selftest")(selftest)


def doctor() -> None:
    """Check that all that canvass needs is installed, and print a fix for each problem.

    Exit code 0: canvass can work here. 2: it cannot. A missing extra is no problem.
    """
    # In order of dependence: a problem can be the cause of later ones.
    python = Prerequisite("Python", Status.OK, platform.python_version())
    findings = [_canvass(), python, *_java_and_tlc(), _spec(), _known_steps(), *_extras()]
    show("doctor", findings=findings)
    if any(one.status is Status.PROBLEM for one in findings):
        raise typer.Exit(EXIT_ERROR)


RUNS: Final = 1_008
"""A multiple of the number of corruptions: each gets the same number of runs."""


def selftest(
    runs: Annotated[
        int, typer.Option(min=16, help="Number of good runs and of corrupted runs.")
    ] = RUNS,
    output: Output = Format.HUMAN,
) -> None:
    """Check the checker: it must reject corrupted runs for the right reason.

    Runs of a simulated cluster must conform, and runs that are corrupted in sixteen ways must be
    rejected for the right reason. TLC confirms each step of these verdicts.

    Exit code 0: everything was found. 1: a verdict is wrong. 2: TLC could not run.
    130: interrupted.
    """
    from canvass.selftest.runs import check_runs, make_report

    began_s = time.monotonic()
    with (
        Stages(each=True) as stages,
        tempfile.TemporaryDirectory(prefix="canvass-selftest-") as root,
    ):
        found = check_runs(Path(root), good=runs, corrupted=runs, progress=stages.stage)
    report = make_report(found, time.monotonic() - began_s)
    emit(output, report, "selftest")
    raise typer.Exit(EXIT_OK if report.ok else EXIT_UNEXPECTED)
