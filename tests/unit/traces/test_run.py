"""Run folders and corpora: what is there, what is missing, and what is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from canvass.corpus.plan import list_units
from canvass.traces import columns
from canvass.traces.errors import Code, TraceError
from canvass.traces.ndjson import open_stream
from canvass.traces.parquet import RUNS_KEY, RunEntry, write_dataset
from canvass.traces.run import NO_RUN_FOLDER, Corpus, RunFolder
from canvass.traces.schema import Event, Fact, FactKind, Source, encode, encode_lines
from support.trace_events import plain_event, run_of
from support.trace_reading import load_corpus


def make_run(folder: Path, run_id: str = "run-1", count: int = 4, suffix: str = "") -> Path:
    """A run of three members with as many steps each."""
    folder.mkdir(parents=True)
    (folder / "run.json").write_bytes(encode(run_of(run_id)))
    for member_id in range(3):
        with open_stream(folder / f"member-{member_id}.ndjson{suffix}") as file:
            file.write(encode_lines([plain_event(step) for step in range(count)]))
    return folder


def refusal(path: Path) -> TraceError:
    with pytest.raises(TraceError) as caught:
        load_corpus(path)
    return caught.value


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_whole_run_is_read(tmp_path: Path, suffix: str) -> None:
    loaded = RunFolder(make_run(tmp_path / "r", suffix=suffix)).load()

    assert loaded.run == run_of("run-1")
    assert loaded.events == dict.fromkeys(range(3), tuple(plain_event(step) for step in range(4)))
    assert loaded.facts == ()


def test_what_is_missing_is_reported(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "r")
    (folder / "member-0.ndjson").unlink()
    lines = encode_lines([plain_event(2), plain_event(3), plain_event(6)])
    (folder / "member-1.ndjson").write_bytes(lines[:-20])
    (folder / "member-2.ndjson").write_bytes(b"")

    loaded = RunFolder(folder).load()

    assert [event.step for event in loaded.events[1]] == [2, 3]
    assert list(loaded.facts) == [
        Fact(FactKind.MISSING_STREAM, "run-1", 0),
        Fact(FactKind.LATE_START, "run-1", 1, 2, 1),
        Fact(FactKind.TRUNCATED, "run-1", 1, line=3, detail="the last line is incomplete"),
        Fact(FactKind.EMPTY_STREAM, "run-1", 2),
    ]


def run_without(folder: Path, *members: int) -> Path:
    """A run whose ``run.json`` says that some members took no step."""
    make_run(folder)
    (folder / "run.json").write_bytes(encode(run_of("run-1", without_steps=members)))
    return folder


def test_a_stream_is_meant_to_be_empty_where_the_run_says_so(tmp_path: Path) -> None:
    folder = run_without(tmp_path / "r", 0, 1)
    (folder / "member-0.ndjson").write_bytes(b"")
    (folder / "member-1.ndjson").write_bytes(b"")
    (folder / "member-2.ndjson").write_bytes(b"")

    assert RunFolder(folder).load().facts == (Fact(FactKind.EMPTY_STREAM, "run-1", 2),)


def test_the_stream_of_a_member_without_steps_may_be_lost_or_torn(tmp_path: Path) -> None:
    folder = run_without(tmp_path / "r", 0, 1, 2)
    (folder / "member-0.ndjson").unlink()
    (folder / "member-1.ndjson").write_bytes(encode_lines([plain_event(0)])[:-20])
    (folder / "member-2.ndjson").unlink()
    (folder / "member-2.ndjson.gz").write_bytes(b"")

    assert [(fact.kind, fact.member_id) for fact in RunFolder(folder).load().facts] == [
        (FactKind.MISSING_STREAM, 0),
        (FactKind.TRUNCATED, 1),
        (FactKind.TRUNCATED, 2),
    ]


def test_steps_of_a_member_without_steps_are_refused(tmp_path: Path) -> None:
    folder = run_without(tmp_path / "r", 1)
    refused = "run.json says that member 1 took 0 steps, and here are 4"

    found = refusal(folder)
    with pytest.raises(TraceError, match=refused):
        list(RunFolder(folder).columns())

    assert found.code is Code.BAD_EVENT
    assert str(found).startswith(f"{folder / 'member-1.ndjson'}:1:1: ")
    assert refused in str(found)


def test_a_data_set_is_refused_where_a_member_without_steps_has_some(tmp_path: Path) -> None:
    run = run_of("run-1", without_steps=(1,))
    write_dataset(Corpus(make_run(tmp_path / "r")), tmp_path / "set")
    (path,) = (tmp_path / "set").iterdir()
    table = pq.read_table(path)
    said = {**table.schema.metadata, RUNS_KEY: encode([RunEntry(run)])}
    pq.write_table(table.replace_schema_metadata(said), path)

    found = refusal(tmp_path / "set")

    assert found.code is Code.BAD_EVENT
    assert str(found).startswith(str(tmp_path / "set" / "events-3-00000.parquet"))
    assert "run run-1: run.json says that member 1 took 0 steps, and here are 4" in str(found)


@pytest.mark.parametrize("members", ["[3]", "[1,0]", "[1,1]", "[-1]"])
def test_members_without_steps_are_an_ascending_set_of_members(
    members: str, tmp_path: Path
) -> None:
    folder = make_run(tmp_path / "r")
    text = encode(run_of("run-1")).decode()
    (folder / "run.json").write_text(f'{text[:-1]},"withoutSteps":{members}}}')

    assert refusal(folder).code is Code.BAD_VALUE


def test_a_corpus_is_a_run_a_folder_of_runs_or_a_data_set(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_run(tmp_path / "runs" / name, f"run-{name}")
    (tmp_path / "runs" / "README").write_text("Two runs.")
    (tmp_path / "runs" / ".hidden").mkdir()
    assert write_dataset(Corpus(tmp_path / "runs"), tmp_path / "set")[1] == 24

    runs = load_corpus(tmp_path / "runs")
    converted = load_corpus(tmp_path / "set")
    one_file = load_corpus(tmp_path / "set" / "events-3-00000.parquet")

    assert [loaded.run.run_id for loaded in runs] == ["run-a", "run-b"]
    assert runs == converted == one_file
    assert load_corpus(tmp_path / "runs" / "a") == runs[:1]


@pytest.mark.parametrize("name", ["more.PARQUET", "more.Parquet", "more.parquet.gz"])
def test_a_file_that_only_looks_like_one_of_a_data_set_is_not_ignored(
    name: str, tmp_path: Path
) -> None:
    """Neither command may pass because it did not read the file."""
    make_run(tmp_path / "runs" / "a", "run-a")
    write_dataset(Corpus(tmp_path / "runs"), tmp_path / "set")
    shutil.copy(tmp_path / "set" / "events-3-00000.parquet", tmp_path / "set" / name)

    found = [str(unit) for unit in Corpus(tmp_path / "set").units]
    listed = [unit.reason for unit in list_units([tmp_path / "set"])]

    reason = "the name of a file of a data set ends in .parquet"
    assert sum(reason in each for each in found) == listed.count(reason) == 1
    assert len(found) == len(listed) == 2


def test_sources_and_context_rows_survive_conversion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "COLUMN_EVENTS", 5)
    folder = make_run(tmp_path / "runs" / "a", count=1)
    sourced = Source("node0.log", (3, 4), ("state.role",))
    stream = [plain_event(step, source=sourced if step in (10, 11) else None) for step in range(40)]
    (folder / "member-0.ndjson").write_bytes(encode_lines(stream))
    assert write_dataset(Corpus(tmp_path / "runs"), tmp_path / "set")[1] == 42

    (loaded,) = load_corpus(tmp_path / "set")

    assert list(loaded.events[0]) == stream


def test_a_data_set_tells_the_same_facts_as_the_folders(tmp_path: Path) -> None:
    broken = make_run(tmp_path / "runs" / "a", "run-a")
    (broken / "member-0.ndjson").unlink()
    (broken / "member-1.ndjson").write_bytes(encode_lines([plain_event(0), plain_event(2)])[:-9])
    (broken / "member-2.ndjson").write_bytes(encode_lines([plain_event(1), plain_event(3)]))
    make_run(tmp_path / "runs" / "b", "run-b")
    write_dataset(Corpus(tmp_path / "runs"), tmp_path / "set")

    found = []
    for path in (tmp_path / "runs", tmp_path / "set"):
        loaded = load_corpus(path)
        events = sum(len(one) for run in loaded for one in run.events.values())
        facts = sorted((fact for run in loaded for fact in run.facts), key=encode)
        found.append((len(loaded), events, facts))

    assert found[0] == found[1]
    assert found[0][:2] == (2, 15)
    assert {fact.kind for fact in found[0][2]} == {
        FactKind.MISSING_STREAM,
        FactKind.TRUNCATED,
        FactKind.LATE_START,
        FactKind.GAP,
    }


def test_nothing_to_check_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path).code is Code.NOT_FOUND
    assert refusal(tmp_path / "none").code is Code.NOT_FOUND
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file").code is Code.UNREADABLE
    (tmp_path / "empty").mkdir()
    assert refusal(tmp_path).code is Code.NOT_FOUND


@pytest.mark.parametrize(
    "name",
    [
        "member-3.ndjson",
        "member-10.ndjson",
        "member--1.ndjson",
        "member-00.ndjson",
        "member-01.ndjson",
        "member-0.ndjson.bz2",
        "member-0.ndjson.gz.gz",
        "member-0.json",
        "member-0.ndjson\n",
        "member-\u0660.ndjson",
        "member-0.NDJSON",
        "member-",
    ],
)
def test_a_file_that_claims_to_be_a_stream_and_is_none_is_refused(
    tmp_path: Path, name: str
) -> None:
    folder = make_run(tmp_path / "r")
    (folder / name).write_bytes(b"")

    assert refusal(folder).code is Code.BAD_NAME


def test_two_files_for_one_stream_are_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "r")
    (folder / "member-0.ndjson.gz").write_bytes(b"")

    assert refusal(folder).code is Code.AMBIGUOUS


def test_two_runs_of_one_id_are_refused(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    make_run(tmp_path / "b")

    assert refusal(tmp_path).code is Code.AMBIGUOUS


def test_runs_beside_parquet_files_are_refused(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    (tmp_path / "x.parquet").write_bytes(b"")
    error = refusal(tmp_path)

    assert error.code is Code.AMBIGUOUS
    assert error.reason.endswith("name each of them instead")


def test_a_run_with_a_run_in_it_is_refused(tmp_path: Path) -> None:
    make_run(make_run(tmp_path / "outer") / "inner", "run-2")

    error = refusal(tmp_path / "outer")

    assert error.code is Code.AMBIGUOUS
    assert "inner" in error.reason


def test_a_stream_beside_runs_is_refused(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    (tmp_path / "member-1.ndjson").write_bytes(b"")

    assert refusal(tmp_path).code is Code.BAD_NAME


@pytest.mark.parametrize("name", ["a b", "-rf", "a\n", "\u202e", "x" * 129, "\u00e9"])
def test_a_folder_with_a_hostile_name_is_refused(tmp_path: Path, name: str) -> None:
    make_run(tmp_path / name)

    error = refusal(tmp_path)

    assert error.code is Code.BAD_NAME
    assert "\n" not in str(error)


def test_what_can_be_no_run_stands_among_the_units_with_the_reason(tmp_path: Path) -> None:
    good = make_run(tmp_path / "good")
    (tmp_path / "a b").mkdir()
    (tmp_path / "link").symlink_to(good)

    corpus = Corpus(tmp_path)

    assert [str(unit) for unit in corpus.units] == [
        f"{tmp_path}/a b: BAD_NAME: {NO_RUN_FOLDER}",
        str(good),
        f"{tmp_path}/link: BAD_NAME: a symbolic link",
    ]
    assert corpus.folders == [good]


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = make_run(tmp_path / "outside")
    inside = make_run(tmp_path / "corpus" / "r")
    (inside / "member-0.ndjson").unlink()
    (inside / "member-0.ndjson").symlink_to(outside / "member-0.ndjson")
    assert refusal(tmp_path / "corpus").code is Code.BAD_NAME

    (inside / "run.json").unlink()
    (inside / "run.json").symlink_to(outside / "run.json")
    assert refusal(tmp_path / "corpus").code is Code.BAD_NAME

    (tmp_path / "corpus" / "s").symlink_to(outside)
    assert refusal(tmp_path / "corpus").code is Code.BAD_NAME


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "r")
    (folder / "member-0.ndjson").unlink()
    os.mkfifo(folder / "member-0.ndjson")
    assert refusal(folder).code is Code.UNREADABLE

    (folder / "member-0.ndjson").unlink()
    (folder / "member-0.ndjson").mkdir()
    assert refusal(folder).code is Code.UNREADABLE


def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "r")
    with (folder / "member-1.ndjson").open("ab") as file:
        file.write(b"{}\n")

    error = refusal(folder)

    assert (error.file, error.line) == (str(folder / "member-1.ndjson"), 5)


def test_events_of_a_run_are_what_the_reader_gives(tmp_path: Path) -> None:
    folder = RunFolder(make_run(tmp_path / "r"))
    events: list[Event] = [event for batch in folder.batches(1) for event in batch]

    assert events == [plain_event(step) for step in range(4)]
