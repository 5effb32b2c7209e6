"""The safety monitors say of TLC's own behaviours what TLC says of them.

`MonitorWalk.tla` walks at random through ``Cluster.tla`` and breaks its rules now and then. After
each step TLC evaluates the properties of ``Properties.tla``; the monitors are shown the same steps,
in the same order, as they see those of a recorded run.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from canvass.cluster.rules import Rules
from canvass.conformance.causality import order_causes
from canvass.conformance.findings import LOG_STREAM
from canvass.conformance.safety_monitors import PROPERTIES, violations
from canvass.spec.files import module_folders, spec_root
from canvass.steps.oracle import constants_of
from canvass.tlc.config import TlcConfig
from canvass.tlc.results import Outcome
from canvass.tlc.runner import SHORT_RUN, TlcOptions, TlcRun
from canvass.traces.schema import ACTION_NAMES, STATE_ENUMS
from support.run_arrays import StepSketch, arrays_of

WALK = Path(__file__).parent / "MonitorWalk.tla"
MEMBERS = 3
SEEN = (
    "recorded_position",
    "commit_position",
    "publication_position",
    "append_position",
    "module_state",
    "role",
    "election_state",
    "module_leadership_term_id",
    "leadership_term_id",
    "candidate_term_id",
    "persisted_candidate_term_id",
    "leader_member_id",
)
"""The fields of a state that the walk prints, in its order."""

PRINTED = (
    "ElectionSafety",
    "OneVotePerTerm",
    "CandidateTermMonotonic",
    "LogMatching",
    "LeaderCompleteness",
    "CommittedIsDurable",
    "CommitMonotonic",
    "CommitBounded",
    "NoTruncationBelowCommit",
    "StateMachineSafety",
    "RecordingLogCoherent",
)
"""``PropertyBits`` of ``MonitorWalk.tla``."""

NO_MONITOR = {
    "TypeOK": "the reader of traces checks types, the check of steps the rest",
    "MessagesAreWellFormed": "every message sent is checked as a part of the step that sends it",
    "TermOwnership": "what it adds to LogMatching is in logs that no run records whole",
    "TermOpenedByQuorum": "hazard HZ7 breaks it in every revision that is not hardened",
    "QuorumCountsSameLog": "hazard HZ1 breaks it in every revision that is not hardened",
    "RecordedTermIsKnown": "hazard HZ2 breaks it in every revision that is not hardened",
    "ReportersHaveNotVotedSince": "hazard HZ3 breaks it in every revision that is not hardened",
    "AckedIsDurable": "hazard HZ2 breaks it in every revision that is not hardened",
    "SnapshotAgreement": "a snapshot's term and base are checked as a part of the step",
    "QuorumIsHeardOf": "who was heard of is an input of the step, and checked with it",
    "ServiceBehindCommit": "the bounds of what is consumed are checked as a part of the step",
}
"""Properties that no monitor evaluates, with the reason."""
NO_PROPERTY = {
    "AppliedWithinCommitted": "follows from StateMachineSafety in a model that sees all logs",
}
"""Monitors without a property of the same name, with the reason."""


@dataclass(frozen=True)
class Step:
    """One printed step."""

    happening: StepSketch
    holds: dict[str, bool]


@pytest.fixture(scope="module")
def walks() -> dict[int, list[Step]]:
    """Forty walks, as TLC printed them."""
    return walk("1.50", 40, 200)


def walk(revision: str, walks: int, length: int, *, seed: int = 7) -> dict[int, list[Step]]:
    """Let TLC walk; give the steps of each walk."""
    constants = {
        **constants_of(Rules.of(revision, MEMBERS)),
        "ChannelCapacity": "= 4",
        "NetworkCapacity": "= 12",
        "Walks": f"= {walks}",
        "Length": f"= {length}",
        "SpoilPercent": "= 20",
    }
    config = TlcConfig(init="WalkInit", next="WalkNext", constants=constants)
    options = TlcOptions(
        check_deadlock=False,
        library=module_folders(),
        seed=seed,
        timeout_s=200,
        jvm_args=SHORT_RUN,
    )
    found: dict[int, list[Step]] = {number: [] for number in range(1, walks + 1)}
    with TlcRun(WALK, config, options) as tlc:
        for value in tlc.printed_values():
            number, *printed = value
            found[number].append(_step(*printed))
        assert tlc.wait().outcome is Outcome.SUCCESS
    return found


def _step(
    member: int, action: int, seen: Any, vote: tuple[int, int], coherent: int, bits: Any
) -> Step:
    cells = dict(zip(SEEN, seen, strict=True))
    for name, values in STATE_ENUMS.items():
        cells[name] = values[cells[name]].value
    happening = StepSketch(
        member=member,
        action=ACTION_NAMES[action],
        state=cells.pop("election_state"),
        vote=None if vote[0] < 0 else vote,
        coherent=coherent == 1,
        **cells,
    )
    return Step(happening, dict(zip(PRINTED, (bit == 1 for bit in bits), strict=True)))


def first_failures(steps: list[Step]) -> dict[str, int]:
    """For each property that TLC finds violated the first step after which it is."""
    found: dict[str, int] = {}
    for place, step in enumerate(steps):
        for name, holds in step.holds.items():
            if not holds:
                found.setdefault(name, place)
    return found


def first_alarms(steps: list[Step], revision: str) -> dict[str, int]:
    """For each monitor that fails the step at which it does, in the order in which TLC walked."""
    members = np.array([step.happening.member for step in steps])
    places = np.argsort(members, kind="stable")  # The rows, member by member, as places.
    row_of = np.argsort(places)
    arrays = arrays_of([step.happening for step in steps], MEMBERS)
    complete = [True] * MEMBERS
    order = order_causes(arrays, MEMBERS, empty=True, complete=complete)
    order = replace(order, order=row_of.astype(np.int64))
    found = violations(arrays, order, revision=revision, unknown=False, complete=complete)
    return {each.name: int(places[each.row]) for each in found}


def differing(
    walks: dict[int, list[Step]], revision: str
) -> dict[int, tuple[dict[str, int], dict[str, int]]]:
    """The walks of which monitors and TLC do not say the same, with what each says."""
    found = {}
    for number, steps in walks.items():
        alarms = first_alarms(steps, revision)
        alarms = {name: place for name, place in alarms.items() if name not in NO_PROPERTY}
        if alarms != first_failures(steps):
            found[number] = (alarms, first_failures(steps))
    return found


@pytest.mark.tlc
def test_monitors_fail_where_tlc_says_that_the_property_does(walks: dict[int, list[Step]]) -> None:
    assert differing(walks, "1.50") == {}


@pytest.mark.tlc
@pytest.mark.night
@pytest.mark.parametrize("seed", range(100, 105))
@pytest.mark.parametrize("revision", ["1.49", "1.50", "hardened"])
def test_monitors_fail_where_tlc_says_on_more_walks(revision: str, seed: int) -> None:
    assert differing(walk(revision, 60, 200, seed=seed), revision) == {}


@pytest.mark.tlc
def test_monitors_were_shown_both_sides_of_each_property(walks: dict[int, list[Step]]) -> None:
    broken = Counter(name for steps in walks.values() for name in first_failures(steps))

    assert all(0 < broken[name] < len(walks) for name in PRINTED), broken


def test_monitors_and_properties_bear_the_same_names() -> None:
    text = (spec_root() / "Properties.tla").read_text(encoding="utf-8")
    promised = text.partition("\\* Lemmas: ")[0]
    labelled = set(re.findall(r"\\\* INV: (\w+)", promised))
    stated = set(re.findall(r"^(\w+) == \[\]\[", promised, re.MULTILINE)) | labelled

    assert set(PRINTED) == stated - set(NO_MONITOR)
    assert set(PROPERTIES) == set(PRINTED) | set(NO_PROPERTY)
    assert LOG_STREAM not in stated
