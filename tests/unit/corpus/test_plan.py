"""The listing of units, and their packing into tasks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canvass.corpus.plan import Unit, UnitKind, list_units, pack
from canvass.traces.errors import Code, TraceError


def make_run(folder: Path, size: int = 10) -> Path:
    folder.mkdir(parents=True)
    (folder / "run.json").write_bytes(b"{}")
    (folder / "member-0.ndjson").write_bytes(b"x" * size)
    return folder


def kinds(units: list[Unit]) -> list[tuple[UnitKind, str]]:
    return [(unit.kind, Path(unit.path).name) for unit in units]


RUN, LOGS, REFUSED = UnitKind.RUN, UnitKind.AERON_LOGS, UnitKind.REFUSED
TREES: dict[str, tuple[list[str], list[tuple[UnitKind, str]]]] = {
    "whatever is in its runs": (
        ["b/run.json", "a/", "notes.txt", ".hidden/"],
        [(RUN, "a"), (RUN, "b")],
    ),
    "an odd name": (["odd name/", "run/run.json"], [(REFUSED, "odd name"), (RUN, "run")]),
    "logs": (
        ["logs/member-0.log.gz", "run/run.json", "run/member-0.log"],
        [(LOGS, "logs"), (RUN, "run")],
    ),
    "a stream outside": (
        ["a/run.json", "member-0.ndjson.gz", "notes.txt"],
        [(RUN, "a"), (REFUSED, "member-0.ndjson.gz")],
    ),
}
"""Files and folders of a corpus, and its units."""


@pytest.mark.parametrize("name", TREES)
def test_a_corpus_is_listed_by_name(tmp_path: Path, name: str) -> None:
    files, expected = TREES[name]
    for file in files:
        path = tmp_path / file
        (path if file.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not file.endswith("/"):
            path.write_bytes(b"{}")

    assert kinds(list_units([tmp_path])) == expected
    for kind, unit in expected:
        if kind is LOGS or f"{unit}/run.json" in files:
            assert kinds(list_units([tmp_path / unit])) == [(kind, unit)]


def test_a_link_is_refused_and_stops_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (tmp_path / "link").symlink_to(run)

    units = list_units([tmp_path])

    assert kinds(units) == [(REFUSED, "link"), (RUN, "run")]
    assert [unit.code for unit in units] == [Code.BAD_NAME.value, ""]


@pytest.mark.parametrize("name", ["a b", "a:b", "a+b", "a,b", "a@b", "\u00e9"])
def test_logs_may_be_in_a_folder_of_any_name_and_runs_may_not(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "member-0.log").write_bytes(b"x")
    make_run(tmp_path / f"{name}-run")

    logs, run = list_units([tmp_path])

    assert logs.kind is UnitKind.AERON_LOGS
    assert run.kind is UnitKind.REFUSED
    assert run.reason.startswith("no name for a run folder: rename it; a name has at most 128 of")


def test_a_name_that_is_not_utf_8_is_refused_under_an_escaped_one(tmp_path: Path) -> None:
    odd = os.fsdecode(b"x\xff")
    run = make_run(tmp_path / odd)
    make_run(tmp_path / "run")
    (tmp_path / "run" / odd).write_bytes(b"notes")
    make_run(make_run(tmp_path / "outer") / odd)
    make_run(tmp_path / f"date={odd}" / "run")
    (tmp_path / f"link{odd}").symlink_to(run)

    found = list_units([tmp_path])

    assert kinds(found) == [
        (UnitKind.REFUSED, "run"),
        (UnitKind.REFUSED, "linkx\\udcff"),
        (UnitKind.REFUSED, "outer"),
        (UnitKind.RUN, "run"),
        (UnitKind.REFUSED, "x\\udcff"),
    ]
    assert [unit.reason for unit in found] == [
        "the name is not UTF-8: rename it",
        "a symbolic link",
        "a run or event logs, and others in x\\udcff",
        "",
        "the name is not UTF-8: rename it",
    ]
    with pytest.raises(TraceError, match="BAD_NAME: the name is not UTF-8"):
        list_units([run])


def test_a_folder_with_a_linked_log_is_refused(tmp_path: Path) -> None:
    """Size and times of a link do not change with the log: a change would not be checked."""
    (tmp_path / "elsewhere.log").write_bytes(b"")
    (tmp_path / "corpus" / "logs").mkdir(parents=True)
    (tmp_path / "corpus" / "logs" / "member-0.log").symlink_to(tmp_path / "elsewhere.log")

    (unit,) = list_units([tmp_path / "corpus"])

    assert (unit.kind, unit.code) == (UnitKind.REFUSED, Code.BAD_NAME.value)
    assert unit.reason == "member-0.log is a symbolic link"


def test_files_of_a_data_set_are_units_and_each_counts_once(tmp_path: Path) -> None:
    (tmp_path / "events-3-00000.parquet").write_bytes(b"12345")

    units = list_units([tmp_path, tmp_path / "events-3-00000.parquet"])

    assert kinds(units) == [(UnitKind.FILE, "events-3-00000.parquet")]
    assert units[0].cost == 500


@pytest.mark.parametrize(
    ("name", "code"),
    [("none", Code.NOT_FOUND), ("empty", Code.NOT_FOUND), ("both", Code.AMBIGUOUS)],
)
def test_a_corpus_with_nothing_to_check_or_of_both_forms_is_an_error(
    tmp_path: Path, name: str, code: Code
) -> None:
    (tmp_path / "empty").mkdir()
    make_run(tmp_path / "both" / "a")
    (tmp_path / "both" / "events.parquet").write_bytes(b"")

    with pytest.raises(TraceError) as caught:
        list_units([tmp_path / name])

    assert caught.value.code is code


@pytest.mark.parametrize("outer", ["run.json", "member-0.log"])
@pytest.mark.parametrize("inner", ["run.json", "member-0.log.gz"])
@pytest.mark.parametrize("within", [False, True])
def test_a_unit_that_holds_others_is_refused_as_they_would_not_be_checked(
    tmp_path: Path, outer: str, inner: str, within: bool
) -> None:
    folder = tmp_path / "corpus" if within else tmp_path
    (folder / "inner").mkdir(parents=True)
    (folder / outer).write_bytes(b"x")
    (folder / "inner" / inner).write_bytes(b"x")

    (unit,) = list_units([tmp_path])

    assert (unit.kind, unit.path) == (UnitKind.REFUSED, str(folder))
    assert "inner" in unit.reason


UNITS = st.lists(st.integers(0, 10_000), max_size=40).map(
    lambda costs: [Unit(UnitKind.RUN, str(at), cost) for at, cost in enumerate(costs)]
)


@given(UNITS, st.none() | st.integers(1, 70), st.integers(1, 8))
def test_each_unit_is_in_one_task_and_no_task_is_empty(
    units: list[Unit], tasks: int | None, parallelism: int
) -> None:
    packed = pack(units, tasks=tasks, parallelism=parallelism)

    assert sorted((unit for task in packed for unit in task), key=units.index) == units
    assert all(packed)
    assert len(packed) <= (len(units) if tasks is None else tasks)


@given(UNITS, st.integers(1, 8))
def test_no_task_costs_more_than_a_fair_share_and_one_unit(units: list[Unit], tasks: int) -> None:
    packed = pack(units, tasks=tasks)
    costs = [sum(unit.cost for unit in task) for task in packed]

    assert costs == sorted(costs, reverse=True)
    if units:
        largest = max(unit.cost for unit in units)
        assert costs[0] <= sum(costs) / len(packed) + largest
