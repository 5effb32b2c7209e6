"""The two engines agree: a check step by step, and TLC's search for a behaviour of the spec."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from canvass.cli.main import run as run_command
from canvass.cluster.rules import Rules
from canvass.conformance.findings import RunVerdict, Verdict
from canvass.conformance.tlc_engine import EngineError, check_with_tlc
from canvass.conformance.verify import check_run, check_units
from canvass.selftest.runs import record_run
from canvass.tlc import runner
from canvass.tlc.runner import TlcOptions
from canvass.traces.parquet import write_dataset
from canvass.traces.run import Corpus
from support import corruptions
from support.core_lookup import core_lookup
from support.corruptions import corrupted
from support.random_spoils import SPOILS, began_earlier, record_spoilt_runs

EVENTS: Final = 250
"""As many as it takes for a leader that commits."""


def differences(units: list[Path]) -> list[tuple[str, object, object]]:
    """Where the engines do not agree on the verdict, or on what is wrong first.

    TLC stops at the events that end the longest prefix it can explain. One of them is among the
    first ones of each kind that the other engine tells. Of two checksums that contradict each other
    either may be reported: an engine may choose the one or the other.
    """
    found: list[tuple[str, object, object]] = []
    steps, tlc = check_units(units, core_lookup()), check_with_tlc(units)
    for unit, one, other in zip(units, steps.runs, tlc.runs, strict=True):
        assert one.run_id == other.run_id
        places, theirs = places_of(one), places_of(other)
        same = not places or places & theirs or contradict(unit, places, theirs)
        if one.verdict is not other.verdict or not same:
            found.append((one.run_id, one.divergences or one.reason, other.divergences))
    return found


def contradict(unit: Path, places: set[tuple[int, int]], others: set[tuple[int, int]]) -> bool:
    """Whether a checksum of the ones and one of the others are of one position and differ."""
    streams = corruptions.read_streams(unit)

    def checksums(of: set[tuple[int, int]]) -> set[tuple[int, str]]:
        return {
            (witness["position"], witness["checksum"])
            for member, step in of
            for witness in streams[member][step].get("logChecksums", [])
        }

    return any(
        position == place and checksum != other
        for position, checksum in checksums(places)
        for place, other in checksums(others)
    )


def places_of(verdict: RunVerdict) -> set[tuple[int, int]]:
    return {(each.member, each.step) for each in verdict.divergences}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which a leader is elected and entries are committed."""
    return recorded(tmp_path_factory.mktemp("good") / "run", EVENTS)


def recorded(folder: Path, events: int) -> Path:
    record_run(folder, Rules.of("1.50"), 0, events, faults=0.0, run_id="good")
    return folder


# --- agreement ------------------------------------------------------------------------------------


CORRUPTIONS: tuple[Callable[[corruptions.Streams], None], ...] = (
    corruptions.commit_too_far,
    corruptions.vote_without_disk,
    corruptions.message_sent_twice,
    corruptions.message_from_nowhere,
    corruptions.message_overtaken,
    corruptions.checksum_beyond,
    corruptions.recorded_from_nowhere,
)
"""Changes that `SPOILS` do not make, or not at the place where it matters."""


@pytest.mark.tlc
def test_engines_agree_on_runs_spoilt_in_every_way(good: Path, tmp_path: Path) -> None:
    units = record_spoilt_runs(tmp_path, range(28), Rules.of("1.50"), 80)
    names = {unit.name.partition("-")[2] for unit in units}
    units += [good]
    units += [corrupted(good, tmp_path / change.__name__, change) for change in CORRUPTIONS]

    assert differences(units) == []
    assert names == {*(spoil.__name__.replace("_", "-") for spoil in SPOILS), "good"}


@pytest.mark.tlc
@pytest.mark.night
@pytest.mark.parametrize(
    ("revision", "members", "seeds"),
    [
        ("1.50", 3, range(1000, 1090)),
        ("hardened", 3, range(2000, 2060)),
        ("1.49", 3, range(3000, 3040)),
        ("hardened", 5, range(4000, 4030)),
        ("1.50", 2, range(5000, 5030)),
    ],
)
def test_engines_agree_on_many_runs(
    revision: str, members: int, seeds: Iterable[int], tmp_path: Path
) -> None:
    """Two hundred and fifty runs in all, long enough for more than one leader."""
    units = record_spoilt_runs(tmp_path, seeds, Rules.of(revision, members), 250)

    assert differences(units) == []
    verdicts = Counter(found.verdict for found in check_units(units, core_lookup()).runs)
    assert min(verdicts[Verdict.CONFORMS], verdicts[Verdict.DIVERGES]) >= 5


@pytest.mark.tlc
@pytest.mark.night
def test_engines_agree_on_simulated_clusters(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    simulate = ["simulate", "--revision", "hardened", "--steps", "500", "--seeds", "12"]
    assert run_command([*simulate, "--out", str(corpus)]) == 0

    assert differences(sorted(corpus.iterdir())) == []


@pytest.mark.tlc
@pytest.mark.night
def test_engines_agree_on_runs_that_began_before_their_recording(tmp_path: Path) -> None:
    """Votes and entries from before that step are demanded of no member."""
    units = []
    for seed in range(20):
        record_run(tmp_path / "good" / str(seed), Rules.of("1.50"), seed, 400, faults=0.02)
        rng = random.Random(seed)
        folder = tmp_path / "runs" / f"began-earlier-{seed}"
        corrupted(tmp_path / "good" / str(seed), folder, partial(began_earlier, rng=rng))
        header = json.loads((folder / "run.json").read_text())
        header |= {"runId": folder.name, "initial": "unknown"}
        (folder / "run.json").write_text(json.dumps(header))
        units.append(folder)

    assert differences(units) == []
    assert {run.verdict for run in check_units(units, core_lookup()).runs} == {Verdict.INCOMPLETE}


@pytest.mark.tlc
def test_engines_find_another_log_below_a_commit_position_that_passes_it(tmp_path: Path) -> None:
    """The follower reports checksums of what is not committed yet, and no others."""

    def forge(streams: corruptions.Streams) -> None:
        follower = next(
            lines
            for lines in streams.values()
            if all(line["state"]["role"] != "LEADER" for line in lines)
        )
        for line in follower:
            own = line.pop("logChecksums", [])
            line["logChecksums"] = [
                {**one, "checksum": "0" * 16}
                for one in own
                if one["position"] > line["state"]["commitPosition"]
            ]

    good = recorded(tmp_path / "good", 600)
    earlier = corrupted(good, tmp_path / "earlier", partial(began_earlier, rng=random.Random(0)))
    forged = corrupted(earlier, tmp_path / "forged", forge)
    header = json.loads((forged / "run.json").read_text())
    (forged / "run.json").write_text(json.dumps(header | {"initial": "unknown"}))

    assert [one.name for one in check_run(forged, core_lookup()).divergences] == [
        "StateMachineSafety"
    ]
    assert differences([forged]) == []


# --- what TLC is given ----------------------------------------------------------------------------


@pytest.mark.tlc
def test_engine_numbers_of_production_size_do_not_matter(good: Path, tmp_path: Path) -> None:
    """Positions of some 2**55, in a good data set and a spoilt folder."""

    def enlarge(streams: corruptions.Streams) -> None:
        for lines in streams.values():
            for line in lines:
                _enlarge(line)

    corrupted(good, tmp_path / "large", enlarge)
    write_dataset(Corpus(tmp_path / "large"), tmp_path / "set")
    spoilt = corrupted(tmp_path / "large", tmp_path / "spoilt", corruptions.commit_too_far)

    found = check_with_tlc([*Corpus(tmp_path / "set").files, spoilt])

    assert [run.verdict.value for run in found.runs] == ["CONFORMS", "DIVERGES"]
    assert {run.events for run in found.runs} == {EVENTS}


def _enlarge(part: object) -> None:
    if isinstance(part, list):
        for each in part:
            _enlarge(each)
    elif isinstance(part, dict):
        for name, value in part.items():
            if isinstance(value, int) and value > 0:
                if name.lower().endswith("position"):
                    part[name] = value << 45
            else:
                _enlarge(value)


# --- what is no verdict ---------------------------------------------------------------------------


@pytest.mark.tlc
def test_engine_a_run_without_an_end_is_an_error(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TlcOptions", partial(TlcOptions, timeout_s=0.2))
    with pytest.raises(EngineError, match="did not come to an end with run good"):
        check_with_tlc([good])


def test_engine_what_is_no_trace_is_malformed(good: Path, tmp_path: Path) -> None:
    """TLC is not asked about it."""
    no_run, no_event, unknown = tmp_path / "no-run", tmp_path / "empty", tmp_path / "unknown"
    no_run.mkdir()
    no_event.mkdir()
    shutil.copy(good / "run.json", no_event)
    shutil.copytree(good, unknown)
    header = json.loads((unknown / "run.json").read_text())
    (unknown / "run.json").write_text(json.dumps(header | {"hardening": ["HZ99"]}))

    found = check_with_tlc([no_run, no_event, unknown])

    assert [run.verdict for run in found.runs] == [Verdict.MALFORMED] * 3
    assert "nothing was checked" in found.runs[1].reason
    assert "HZ99" in found.runs[2].reason


@pytest.mark.tlc
def test_engine_from_the_command_line(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = corrupted(good, tmp_path / "bad", corruptions.send_removed)

    assert run_command(["verify", "--engine", "tlc", str(bad)]) == 1

    shown = capsys.readouterr().out
    assert shown.startswith("DIVERGES    good  ")
    assert "by the spec this step does not lead from the state before it" in shown
    assert "TLC searched for behaviours" in shown
