"""The frame table names what the spec's operators read and write: no field more, none less.

Read off the TLA+ text, operator by operator with all that it calls, so that a change of the spec
that reads another field cannot pass unnoticed by the canonical form.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from canvass.cluster.messages import wire_name
from canvass.cluster.rules import Rules
from canvass.conformance.findings import Verdict
from canvass.selftest.runs import record_run
from canvass.spec.files import spec_root
from canvass.steps.action_fields import FIELDS, REGIME_FIELDS, Regime, frame_of
from canvass.steps.oracle import REVISION_MODULES
from canvass.traces.actions import ACTION_INPUTS, ACTIONS, Action
from support.checked_runs import check_corpus
from support.core_lookup import core_lookup

MODULES = (
    "Messages",
    "RecordingLog",
    "MemberState",
    "Election",
    "Replication",
    *REVISION_MODULES,
)
NO_STATE = {"m", "x", "r", "e", "record", "entry", "last", "n", "o"}
"""Names that the operators give to messages, inputs, records and entries, never to a state."""
STATE = {wire_name(name) for name in FIELDS if "." not in name}
WHOLE_STATE = {Action.RESTART, Action.TERMINATE}
"""They replace the state, and their frames are not in the table."""
CLUSTER_OF_ONE = {"recordingLog", "snapshotLeadershipTermId", "snapshotTermBaseLogPosition"}
"""An election of a cluster of one, hardened, opens its term at once. The messages that begin an
election come from another member, so there are none in such a cluster."""
UPSTREAM_FIX = {
    Action.CANVASS: {"candidateTermId", "logLeadershipTermId"},
    Action.FOLLOWER_BALLOT: {"logLeadershipTermId"},
    Action.FOLLOWER_CATCHUP: {"leadershipTermId"},
}
"""Fields that only the revision upstream-fix reads. It is in the spec only: no trace is of it."""
DROPPED = {
    Action.ELECTION_ERROR: {"candidateTermId", "gracefulClosedLeaderId", "notifiedCommitPosition"}
}
"""Fields that a step should clear when it closes the election, and that a failed step still has."""
UPSTREAM_FIX_INPUT = {Action.CANVASS: {"leadershipTermId"}}
ALONE = {Action.ON_REQUEST_VOTE, Action.ON_COMMIT_POSITION, Action.ON_NEW_LEADERSHIP_TERM}


@cache
def operators() -> dict[str, str]:
    """The body of each operator, without comments."""
    found: dict[str, str] = {}
    for module in MODULES:
        text = (spec_root() / f"{module}.tla").read_text(encoding="utf-8")
        text = re.sub(r"\(\*.*?\*\)", "", text, flags=re.DOTALL)
        text = re.sub(r"\\\*.*", "", text)
        parts = re.split(r"^([A-Z]\w*)(?:\([^)]*\))? ==", text, flags=re.MULTILINE)
        found |= dict(zip(parts[1::2], parts[2::2], strict=True))
    return found


def text_of(name: str) -> str:
    """The body of an operator with those of all that it uses."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += [other for other in operators() if other.partition("_")[2] == each]
            waiting += [
                word for word in re.findall(r"\b[A-Z]\w*", operators()[each]) if word in operators()
            ]
    return "\n".join(operators()[each] for each in sorted(seen))


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: str(action.value))
def test_operator_reads_of_its_input_what_the_table_says(action: Action) -> None:
    found = set(re.findall(r"\bx\.(\w+)", text_of(action.value))) - {"message"}

    expected = {wire_name(name) for name in ACTION_INPUTS[action].fields}
    assert found == expected | UPSTREAM_FIX_INPUT.get(action, set())


@pytest.mark.parametrize(
    "action", [a for a in ACTIONS if a not in WHOLE_STATE], ids=lambda action: str(action.value)
)
def test_operator_touches_the_fields_that_its_frames_name(action: Action) -> None:
    text = text_of(action.value)
    read = {name for of, name in re.findall(r"\b(\w+)\.(\w+)", text) if of not in NO_STATE}
    written = set(re.findall(r"!\.(\w+)", text))
    spec = (read | written) & STATE
    regimes = [regime for regime in Regime if regime is not Regime.INACTIVE]
    frames = [frame_of(action, regime, shows_votes=True) for regime in regimes]
    kept = {name for each in frames if each.after < FIELDS for name in each.after}
    frame = {wire_name(name) for name in kept if "." not in name}
    exempt = CLUSTER_OF_ONE if action in ALONE else (UPSTREAM_FIX | DROPPED).get(action, set())

    assert spec - exempt <= frame, "the spec touches what the frame leaves out"
    assert frame - {wire_name(name) for name in REGIME_FIELDS} <= spec, "the frame names too much"


def test_operators_are_found() -> None:
    assert len(operators()) > 80
    assert "EnterCanvass" in text_of("FollowerBallot") or "role" in text_of("FollowerBallot")


def test_a_single_hardened_member_may_begin_an_election(tmp_path: Path) -> None:
    """It opens its next term in the same step, as nobody else has to vote."""
    for seed in range(6):
        folder = tmp_path / f"run-{seed}"
        record_run(folder, Rules.of("hardened", 1), seed, 150, faults=0.05, run_id=folder.name)

    found = check_corpus([tmp_path], core_lookup())

    assert {run.verdict for run in found.runs} == {Verdict.CONFORMS}
    assert "EnterElection" in (tmp_path / "run-0" / "member-0.ndjson").read_text()
