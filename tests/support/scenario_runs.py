"""Scenarios recorded as runs: the steps of the members of a dialogue, for the checker.

No member has recorded the parts that a scenario makes by hand. A message made by hand has a number
beyond the end of its sender's stream. If a scenario sets the content of disks, the run counts as
one that began earlier. A member that was never started has no stream.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from canvass.cluster.duty_cycle import StepRecorder
from canvass.cluster.rules import Rules
from canvass.traces.recorder import RunRecorder
from canvass.traces.schema import Run
from support.dialogue import Dialogue, replay
from support.scenario_language import ScenarioError

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
_DISK = re.compile(r"^disk ", re.MULTILINE)
_VIOLATES = re.compile(r"^# Violates: (.*)\.$", re.MULTILINE)


def scenario_files() -> list[Path]:
    """All golden scenarios."""
    return sorted(SCENARIOS.rglob("*.txt"))


def run_id_of(source: Path) -> str:
    """A name for the run of a scenario."""
    return f"{source.parent.name}.{source.stem}".replace("_", "-")[:60]


@dataclass(frozen=True)
class RecordedScenario:
    """A scenario that was run and recorded."""

    source: Path
    folder: Path
    rules: Rules
    by_hand: int
    """The number of messages that were made by hand."""
    laid_down: bool
    """Whether members began with something on disk."""
    silent: int
    """The number of members that took no step."""
    broken: frozenset[str]
    """The properties that the scenario declares as violated."""
    ended: str
    """The reason why it did not run to its end; empty if it did."""

    @property
    def whole(self) -> bool:
        """Whether everything that happened is recorded."""
        return not (self.by_hand or self.laid_down or self.silent)


class _Lazy:
    """Records the steps of a member in a stream that begins with the first of them."""

    def __init__(self, recorder: RunRecorder, member: int) -> None:
        self._recorder, self._member = recorder, member
        self.steps = 0

    def record(self, *step: Any, **facts: Any) -> int:
        self.steps += 1
        return self._recorder.member(self._member).record(*step, **facts)


def record_scenario(source: Path, folder: Path) -> RecordedScenario:
    """Run a scenario and record it.

    Parameters
    ----------
    source
        The file of the scenario.
    folder
        The new folder of the run, whose name is the id of the run.
    """
    text = source.read_text(encoding="utf-8")
    laid_down = _DISK.search(text) is not None
    opened: list[RunRecorder] = []
    members: list[_Lazy] = []
    seen: list[Rules] = []

    def recorders(rules: Rules) -> Sequence[StepRecorder]:
        initial: Literal["empty", "unknown"] = "unknown" if laid_down else "empty"
        run = Run.of(rules, folder.name, {"kind": "scenario"}, initial)
        recorder = RunRecorder(folder, run, flush=False)
        opened.append(recorder)
        seen.append(rules)
        members.extend(_Lazy(recorder, i) for i in range(rules.member_count))
        return members

    dialogue = Dialogue(recorders)
    ended = ""
    try:
        replay(text, dialogue)
    except ScenarioError as error:
        ended = str(error)
    finally:
        for recorder in opened:
            recorder.close()
    return RecordedScenario(
        source=source,
        folder=folder,
        rules=seen[0],
        by_hand=dialogue.by_hand,
        laid_down=laid_down,
        silent=sum(not member.steps for member in members),
        broken=frozenset(name for names in _VIOLATES.findall(text) for name in names.split(", ")),
        ended=ended,
    )
