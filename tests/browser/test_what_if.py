"""Steps that were not taken: what may come next, why not another step, and the trace of a path."""

from __future__ import annotations

import io
import random
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from canvass.browser import api, what_if
from canvass.browser.choices import Start, choices, copy_of, moment_of, rules_of, tree_of, walk
from canvass.browser.counterexamples import read_counterexample
from canvass.browser.questions import Refusal
from canvass.browser.sources import Store
from canvass.browser.tried_script import script
from canvass.browser.what_if import THREAD, TlcQuestions
from canvass.conformance.findings import Verdict
from canvass.conformance.verify import check_run
from canvass.distance.moments import RunMoments
from canvass.distance.search import Distance, Moment
from canvass.lanes.drawing import Tree, action_name
from canvass.spec.files import spec_root
from canvass.tlc.errors import TlcError
from support.browse import Asked, serving
from support.core_lookup import core_lookup
from support.dialogue import Dialogue, replay

HAZARD_1 = Path(__file__).parent / "tlc" / "hazard1.txt"


@pytest.fixture(scope="module")
def server(good_run: Path, run_from_unknown_logs: Path) -> Iterator[Asked]:
    with serving([good_run, HAZARD_1, run_from_unknown_logs]) as running:
        yield running


def walked(start: Start, seed: int, steps: int = 40) -> list[str]:
    """Take steps by chance."""
    world, rng, path = start.cluster(), random.Random(seed), list[str]()
    while len(path) < steps and (found := choices(world)):
        name = rng.choice(list(found))
        found[name].take(world)
        path.append(name)
    return path


@pytest.mark.parametrize("at", [3, 60, 150, 260, 399])
def test_a_path_by_chance_is_a_run_that_conforms(
    server: Asked, good_run: Path, tmp_path: Path, at: int
) -> None:
    (moment,) = RunMoments(good_run).moments([at])
    path = walked(Start(moment, "", 96), at)
    reply = server.ask(f"/what-if/run/good/{at}/trace", path=",".join(path))
    assert reply.status == 200, reply.body
    file = tmp_path / "what-if.parquet"
    file.write_bytes(reply.body)
    verdict = check_run(file, core_lookup(), "what-if")

    assert len(path) == 40
    assert (verdict.verdict, verdict.reason) == (Verdict.CONFORMS, "")
    taken = sum(not name.endswith(".lost") for name in path)
    assert verdict.events == at + 1 + taken

    world, dialogue = Start(moment, "", 96).cluster(), Dialogue()
    assert len([*walk(world, path)]) == 40
    scenario = server.ask(f"/what-if/run/good/{at}/scenario", path=",".join(path)).body.decode()
    replay(scenario, dialogue)
    assert scenario.startswith(f"# What may come after event {at + 1} of good.\ncluster 3 1.50\n")
    assert (dialogue.world.members, dialogue.world.logs) == (world.members, world.logs)


@pytest.mark.tlc
@pytest.mark.parametrize(
    "at", [3, *(pytest.param(at, marks=pytest.mark.night) for at in (60, 150, 260, 399))]
)
def test_tlc_takes_a_path_by_chance(good_run: Path, at: int) -> None:
    (moment,) = RunMoments(good_run).moments([at])
    start = Start(moment, "", 96)
    made = script(start, walked(start, at, 40 if at > 3 else 10))

    assert made.verdict(made.played(120)) == (
        "TLC confirms it: each step is one of Cluster.tla, and they lead to this state"
    )


@pytest.mark.tlc
@pytest.mark.night
def test_a_script_is_checked_as_a_model_and_another_one_is_not_confirmed(tmp_path: Path) -> None:
    found = read_counterexample(HAZARD_1)
    start = Start(moment_of(found.states[4], rules_of(found.title, 3)), "state 5", 1)
    made = script(start, ["1.AppendEntry.position2", "1.AppendEntry.position3"])
    short = replace(made, module=made.module.replace("Writes(1) \\o\n", ""))
    never = {**made.config.constants, "BoundAppend": "<- MCNever"}
    barred = replace(made, config=replace(made.config, constants=never))
    with zipfile.ZipFile(io.BytesIO(made.zipped())) as archive:
        archive.extractall(shutil.copytree(spec_root(), tmp_path / "spec"))
    words = [sys.executable, "-m", "canvass.cli.main", "check", f"{tmp_path}/spec/WhatIf.tla"]
    checked = subprocess.run(words, capture_output=True, text=True, check=True)

    assert "3 distinct" in checked.stdout
    assert "they lead to another state" in short.verdict(short.played(60))
    assert barred.verdict(barred.played(60)) == (
        "TLC takes 0 of 2 steps; the next one is none of Cluster.tla"
    )


def known(state: Tree) -> Tree:
    """The members and their logs. The model's network keeps fewer messages than are sent."""
    return {name: state[name] for name in ("member", "log")}


def test_each_step_of_a_counterexample_is_a_choice_in_the_state_before_it() -> None:
    found = read_counterexample(HAZARD_1)
    rules = rules_of(found.title, 3)
    for (before, after), action in zip(pairwise(found.states), found.actions[1:], strict=True):
        world = Start(moment_of(before, rules), "", 1).cluster()
        assert known(tree_of(world)) == known(before)
        reached = []
        for choice in choices(world).values():
            if choice.action == action_name(action):
                later = copy_of(world)
                choice.take(later)
                reached.append(known(tree_of(later)))
        assert known(after) in reached, action


def test_a_path_is_shown_state_by_state_with_a_watched_value_in_each(server: Asked) -> None:
    place = "/what-if/counterexample/hazard1.txt/4"
    first = server.get(api.WhatIf, place)
    chosen = next(one for one in first.choices if one.action == "AppendEntry")
    watch = f"member[{chosen.member}].publicationPosition"
    found = server.get(api.WhatIf, place, path=chosen.name, watch=watch)

    assert [one.action for one in found.behaviour.states] == ["", "AppendEntry"]
    assert found.values == ("1", "2")
    assert chosen.changes[0] == "publicationPosition 1 → 2"


def test_a_step_that_is_not_possible_is_refused_by_its_number(server: Asked) -> None:
    place = "/what-if/counterexample/hazard1.txt/4"
    first = server.get(api.WhatIf, place).choices[0]
    problem = server.ask(place, path=f"{first.name},0.Nominate").problem()

    assert "step 2, '0.Nominate', is not possible there" in problem.message


def test_a_member_whose_first_steps_are_unknown_has_no_next_steps(server: Asked) -> None:
    reply = server.ask(f"/what-if/run/{server.ids[2]}/0")

    assert reply.status == 400
    assert "the state of the cluster is not known here" in reply.problem().message


def test_a_message_that_is_not_under_way_is_the_reason(server: Asked) -> None:
    place = "/what-if/counterexample/hazard1.txt/4/why-not"
    found = server.get(api.WhyNot, place, member=0, action="OnVote")

    assert (found.note, found.parts) == (
        "No Vote can arrive at member 0 now: none is under way.",
        (),
    )
    assert found.operator is not None


@pytest.mark.tlc
def test_the_parts_of_a_guard_have_their_values(server: Asked) -> None:
    place = "/what-if/counterexample/hazard1.txt/4/why-not"
    found = server.get(api.WhyNot, place, member=0, action="AppendEntry")

    assert [(one.text, one.blocks) for one in found.parts] == [
        ('~Closed(s, "LEADER")', True),
        ("x.position <= s.publicationPosition", False),
        ("HasInitiatedTermination(s)", False),
    ]
    assert found.parts[0].values == ("s.electionState = CLOSED", "s.role = FOLLOWER")
    assert found.parts[1].values == ("x.position = 0", "s.publicationPosition = -1")


def join_search() -> None:
    """Wait until the search has ended."""
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join()


def nearest(server: Asked, place: str, **query: str) -> api.TlcAnswer:
    """Ask, and ask again when TLC has searched."""
    assert server.get(api.TlcAnswer, f"{place}/nearest", **query).pending
    join_search()
    return server.get(api.TlcAnswer, f"{place}/nearest", **query)


def test_tlc_works_on_one_question_at_a_time_and_what_failed_begins_again(
    good_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, begun = threading.Event(), list[str]()

    def searched(_root: Path, moment: Moment, *_: object) -> tuple[Distance, None]:
        begun.append(moment.label)
        go_on.wait(60)
        if len(begun) == 1:
            raise TlcError("no Java")
        return Distance(None, {}, 4, True, 9, 0.0), None

    monkeypatch.setattr(what_if, "search", searched)
    first, second = RunMoments(good_run).moments([3, 60])
    questions = TlcQuestions(Store())

    def asked(moment: Moment) -> api.TlcAnswer:
        return questions.ask(moment, lambda: questions.nearest(moment))

    assert asked(first).pending
    with pytest.raises(Refusal, match="another question"):
        asked(second)
    go_on.set()
    join_search()
    with pytest.raises(Refusal, match="no Java"):
        asked(first)
    assert asked(first).pending
    join_search()
    assert asked(first).states == 9
    assert begun == ["event 3", "event 3"]


def test_the_tlc_questions_is_searched_after_a_path_and_opens_as_a_counterexample(
    server: Asked,
) -> None:
    """From the state before the last one of HZ1, one step leads to the loss."""
    found = read_counterexample(HAZARD_1)
    third, second = found.states[-3:-1]
    world = Start(moment_of(third, rules_of(found.title, 3)), "", 1).cluster()
    reached = {}
    for name, choice in choices(world).items():
        later = copy_of(world)
        choice.take(later)
        reached[name] = known(tree_of(later))
    (taken,) = (name for name, after in reached.items() if after == known(second))
    place = f"/what-if/counterexample/hazard1.txt/{len(found.states) - 3}"

    answer = nearest(server, place, path=taken)

    assert answer.text == "1 step to a violation of CommittedIsDurable"
    assert answer.counterexample is not None
    view = server.get(api.CounterexampleView, f"/counterexample/{answer.counterexample}")
    assert (view.states_total, view.property) == (2, "CommittedIsDurable")
    assert len(view.states[-1].tree["hist"]["committed"]) > len(second["hist"]["committed"])
