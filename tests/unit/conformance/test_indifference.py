"""Changes of a run that do not change its verdict, as hypothesis draws them.

Clocks, compression, format, where streams and files are split. The runs are a good one and
spoilt ones, so that not only passes are compared.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from canvass.conformance.check import Checker
from canvass.conformance.findings import RunVerdict, Verdict
from canvass.conformance.verify import check_run
from canvass.traces import parquet
from canvass.traces.parquet import RunEntry, write_dataset
from canvass.traces.run import Corpus, RunFolder
from support import corruptions
from support.checked_runs import check_corpus
from support.core_lookup import core_lookup
from support.corruptions import corrupted
from support.examples import examples

LOOKUP = core_lookup()
CHANGES = (
    corruptions.commit_too_far,
    corruptions.message_overtaken,
    corruptions.send_removed,
    corruptions.event_dropped,
    corruptions.checksum_forged,
)
RUNS = 1 + len(CHANGES)


def essence(verdict: RunVerdict) -> object:
    """A verdict without what tells where and how the run was stored."""
    facts = tuple((fact.kind, fact.member_id, fact.step) for fact in verdict.facts)
    return msgspec.structs.replace(verdict, path="", facts=()), facts


@pytest.fixture(scope="module")
def runs(good_run: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("runs")
    return [good_run] + [corrupted(good_run, root / change.__name__, change) for change in CHANGES]


@pytest.fixture(scope="module")
def plain(runs: list[Path]) -> list[object]:
    """The verdicts on the runs as they were recorded."""
    return [essence(check_run(run, LOOKUP)) for run in runs]


def pieces(data: bytes, cuts: list[float]) -> list[bytes]:
    places = sorted({0, len(data), *(int(cut * len(data)) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


def packed(data: bytes, suffix: str, cuts: list[float]) -> bytes:
    """Compress in several members or frames, cut anywhere, within lines too."""
    if suffix == ".gz":
        return b"".join(gzip.compress(piece, 1) for piece in pieces(data, cuts))
    if suffix == ".zst":
        return b"".join(zstandard.compress(piece, 1) for piece in pieces(data, cuts))
    return data


@given(data=st.data())
@examples(20)
def test_verdict_clocks_compression_and_format_do_not_matter(
    runs: list[Path],
    plain: list[object],
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
) -> None:
    number = data.draw(st.integers(0, RUNS - 1))
    folder = tmp_path_factory.mktemp("stored") / "run"
    folder.mkdir()
    shutil.copy(runs[number] / "run.json", folder)
    for stream in sorted(runs[number].glob("member-*.ndjson")):
        factor = data.draw(st.sampled_from((0, 1, 7, -1)))
        skew = data.draw(st.integers(-(2**60), 2**60))
        jumps = data.draw(st.integers(0, 2**60), label="how far a clock jumps between two steps")
        chance = random.Random(skew)
        lines = [json.loads(line) for line in stream.read_text().splitlines()]
        for line in lines:
            line["timeNs"] = line["timeNs"] * factor + skew + chance.randint(-jumps, jumps)
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        suffix = data.draw(st.sampled_from(("", ".gz", ".zst")))
        cuts = data.draw(st.lists(st.floats(0, 1), max_size=4))
        (folder / f"{stream.name}{suffix}").write_bytes(packed(text.encode(), suffix, cuts))
    where = folder
    if data.draw(st.booleans(), label="Parquet"):
        where = folder.parent / "set"
        rows = data.draw(st.integers(20, 700), label="events in a row group")
        write_dataset(Corpus(folder), where, events_per_row_group=rows)

    with pytest.MonkeyPatch.context() as patch:
        size = data.draw(st.integers(20, 700), label="events in a batch")
        patch.setattr(parquet, "EVENTS_PER_ROW_GROUP", size)
        (found,) = check_corpus([where], LOOKUP).runs

    assert essence(found) == plain[number]


@given(data=st.data())
@examples(20)
def test_verdict_it_does_not_matter_where_streams_are_split(
    runs: list[Path], plain: list[object], data: st.DataObject
) -> None:
    """Between any two events."""
    number = data.draw(st.integers(0, RUNS - 1))
    folder = RunFolder(runs[number])
    checker = Checker(LOOKUP.answers)
    checker.begin("", {folder.run.run_id: RunEntry(folder.run)})
    for columns in folder.columns():
        cuts = data.draw(st.sets(st.integers(0, len(columns)), max_size=4))
        for start, end in pairwise(sorted({0, len(columns), *cuts})):
            checker.take(columns.rows(start, end))
    checker.end(folder.facts)

    (found,) = checker.findings().runs

    assert essence(found.verdict) == plain[number]


def test_verdict_it_does_not_matter_what_is_checked_with_a_run(
    runs: list[Path], tmp_path: Path
) -> None:
    lookup, alone = core_lookup(), list[object]()
    for number, run in enumerate(runs):
        folder = tmp_path / f"{number}"
        shutil.copytree(run, folder)
        header = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps(header | {"runId": f"run-{number}"}))
        alone.append(essence(check_run(folder, lookup)))

    assert [essence(run) for run in check_corpus([tmp_path], lookup).runs] == alone


def test_verdict_what_is_compared_is_not_all_the_same(
    runs: list[Path], plain: list[object]
) -> None:
    verdicts = {check_run(run, LOOKUP).verdict for run in runs}

    assert verdicts == {Verdict.CONFORMS, Verdict.DIVERGES, Verdict.INCOMPLETE}
    assert len(plain) == RUNS
