"""A shrunk run diverges as the run it was made of, and holds nothing but a part of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from canvass.cli.main import run as command
from canvass.cluster.rules import Rules
from canvass.conformance import verify
from canvass.conformance.diagnose import load
from canvass.conformance.findings import DivergenceClass, Verdict
from canvass.conformance.shrink import NothingToShrink, Shrunk, shrink
from canvass.conformance.verify import check_run
from canvass.selftest.runs import record_run
from canvass.traces.run import RunFolder, write_run
from canvass.traces.schema import FactKind
from support import corruptions
from support.core_lookup import core_lookup
from support.corruptions import Streams, corrupted

LOOKUP = core_lookup()
"""Remembers its answers: candidates have the steps of the run they were made of."""

CORRUPTIONS: dict[str, tuple[Callable[[Streams], None], DivergenceClass]] = {
    "step": (corruptions.commit_too_far, DivergenceClass.IMPLEMENTATION_STEP),
    "disk": (corruptions.vote_without_disk, DivergenceClass.IMPLEMENTATION_STEP),
    "gap": (corruptions.untouched_field, DivergenceClass.INSTRUMENTATION_GAP),
    "twice": (corruptions.message_overtaken, DivergenceClass.CAUSALITY),
    "content": (corruptions.checksum_forged, DivergenceClass.CAUSALITY),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shrink") / "run"
    record_run(folder, Rules.of("1.50"), 0, 300, faults=0.0, run_id="good")
    return folder


@dataclass
class Whole:
    """A run that may be shrunk."""

    folder: Path

    def __post_init__(self) -> None:
        whole = RunFolder(self.folder).load()
        self.streams = whole.events
        self.loaded = load(self.folder, whole.run.run_id)
        self.found = check_run(self.folder, LOOKUP)

    def shrink(self) -> Shrunk:
        return shrink(self.loaded, self.found, LOOKUP)


def written(shrunk: Shrunk, folder: Path) -> Path:
    write_run(shrunk.run, shrunk.events, folder)
    return folder


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_remains_diverges_in_the_same_way_at_the_same_event(
    good: Path, tmp_path: Path, name: str
) -> None:
    change, kind = CORRUPTIONS[name]
    bad = Whole(corrupted(good, tmp_path / "bad", change))
    target = bad.found.divergences[0]

    shrunk = bad.shrink()

    found = check_run(written(shrunk, tmp_path / "small"), LOOKUP)
    first = found.divergences[0]
    assert found.verdict is Verdict.DIVERGES
    assert (target.kind, target.name, target.member) == (first.kind, first.name, first.member)
    assert first.kind is kind
    original = next(one for one in bad.streams[target.member] if one.step == target.step)
    kept = next(one for one in shrunk.events[first.member] if one.step == first.step)
    assert msgspec.structs.replace(kept, step=original.step) == original
    assert shrunk.after == found.events < shrunk.before
    assert {fact.kind for fact in found.facts} <= {FactKind.MISSING_STREAM}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_remains_is_a_part_of_the_run_from_its_beginning(
    good: Path, tmp_path: Path, name: str
) -> None:
    change, _ = CORRUPTIONS[name]
    bad = Whole(corrupted(good, tmp_path / "bad", change))

    shrunk = bad.shrink()

    sent = {
        send.id for events in shrunk.events.values() for event in events for send in event.sends
    }
    for member, events in shrunk.events.items():
        whole = [msgspec.structs.replace(event, step=0) for event in bad.streams[member]]
        places = iter(whole)
        assert [event.step for event in events] == list(range(len(events)))
        assert events[0] == bad.streams[member][0]
        for event in events:  # In the order in which they were recorded.
            assert msgspec.structs.replace(event, step=0) in places
            received = event.input
            if received.id and received.from_ in shrunk.events:
                assert received.id in sent
    assert set(shrunk.dropped) == set(bad.streams) - set(shrunk.events)


def test_what_is_shrunk_cannot_be_shrunk_further(good: Path, tmp_path: Path) -> None:
    bad = Whole(corrupted(good, tmp_path / "bad", corruptions.message_overtaken))
    once = bad.shrink()

    again = Whole(written(once, tmp_path / "small")).shrink()

    assert again.after == once.after


def test_a_gap_before_the_divergence_stays_one(good: Path, tmp_path: Path) -> None:
    def change(streams: Streams) -> None:
        member, place, _ = list(corruptions.events(streams, "ConsumeLog"))[3]
        corruptions.commit_too_far(streams)
        del streams[member][place - 6]

    bad = Whole(corrupted(good, tmp_path / "bad", change))

    found = check_run(written(bad.shrink(), tmp_path / "small"), LOOKUP)

    assert found.divergences[0].name == bad.found.divergences[0].name
    assert FactKind.GAP in {fact.kind for fact in bad.found.facts}


def test_a_run_that_does_not_diverge_is_not_shrunk(good: Path) -> None:
    with pytest.raises(NothingToShrink, match="CONFORMS"):
        Whole(good).shrink()


def test_the_command_writes_the_run_and_says_what_was_left_out(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verify, "make_lookup", lambda *_, **__: core_lookup())
    bad = corrupted(good, tmp_path / "bad", corruptions.vote_without_disk)
    words = ["trace", "shrink", str(bad), "--out"]

    assert command([*words, str(tmp_path / "a")]) == 0
    said = capsys.readouterr().out
    assert command([*words, str(tmp_path / "a")]) == 2
    there = capsys.readouterr().err
    assert command(["trace", "shrink", str(good), "--out", str(tmp_path / "c")]) == 2
    fine = capsys.readouterr().err

    assert re.search(r"[\d,]+ events became \d+ \(", said)
    assert "left out" in said
    assert "OnRequestVote at member" in said
    assert (tmp_path / "a" / "run.json").read_bytes() == (bad / "run.json").read_bytes()
    assert "exists; name a new folder" in there
    assert "is CONFORMS: there is nothing to shrink" in fine
    assert not (tmp_path / "c").exists()
