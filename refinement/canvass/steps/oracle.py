"""The oracle: TLC decides whether the spec allows given steps.

Steps go to `StepOracle.tla` as integers in strings of digits, many in one run of TLC. Nothing here
decides a verdict, keeps an answer or uses the Python core.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.spec.files import find_file, module_folders
from canvass.steps.step import Step, flat_member, flat_message, input_cells
from canvass.tlc.errors import TlcError
from canvass.tlc.values import Value
from canvass.traces.actions import ACTIONS

if TYPE_CHECKING:
    from canvass.tlc.config import TlcConfig
    from canvass.tlc.results import CheckResult


BATCH_STEPS: Final = 20_000
"""Steps in one run of TLC. More need memory; fewer repeat the start of Java."""

_ROOT_MODULE: Final = "StepOracleBatch"
_HEAP_MIB: Final = 2048


class OracleError(TlcError):
    """TLC ended without an answer for every step."""


REVISION_MODULES: Final = ("Rev149", "UpstreamFix", "Hardened")
"""The modules with rules that differ from Aeron 1.50. The other modules have the rules of 1.50.

An operator of these modules replaces one of the others: ``HZ1_CountedPosition`` replaces
``CountedPosition`` for members that are hardened against HZ1.
"""
_PREFIX_OF: Final = {"1.49": "Rev149", "1.50": "", "upstream-fix": "UpstreamFix"}
_OVERRIDE: Final = re.compile(r"^(Rev149|UpstreamFix|HZ\d+)_(\w+)(?:\(|\s*==)", re.MULTILINE)


@cache
def _overridden(root: Path | None) -> tuple[tuple[str, str], ...]:
    """The prefix and the rule of each override."""
    texts = (
        find_file(f"{name}.tla", root).read_text(encoding="utf-8") for name in REVISION_MODULES
    )
    return tuple((one[1], one[2]) for text in texts for one in _OVERRIDE.finditer(text))


def overrides(
    revision: str, hardening: Collection[str], root: Path | None = None
) -> dict[str, str]:
    """Give the constants of a configuration that name the rules of a revision and of hardenings.

    Parameters
    ----------
    revision
        ``1.49``, ``1.50`` or ``upstream-fix``. Where a hardening overrides the same rule, the
        revision's is in force.
    hardening
        The hazards against which the members are hardened.
    root
        The spec folder; None for the one that ships with canvass.

    Returns
    -------
    dict
        ``<- operator`` for the name of each rule that is overridden.
    """
    prefixes = [*sorted(hardening), _PREFIX_OF[revision]]
    return {
        rule: f"<- {prefix}_{rule}"
        for wanted in prefixes
        for prefix, rule in _overridden(root)
        if prefix == wanted
    }


def constants_of(rules: Rules, root: Path | None = None) -> dict[str, str]:
    """Give the constants of the rules, and the overrides of a spec folder, for a configuration."""
    hardening = ", ".join(f'"{name}"' for name in sorted(rules.hardening))
    leader = rules.appointed_leader_id
    return {
        "MemberCount": f"= {rules.member_count}",
        "Revision": f'= "{rules.revision}"',
        "Hardening": f"= {{{hardening}}}",
        "AppointedLeaderId": "<- NoAppointedLeader" if leader == NULL_VALUE else f"= {leader}",
        **overrides(rules.revision, rules.hardening, root),
    }


def config_of(rules: Rules) -> TlcConfig:
    """Give the configuration of a run of the oracle."""
    from canvass.tlc.config import TlcConfig

    return TlcConfig(constants={**constants_of(rules), "Steps": "<- GivenSteps"})


def ask(rules: Rules, steps: Sequence[Step]) -> list[bool]:
    """Ask TLC whether the spec allows steps, in as many runs as it takes.

    Parameters
    ----------
    rules
        The rules of all steps.
    steps
        In any order. Sends to different members have no order.

    Returns
    -------
    list of bool
        Whether each step is allowed, in the order of the steps.

    Raises
    ------
    OracleError
        If TLC ends without an answer for each step.
    TlcError
        If Java or the jar is missing.
    """
    answers: list[bool] = []
    for start in range(0, len(steps), BATCH_STEPS):
        answers += _ask_batch(rules, steps[start : start + BATCH_STEPS])
    return answers


def _ask_batch(rules: Rules, steps: Sequence[Step]) -> list[bool]:
    from canvass.tlc.results import Outcome
    from canvass.tlc.runner import SHORT_RUN

    options = {"heap_mib": _HEAP_MIB, "stack_mib": 512, "jvm_args": SHORT_RUN}
    values, result, foreign = printed_by(
        _ROOT_MODULE, module_text(steps), config_of(rules), **options
    )
    given = dict(map(_answer, values))
    if result.outcome is not Outcome.SUCCESS or len(given) != len(steps):
        reason = result.message
        if foreign:
            reason += f"; TLC's output has the line {foreign[0]!a}"
        raise OracleError(f"the oracle answered for {len(given)} of {len(steps)} steps: {reason}")
    return [given[number] for number in range(1, len(steps) + 1)]


def printed_by(
    name: str, text: str, config: TlcConfig, **options: Any
) -> tuple[list[Any], CheckResult, Sequence[str]]:
    """Run TLC on a module, which may extend those of the spec.

    Parameters
    ----------
    name, text
        The name of the module, and its text.
    config
        The configuration.
    options
        Those of `canvass.tlc.runner.TlcOptions`.

    Returns
    -------
    tuple
        The values that it printed, the result, and lines of the output that are no values.
    """
    from canvass.tlc.runner import TlcOptions, TlcRun

    with tempfile.TemporaryDirectory(prefix="canvass-tlc-") as folder:
        module = Path(folder) / f"{name}.tla"
        module.write_text(text, encoding="utf-8")
        with TlcRun(module, config, TlcOptions(library=module_folders(), **options)) as tlc:
            values = list(tlc.printed_values())
            return values, tlc.wait(), tlc.foreign_lines


def module_text(steps: Sequence[Step]) -> str:
    """Give the module that holds the steps as data: strings of digits and nothing else."""
    rows = ",\n".join(f'"{step_text(step)}"' for step in steps)
    return (
        f"---- MODULE {_ROOT_MODULE} ----\nEXTENDS StepOracle\nGivenSteps == <<\n{rows}\n>>\n====\n"
    )


def step_text(step: Step) -> str:
    """Write a step as the string that ``StepOracle.tla`` reads."""
    return to_digits(_cells(step))


DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
"""``DigitTable`` of ``Encoding.tla``."""
_SHORT_OFFSET: Final = 8
_LONG_OFFSET: Final = 1 << 30


def to_digits(cells: Sequence[int]) -> str:
    """Write integers as ``IntegersOf`` reads them: one digit each if they are small, else six.

    Raises
    ------
    OracleError
        If an integer has more than 31 bits.
    """
    lowest, highest = min(cells), max(cells)
    if lowest >= -_SHORT_OFFSET and highest < 64 - _SHORT_OFFSET:
        return "1" + "".join([DIGITS[cell + _SHORT_OFFSET] for cell in cells])
    if lowest < -_LONG_OFFSET or highest >= _LONG_OFFSET:
        wrong = lowest if lowest < -_LONG_OFFSET else highest
        raise OracleError(f"{wrong} is too large for TLC, whose integers have 32 bits")
    return "6" + "".join(
        DIGITS[cell + _LONG_OFFSET >> shift & 63]
        for cell in cells
        for shift in (30, 24, 18, 12, 6, 0)
    )


def _cells(step: Step) -> list[int]:
    cells = [step.member, ACTIONS.index(step.action)]
    cells += [*flat_member(step.before), *flat_member(step.after)]
    cells += [*input_cells(step.input), *flat_message(step.input.message), len(step.sends)]
    for receiver, message in step.sends:
        cells += [receiver, *flat_message(message)]
    return cells


def _answer(value: Value) -> tuple[int, bool]:
    """Give the number of a step, and whether it is allowed."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise OracleError(f"TLC printed what the oracle does not: {value!a}")
    number, right = value
    assert isinstance(number, int)
    return number, right == 1
