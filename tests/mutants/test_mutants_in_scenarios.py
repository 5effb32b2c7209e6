"""Mutants of the core in the golden scenarios: caught by the checker, or not shown there.

The mutant takes the steps of the core in each scenario. If none differs, the scenario records the
same run with the mutant as with the core: no checker of traces can tell them apart, and the table
gives the reason. If a step differs, the scenario is run with the mutant, recorded and checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from canvass.cluster import core
from canvass.cluster.member import Input, Member
from canvass.cluster.outcome import Outcome
from canvass.cluster.rules import Rules
from canvass.conformance.check import check_units
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verdict import DivergenceClass, RunVerdict
from canvass.selftest.kill_matrix import MUTANTS, Core, Mutant, load
from canvass.selftest.runs import CoreThenOracle
from support.dialogue import Dialogue, replay
from support.scenario_runs import RecordedScenario, record_scenario, run_id_of, scenario_files

TABLE: Final = Path(__file__).resolve().parents[2] / "docs" / "theory" / "mutants-in-traces.md"
RECORDED: Final = 6
"""Maximum number of scenarios that are recorded of a mutant."""

PAGE: Final = """\
# Mutants of the core in recorded scenarios

Each mutant of the protocol core runs the golden scenarios. Its steps are recorded, and the checker checks the recorded runs. It
catches {caught} of {count} mutants. The traces of these scenarios do not show the other {hidden}: each of their steps was compared with the
core's, and the states and sends are the same. The state graphs kill all but two; no state that a member can reach shows these two
([selftest](../guide/selftest.md)).

    pytest -m night tests/mutants/test_mutants_in_scenarios.py       # with --rewrite it writes this page

| mutant | in traces | by what in how many runs, or why not |
|---|---|---|
{rows}
"""  # noqa: E501  (lines of a page)

Asked = tuple[Rules, int, Member, str, Input]


def differs(mine: Outcome | None, sound: Outcome | None) -> bool:
    """Tell whether a trace shows a mutant's outcome to differ from the core's."""
    if mine is None:
        return False
    return sound is None or (mine.next, mine.sends) != (sound.next, sound.sends)


def steps_of_core(source: Path) -> list[tuple[Asked, Outcome | None]]:
    """Give the calls of the core in a scenario, with their outcomes."""
    asked: list[tuple[Asked, Outcome | None]] = []

    def step(rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        outcome = core.step(rules, i, s, action, x)
        asked.append(((rules, i, s, action, x), outcome))
        return outcome

    replay(source.read_text(encoding="utf-8"), Dialogue(step))
    return asked


@dataclass
class Watching:
    """A mutant that notes the actions in which it takes another step than the core."""

    broken: Core
    differs: set[str] = field(default_factory=set)
    raised: bool = False

    def step(self, rules: Rules, i: int, s: Member, action: str, x: Input) -> Outcome | None:
        """Take one step."""
        try:
            outcome = self.broken.step(rules, i, s, action, x)
        except Exception as error:
            self.raised = True
            raise RuntimeError("the mutant raises") from error
        if differs(outcome, core.step(rules, i, s, action, x)):
            self.differs.add(action)
        return outcome


@dataclass
class Row:
    """The results of a mutant in all scenarios."""

    mutant: Mutant
    runs: list[tuple[Watching, RecordedScenario]] = field(default_factory=list)
    verdicts: list[RunVerdict] = field(default_factory=list)
    otherwise: int = 0
    """Number of scenarios in which it takes another step, takes none, or raises."""
    taken: int = 0
    """Number of its steps that equal the core's."""

    def wrong(self) -> Iterator[tuple[str, str]]:
        """Give the runs with a wrong verdict; an error ends a run within a step."""
        for (watching, recorded), verdict in zip(self.runs, self.verdicts, strict=True):
            # If the disk was not recorded, a wrong restart may be right for another disk.
            seen = watching.differs - ({"Restart"} if recorded.laid_down else set())
            caught = bool(self._found(verdict))
            if caught and not watching.differs:
                yield self.mutant.name, f"{verdict.run_id} is rejected"
            if seen and not caught and not recorded.ended:
                yield self.mutant.name, f"{verdict.run_id} is not rejected: {seen}"

    def _found(self, verdict: RunVerdict) -> list[str]:
        promise = DivergenceClass.SAFETY_PROPERTY
        return [found.name for found in verdict.divergences if found.kind is not promise]

    def result(self) -> tuple[str, str]:
        """Give ``caught`` and the divergences, or ``not shown`` and the reason."""
        names = Counter(found[0] for found in map(self._found, self.verdicts) if found)
        if names:
            most = ", ".join(f"`{name}`" for name, _ in sorted(names.items())[:3])
            return "caught", f"{most} in {names.total()} of {len(self.runs)} runs"
        return "not shown", self._reason()

    def _reason(self) -> str:
        if self.mutant.shows_in == "effects":
            return "states and sends are the core's; only other effects, or their order, differ"
        if self.mutant.unreachable:
            return f"no state that a member can reach shows it: {self.mutant.unreachable}"
        if any(watching.raised for watching, _ in self.runs):
            return "it raises before it has taken another step"
        if self.otherwise:
            return f"in {self.otherwise} scenarios it takes fewer steps, and no other ones"
        return f"all {self.taken:,} steps of the scenarios are taken as by the core"


def rows_of(folder: Path, lookup: StepLookup) -> list[Row]:
    """Run all mutants in all scenarios."""
    asked = {source: steps_of_core(source) for source in scenario_files()}
    rows = []
    for mutant in MUTANTS.values():
        row, broken = Row(mutant), load(mutant)
        rows.append(row)
        for source, steps in asked.items():
            same = _equal_steps(broken, steps)
            row.taken += same
            if same == len(steps):
                continue
            row.otherwise += 1
            if len([w for w, _ in row.runs if w.differs]) < RECORDED:
                watching = Watching(broken)
                place = folder / mutant.name / run_id_of(source)
                row.runs.append((watching, record_scenario(source, place, watching.step)))
    verdicts = iter(check_units([r.folder for row in rows for _, r in row.runs], lookup).runs)
    for row in rows:
        row.verdicts = [next(verdicts) for _ in row.runs]
    return rows


def _equal_steps(broken: Core, steps: list[tuple[Asked, Outcome | None]]) -> int:
    """Count the steps up to the first one that a mutant takes differently."""
    for count, (asked, outcome) in enumerate(steps):
        try:
            mine = broken.step(*asked)
        except Exception:  # noqa: BLE001 - a mutant may raise anything
            return count
        if (mine is None) != (outcome is None) or differs(mine, outcome):
            return count
    return len(steps)


def table_of(rows: list[Row]) -> str:
    """Write the page with a row for each mutant."""
    reported = {row.mutant.name: row.result() for row in rows}
    counts = Counter(standing for standing, _ in reported.values())
    listed = [
        f"| `{name}` | {standing} | {why} |" for name, (standing, why) in sorted(reported.items())
    ]
    return PAGE.format(
        count=len(rows),
        caught=counts["caught"],
        hidden=counts["not shown"],
        rows="\n".join(listed),
    )


@pytest.mark.tlc
@pytest.mark.night
def test_mutants_in_scenarios_are_caught_or_not_shown(tmp_path: Path, rewrite: bool) -> None:
    answers = CoreThenOracle()

    rows = rows_of(tmp_path, StepLookup(oracle=answers.ask))
    table = table_of(rows)
    if rewrite:
        TABLE.write_text(table, encoding="utf-8")

    assert [wrong for row in rows for wrong in row.wrong()] == []
    assert TABLE.read_text(encoding="utf-8") == table
    assert answers.confirm() == []
