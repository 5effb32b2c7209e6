"""A run that is split between tasks has the verdict of the whole one, wherever it is split."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from canvass.conformance.check import check_units
from canvass.conformance.screen import Screening
from canvass.conformance.step_lookup import StepLookup
from canvass.corpus.engine import ProcessEngine
from canvass.corpus.job import CorpusJob
from canvass.corpus.parts import screen_part
from canvass.corpus.plan import Part, Unit, UnitKind, list_units
from canvass.corpus.rows import Row, RowKind, key_of
from canvass.corpus.split import split_large
from canvass.corpus.task_checker import TaskChecker
from canvass.traces.alignment.importer import import_logs
from canvass.traces.parquet import RUNS_KEY, DatasetWriter
from canvass.traces.run import Corpus, write_dataset
from canvass.traces.schema import FactKind, Run
from support.aeron_runs import KILLED_WITHIN_A_STEP
from support.corpora import record_runs
from support.long_runs import write_long_run
from support.row_groups import regrouped
from support.spoilt_runs import corrupt, edit, edit_event, forged_commit

Verdicts = dict[str | None, tuple[object, ...]]


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Runs with every kind of trouble, and a folder with what the oracle says of them."""
    folder = tmp_path_factory.mktemp("parts")
    corpus = record_runs(folder / "corpus", 12, 120)
    corrupt(corpus)
    stream = corpus / "run-8" / "member-1.ndjson"
    edit(stream, lambda lines: lines[3:])  # Starts late.
    twice = corpus / "run-9" / "member-0.ndjson"
    edit_event(twice, 12, forged_commit)
    edit_event(twice, -1, forged_commit)
    (corpus / "run-10" / "member-2.ndjson").write_text("")
    check_units(sorted(corpus.iterdir()), StepLookup(cache=folder / "cache"))
    return corpus, folder / "cache"


def check_whole_runs(corpus: Path, cache: Path) -> tuple[Verdicts, set[tuple[object, ...]]]:
    """The verdicts of the checker in one process."""
    units = sorted(corpus.iterdir())
    found = check_units(units, StepLookup(_no_oracle, cache=cache)).runs
    verdicts: Verdicts = {
        run.run_id: (run.verdict.value, run.events, run.unchecked) for run in found
    }
    divergences: set[tuple[object, ...]] = {
        (run.run_id, one.kind.value, one.name, one.member, one.step, one.rank, one.text)
        for run in found
        for one in run.divergences
    }
    return verdicts, divergences


def _no_oracle(rules: object, steps: object) -> list[Any]:
    raise AssertionError("all is known")


def check_in_parts(
    units: list[Unit], cost: int, cache: Path, work: Path
) -> tuple[Verdicts, set[tuple[object, ...]], list[Row]]:
    """The verdicts on units that are split into the smallest parts."""
    checker = TaskChecker.of(cache=cache)
    checker.prepare(work)
    split = split_large(units, cost)
    assert len(split) > len(units)
    rows = [row for unit in split for row in checker.check((unit,))]
    broken = {row.source for row in rows if row.kind is RowKind.PART and row.reason}
    rows = [row for row in rows if row.source not in broken]
    for unit in units:
        if unit.path in broken:
            rows += checker.check((unit,))
    rows += [row for unit in joins(split, rows) for row in checker.check((unit,))]
    verdicts: Verdicts = {
        row.run_id or Path(str(row.source)).name: (row.verdict, row.events, row.unchecked)
        for row in rows
        if row.kind is RowKind.VERDICT
    }
    divergences: set[tuple[object, ...]] = {
        (row.run_id, row.divergence_class, row.name, row.member_id, row.step, row.rank, row.reason)
        for row in rows
        if row.kind is RowKind.DIVERGENCE
    }
    return verdicts, divergences, rows


def rewrite(
    path: Path, target: Path, column: str, row: int, change: Callable[[int], int], group: int
) -> None:
    """Copy a file of a data set with one cell changed."""
    table = pq.read_table(path)
    cells = table[column].to_pylist()
    cells[row] = change(cells[row])
    place = table.schema.get_field_index(column)
    with pq.ParquetWriter(target, table.schema) as writer:
        writer.write_table(table.set_column(place, table.schema.field(column), [cells]), group)
        metadata = pq.read_metadata(path).metadata
        writer.add_key_value_metadata({RUNS_KEY: metadata[RUNS_KEY]})


def joins(split: list[Unit], rows: list[Row]) -> Iterator[Unit]:
    from msgspec.structs import replace

    parts = {(unit.path, unit.part.number): unit for unit in split if unit.part is not None}
    grouped: dict[tuple[Any, Any], list[int]] = {}
    for row in rows:
        if row.kind is RowKind.PART and row.part is not None:
            grouped.setdefault((row.source, row.run_id), []).append(row.part)
    for (source, run_id), numbers in grouped.items():
        own = [parts[source, number] for number in sorted(numbers)]
        yield replace(
            own[0],
            kind=UnitKind.JOIN,
            part=None,
            runs=() if run_id is None else (run_id,),
            joined=tuple(unit.part for unit in own if unit.part is not None),
        )


@pytest.mark.parametrize("cost", [3_000, 20_000, 70_000])
def test_run_folders_in_parts_are_what_they_are_whole(
    spoilt: tuple[Path, Path], tmp_path: Path, cost: int
) -> None:
    corpus, cache = spoilt

    verdicts, divergences, _ = check_in_parts(list_units([corpus]), cost, cache, tmp_path)

    assert (verdicts, divergences) == check_whole_runs(corpus, cache)


def test_compressed_streams_are_parts_each(spoilt: tuple[Path, Path], tmp_path: Path) -> None:
    import gzip

    corpus, cache = spoilt
    packed = tmp_path / "packed"
    shutil.copytree(corpus, packed)
    for stream in packed.glob("*/member-*.ndjson"):
        stream.with_name(f"{stream.name}.gz").write_bytes(gzip.compress(stream.read_bytes()))
        stream.unlink()
    units = list_units([packed])

    verdicts, divergences, rows = check_in_parts(units, 3_000, cache, tmp_path / "work")

    assert (verdicts, divergences) == check_whole_runs(packed, cache)
    assert max(row.part or 0 for row in rows) == 2


def test_a_member_without_steps_has_the_same_verdict_in_parts(
    spoilt: tuple[Path, Path], tmp_path: Path
) -> None:
    """In folders and in a data set; and where the run says so of a member that has some."""
    _, cache = spoilt
    true = tmp_path / "true" / "run"
    import_logs([KILLED_WITHIN_A_STEP], true)
    check_units([true], StepLookup(cache=cache))
    with DatasetWriter(tmp_path / "set", events_per_row_group=100) as writer:
        write_dataset(Corpus(true), writer)
    false = shutil.copytree(true, tmp_path / "false" / "run")
    text = (false / "run.json").read_text()
    (false / "run.json").write_text(text.replace("[2]", "[1,2]"))

    for name, verdict in (("true", "CONFORMS"), ("set", "CONFORMS"), ("false", "MALFORMED")):
        units = list_units([tmp_path / name])
        verdicts, divergences, _ = check_in_parts(
            units, units[0].cost // 3, cache, tmp_path / f"{name}-parts"
        )
        assert [one for one, *_ in verdicts.values()] == [verdict]
        assert (verdicts, divergences) == check_whole_runs(tmp_path / name, cache)


@pytest.fixture(scope="module")
def files(spoilt: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs that can be read, in one file of small row groups."""
    corpus, cache = spoilt
    readable = tmp_path_factory.mktemp("files") / "readable"
    readable.mkdir()
    for name, (verdict, *_) in check_whole_runs(corpus, cache)[0].items():
        if verdict != "MALFORMED":
            shutil.copytree(corpus / str(name), readable / str(name))
    root = readable.with_name("set")
    with DatasetWriter(root, events_per_row_group=40) as writer:
        write_dataset(Corpus(readable), writer)
        writer.begin(Run("canvass.run/1", "void", "1.50", 3))
        writer.end()
    return root


@pytest.mark.parametrize("pieces", [3, 5, 30])
def test_files_in_parts_are_what_they_are_whole(
    spoilt: tuple[Path, Path], files: Path, tmp_path: Path, pieces: int
) -> None:
    _, cache = spoilt
    units = list_units([files])

    verdicts, divergences, _ = check_in_parts(units, units[0].cost // pieces, cache, tmp_path)

    whole = check_whole_runs(files, cache)
    assert whole[0]["void"] == ("MALFORMED", 0, 0)
    assert (verdicts, divergences) == whole


@pytest.mark.parametrize("pieces", [3, 30])
def test_a_file_that_is_not_in_order_is_malformed_in_parts(
    spoilt: tuple[Path, Path], files: Path, tmp_path: Path, pieces: int
) -> None:
    """Each part may be in order, and the first run come back in the last part."""
    _, cache = spoilt
    (path,) = files.iterdir()
    (tmp_path / "set").mkdir()
    regrouped(path, tmp_path / "set" / path.name, lambda groups: [*groups[1:], groups[0]])
    units = list_units([tmp_path / "set"])

    verdicts, _, _ = check_in_parts(units, units[0].cost // pieces, cache, tmp_path / "work")

    assert "MALFORMED" in {verdict for verdict, *_ in verdicts.values()}


def test_all_runs_of_a_file_with_a_bad_part_are_malformed(
    spoilt: tuple[Path, Path], files: Path, tmp_path: Path
) -> None:
    _, cache = spoilt
    (path,) = files.iterdir()
    broken = tmp_path / "set" / path.name
    broken.parent.mkdir()
    rewrite(path, broken, "step", pq.read_metadata(path).num_rows // 2, lambda _: -7, 40)

    units = list_units([broken.parent])
    verdicts, divergences, _ = check_in_parts(units, units[0].cost // 5, cache, tmp_path / "work")

    assert {verdict for verdict, *_ in verdicts.values()} == {"MALFORMED"}
    assert (verdicts, divergences) == check_whole_runs(broken.parent, cache)


@pytest.mark.tlc
def test_a_file_with_a_bad_part_and_a_forbidden_step_is_checked_again_once(
    files: Path, tmp_path: Path
) -> None:
    """The bad part has the file read again as a whole, and so its runs with open steps, too."""
    (path,) = files.iterdir()
    broken = tmp_path / "set" / path.name
    broken.parent.mkdir()
    rewrite(path, broken, "step", pq.read_metadata(path).num_rows // 2, lambda _: -7, 40)
    units = list_units([broken.parent])
    checker, out = TaskChecker.of(cache=tmp_path / "cache"), tmp_path / "out"
    job = CorpusJob(ProcessEngine(), checker, out, task_cost=units[0].cost // 5)

    job.run(units)

    table = pq.read_table(out / "verdicts")
    names = table["run_id"].to_pylist()
    assert job.asked
    assert sorted(names) == sorted(set(names))
    assert set(table["verdict"].to_pylist()) == {"MALFORMED"}


def test_a_part_may_begin_with_a_members_first_event(
    spoilt: tuple[Path, Path], tmp_path: Path
) -> None:
    """Then there is no event before it that it needs, and yet the run began in another part."""
    corpus, cache = spoilt
    root = tmp_path / "set"
    only = tmp_path / "only"
    shutil.copytree(corpus / "run-7", only / "run-7")
    lines = (only / "run-7" / "member-0.ndjson").read_text().splitlines()
    with DatasetWriter(root, events_per_row_group=len(lines)) as writer:
        write_dataset(Corpus(only), writer)
    units = list_units([root])

    verdicts, divergences, rows = check_in_parts(units, units[0].cost // 3, cache, tmp_path / "w")

    assert {row.part for row in rows if row.kind is RowKind.PART} >= {0, 1, 2}
    assert (verdicts, divergences) == check_whole_runs(root, cache)


def test_a_long_run_in_parts_conforms_until_one_event_is_forged(
    spoilt: tuple[Path, Path], tmp_path: Path
) -> None:
    _, cache = spoilt
    path = tmp_path / "long" / "events-3-00000.parquet"
    events = write_long_run(path, 3_000, rows_per_group=200)
    check_units([path], StepLookup(cache=cache))
    units = list_units([path.parent])

    verdicts, divergences, rows = check_in_parts(
        units, units[0].cost // 9, cache, tmp_path / "work"
    )

    assert verdicts == {"long": ("CONFORMS", events, 0)}
    assert not divergences
    actions = {row.name: row.events for row in rows if row.kind is RowKind.COVERAGE}
    assert sum(count or 0 for count in actions.values()) == events

    forged = tmp_path / "forged" / path.name
    forged.parent.mkdir()
    rewrite(path, forged, "state_commit_position", 1500, lambda value: value + (1 << 20), 200)
    check_units([forged], StepLookup(cache=cache))
    units = list_units([forged])

    verdicts, divergences, _ = check_in_parts(units, units[0].cost // 9, cache, tmp_path / "again")

    assert (verdicts, divergences) == check_whole_runs(forged.parent, cache)
    assert verdicts == {"long": ("DIVERGES", events, 0)}


def test_steps_that_wait_for_the_oracle_decide_when_the_parts_are_joined(
    spoilt: tuple[Path, Path], tmp_path: Path
) -> None:
    corpus, cache = spoilt
    only = tmp_path / "only"
    shutil.copytree(corpus / "run-5", only / "run-5")
    units = list_units([only])
    checker = TaskChecker.of(cache=tmp_path / "empty")
    checker.prepare(tmp_path / "work")
    split = split_large(units, 20_000)
    rows = [row for unit in split for row in checker.check((unit,))]
    asked = {row.key: row.payload for row in rows if row.kind is RowKind.STEP}
    known = StepLookup(cache=cache)

    keys = [key for key in asked if key is not None]
    codes = known.look_up(np.array([key_of(key) for key in keys], dtype=np.uint64))
    checker.learn((key, bytes([code])) for key, code in zip(keys, codes.tolist(), strict=True))

    reported = [row for unit in joins(split, rows) for row in checker.check((unit,))]

    verdicts = {row.run_id: row.verdict for row in reported if row.kind is RowKind.VERDICT}
    assert (
        verdicts == {"run-5": check_whole_runs(only, cache)[0]["run-5"][0]} == {"run-5": "DIVERGES"}
    )
    places = {
        (row.member_id, row.step, row.reason) for row in reported if row.kind is RowKind.DIVERGENCE
    }
    assert places == {(one[3], one[4], one[6]) for one in check_whole_runs(only, cache)[1]}


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_diverging_run_that_changes_before_its_parts_are_joined_is_malformed(
    spoilt: tuple[Path, Path], tmp_path: Path, is_gone: bool
) -> None:
    def forge(event: Any) -> None:
        event["state"]["moduleNotifiedCommitPosition"] += 32

    sound = record_runs(tmp_path / "sound", 1, 120)
    forged = tmp_path / "forged"
    shutil.copytree(sound, forged)
    edit_event(forged / "run-0" / "member-0.ndjson", -1, forge)
    checker = TaskChecker.of(cache=spoilt[1])
    checker.prepare(tmp_path / "work")
    split = split_large(list_units([forged]), 20_000)
    rows = [row for unit in split for row in checker.check((unit,))]
    shutil.rmtree(forged)
    if not is_gone:
        shutil.copytree(sound, forged)

    rows = [row for unit in joins(split, rows) for row in checker.check((unit,))]

    verdicts = [(row.run_id, row.verdict) for row in rows if row.kind is RowKind.VERDICT]
    assert verdicts == [("run-0", "MALFORMED")]
    assert not any(row.kind is RowKind.DIVERGENCE for row in rows)


def test_a_part_from_the_second_line_on_sees_the_gap_before_it(tmp_path: Path) -> None:
    corpus = record_runs(tmp_path / "corpus", 1, 40)
    stream = corpus / "run-0" / "member-1.ndjson"
    edit(stream, lambda lines: [lines[0], *lines[3:]])
    data = stream.read_bytes()
    part = Part(1, data.index(b"\n") + 1, len(data), last=True, member=1)

    found = screen_part(list_units([corpus])[0], part, Screening(StepLookup(_no_oracle)))

    facts = [(fact.kind, fact.step, fact.line) for fact in found.facts["run-0"]]
    assert facts == [(FactKind.GAP, 3, 1)]


def test_small_and_strange_units_stay_whole(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"x" * 1000)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_bytes(b"{}")
    (tmp_path / "run" / "member-0.ndjson").write_bytes(b"x" * 1000)
    units = [*list_units([tmp_path / "bad.parquet"]), *list_units([tmp_path / "run"])]

    assert split_large(units, 10) == units


def test_screening_many_small_runs_looks_at_each_run_once(
    spoilt: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is done at the end of a batch is done for the runs of the batch, not for all."""

    class Listed(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            raise AssertionError("all runs are looked at again")

    corpus, cache = spoilt
    screening = Screening(StepLookup(_no_oracle, cache=cache))
    screening.runs = Listed()
    monkeypatch.setattr("canvass.conformance.screen.BATCH_EVENTS", 100)

    for path in sorted(corpus.iterdir()):
        screening.add(path)
    screening.flush()

    assert len(screening.runs) == 12
    assert not any(screening.runs[place].parts for place in range(12))
