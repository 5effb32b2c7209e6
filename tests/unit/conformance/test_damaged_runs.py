"""Conforming runs are behaviours: a naive reader finds no fault in a damaged run that conforms."""

from __future__ import annotations

import copy
import random
import shutil
from functools import partial
from pathlib import Path

import pytest

from canvass.cluster.rules import Rules
from canvass.conformance.findings import Verdict
from canvass.selftest.runs import record_run
from support.checked_runs import check_corpus
from support.core_lookup import core_lookup
from support.corruptions import Streams, read_streams, write_streams
from support.naive_check import first_fault
from support.random_spoils import SPOILS, Spoil, began_earlier


def _places(streams: Streams, rng: random.Random) -> tuple[int, int, int, int]:
    """A member and a place in its stream, and another one and a place in its stream."""
    one, other = rng.sample(sorted(streams), 2)
    return one, rng.randrange(1, len(streams[one])), other, rng.randrange(1, len(streams[other]))


def _renumber(streams: Streams) -> None:
    for lines in streams.values():
        for step, line in enumerate(lines):
            line["step"] = step


def step_of_another_member(streams: Streams, rng: random.Random) -> None:
    """A step stands in the stream of another member."""
    one, at, other, to = _places(streams, rng)
    streams[other].insert(to, streams[one].pop(at))


def steps_far_apart_swapped(streams: Streams, rng: random.Random) -> None:
    """Two steps of a member stand in each other's place."""
    member, at, _, _ = _places(streams, rng)
    lines, to = streams[member], rng.randrange(1, len(streams[member]))
    lines[at], lines[to] = lines[to], lines[at]


def restarted_unseen(streams: Streams, rng: random.Random) -> None:
    """The first step of a member stands once more in the midst of its stream."""
    member, at, _, _ = _places(streams, rng)
    streams[member].insert(at, copy.deepcopy(streams[member][0]))


def streams_swapped(streams: Streams, rng: random.Random) -> None:
    """Two members have each other's streams."""
    one, _, other, _ = _places(streams, rng)
    streams[one], streams[other] = streams[other], streams[one]


def stream_of_another_run(foreign: Streams, streams: Streams, rng: random.Random) -> None:
    """A member has the stream that it has in another run, from some step on."""
    member, at, _, _ = _places(streams, rng)
    streams[member][at:] = copy.deepcopy(foreign[member][at:])


def step_of_another_run(foreign: Streams, streams: Streams, rng: random.Random) -> None:
    """A step is that of another run."""
    member, at, _, _ = _places(streams, rng)
    streams[member][at] = copy.deepcopy(rng.choice(foreign[member]))


def message_of_another(streams: Streams, rng: random.Random) -> None:
    """A message received has the id of another one."""
    given = [line["input"] for lines in streams.values() for line in lines if line["input"]]
    one, other = rng.sample([each for each in given if "id" in each], 2)
    one["id"], one["from"] = other["id"], other["from"]


def send_to_another(streams: Streams, rng: random.Random) -> None:
    """A message is sent to another member."""
    sends = [send for lines in streams.values() for line in lines for send in line["sends"]]
    send = rng.choice(sends)
    send["to"] = (send["to"] + 1) % len(streams)


def message_sent_twice(streams: Streams, rng: random.Random) -> None:
    """A message has the id of one that its sender sent before."""
    lines = streams[rng.choice(sorted(streams))]
    sends = [send for line in lines for send in line["sends"]]
    first, second = sorted(rng.sample(range(len(sends)), 2))
    sends[second]["id"] = sends[first]["id"]


OWN: tuple[Spoil, ...] = (
    step_of_another_member,
    steps_far_apart_swapped,
    restarted_unseen,
    streams_swapped,
    message_of_another,
    send_to_another,
    message_sent_twice,
)
MAY_CONFORM = {
    "action_renamed",
    "began_earlier",
    "event_missing",
    "event_missing_unseen",
    "event_twice",
    "events_swapped",
    "input_changed",
    "restarted_unseen",
    "steps_far_apart_swapped",
    "stream_cut",
    "term_begins_nowhere",
}
"""Changes that may leave a behaviour: a step that nobody misses, an input that no step reads."""


def damaged_runs(root: Path, rounds: int) -> None:
    """Make a corpus of a run that was damaged in every way, several times."""
    rules = Rules.of("1.50", 3)
    for seed in (1, 2):
        record_run(root.with_name(f"good-{seed}"), rules, seed, 250, faults=0.03)
    good, foreign = root.with_name("good-1"), read_streams(root.with_name("good-2"))
    kept = {spoil.__name__: spoil for spoil in (*SPOILS, began_earlier)}
    numbered = {spoil.__name__: spoil for spoil in OWN}
    numbered |= {
        mix.__name__: partial(mix, foreign) for mix in (stream_of_another_run, step_of_another_run)
    }
    for name, spoil in (kept | numbered).items():
        for number in range(rounds):
            streams = read_streams(good)
            spoil(streams, random.Random(f"{name} {number}"))
            if name in numbered:
                _renumber(streams)
            if streams == read_streams(good):
                continue
            folder = root / f"{name}.{number}"
            folder.mkdir(parents=True)
            shutil.copy(good / "run.json", folder)
            write_streams(folder, streams)


@pytest.mark.parametrize("rounds", [2, pytest.param(30, marks=pytest.mark.night)])
def test_a_damaged_run_that_conforms_is_a_behaviour(tmp_path: Path, rounds: int) -> None:
    damaged_runs(tmp_path / "runs", rounds)

    runs = check_corpus([tmp_path / "runs"], core_lookup()).runs
    found = {Path(run.path): run.verdict for run in runs}

    conforming = [path for path, verdict in found.items() if verdict is Verdict.CONFORMS]
    assert {path.name: fault for path in conforming if (fault := first_fault(path))} == {}
    assert {path.name.partition(".")[0] for path in conforming} <= MAY_CONFORM
    assert set(found.values()) == set(Verdict)
