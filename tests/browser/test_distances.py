"""The distances over a run: what the server answers, and which files the command refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from canvass.browser import api, app, distances
from canvass.browser.distances import DistanceError, add_distances
from canvass.cli import browse, main
from canvass.distance.report import DistanceReport
from support.browse import Asked, serving
from support.distances import write_distances

EVERY = "0.01ms"
"""A simulated step takes some 200 ns."""
Document = dict[str, Any]


@pytest.fixture(scope="module")
def document(good_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_distances(good_run, tmp_path_factory.mktemp("distances") / "far.json", EVERY)


def added(server: Asked, file: Path) -> api.Distances:
    add_distances([source for _, source in server.store.of_kind("run")], file)
    return server.get(api.Distances, f"/run/{server.ids[0]}/distances")


def test_each_moment_is_answered_with_its_distance_in_words(good_run: Path, document: Path) -> None:
    given = msgspec.json.decode(document.read_bytes(), type=DistanceReport)
    with serving([good_run]) as server:
        answer = added(server, document)

    assert (answer.property, answer.left_out) == ("CommittedIsDurable", 0)
    assert [(one.event, one.steps, one.searched) for one in answer.moments] == [
        (one.event, one.steps, one.searched) for one in given.moments
    ]
    assert [one.exposed for one in answer.moments] == [
        bool(one.counted_too_far) for one in given.moments
    ]
    time = r"^\d+\.\d{3} s after the first event: "
    texts = [re.sub(time, "", one.text) for one in answer.moments[:3]]
    assert [text.partition(";")[0] for text in texts] == [
        "2 steps to a violation of CommittedIsDurable (1 crash among them)",
        "no violation of CommittedIsDurable within 4 steps",
        "CommittedIsDurable is violated here already",
    ]


def test_without_a_document_the_answer_is_empty(good_run: Path) -> None:
    with serving([good_run]) as server:
        answer = server.get(api.Distances, "/run/good/distances")

    assert answer == api.Distances(property="", moments=(), left_out=0)


def test_moments_beyond_the_limit_are_counted(
    good_run: Path, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distances, "MAX_MOMENTS", 2)
    total = len(json.loads(document.read_bytes())["moments"])
    with serving([good_run]) as server:
        answer = added(server, document)

    assert (len(answer.moments), answer.left_out) == (2, total - 2)


def without_event(given: Document) -> None:
    given["moments"][0].update(event=None, timeNs=None)


def beyond_the_run(given: Document) -> None:
    given["moments"][-1]["event"] = 10**6


def of_another_time(given: Document) -> None:
    given["moments"][1]["timeNs"] += 1


def with_negative_steps(given: Document) -> None:
    given["moments"][0]["steps"] = -1


def of_another_property(given: Document) -> None:
    given["property"] = "<b>"


def with_another_fault(given: Document) -> None:
    given["moments"][0]["faults"] = {"flood": 2}


def without_moments(given: Document) -> None:
    del given["moments"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without_event, "not of the run good: a moment of disks has no event"),
        (beyond_the_run, "not of the run good: it has event 1000000, but the run has "),
        (of_another_time, "ns after the first one, but "),
        (with_negative_steps, "not written by `canvass distance`: Expected `int` >= 0"),
        (of_another_property, "not written by `canvass distance`: unknown property or fault"),
        (with_another_fault, "not written by `canvass distance`: unknown property or fault"),
        (without_moments, "missing required field `moments`"),
    ],
)
def test_a_document_that_is_not_of_the_run_is_refused(
    good_run: Path,
    document: Path,
    tmp_path: Path,
    change: Callable[[Document], None],
    reason: str,
) -> None:
    given = json.loads(document.read_bytes())
    change(given)
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(given))
    with serving([good_run]) as server, pytest.raises(DistanceError) as refused:
        added(server, file)

    assert str(refused.value).startswith(f"{file}: ")
    assert reason in str(refused.value)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "page_files", dict)
    monkeypatch.setattr(browse, "page_is_old", lambda _: False)


@pytest.mark.usefixtures("built")
def test_the_command_refuses_in_one_line_that_names_the_file(
    good_run: Path,
    bad_run: Path,
    small_graph: Path,
    document: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "text.json").write_text("no")
    (tmp_path / "deep.json").write_text('{"x":' * 100_000)
    (tmp_path / "large.json").write_bytes(b"")
    with (tmp_path / "large.json").open("r+b") as large:
        large.truncate(distances.MAX_BYTES + 1)
    of_several = "distances are of one run; open that run alone"
    for paths, file, reason in (
        ([good_run], tmp_path / "absent.json", "there is no such file"),
        ([good_run], tmp_path, "not a file"),
        ([good_run], tmp_path / "text.json", "not JSON: "),
        ([good_run], tmp_path / "deep.json", "not JSON: "),
        ([good_run], tmp_path / "large.json", "larger than 64 MiB"),
        ([good_run], good_run / "run.json", "not written by `canvass distance`: "),
        ([bad_run], document, "not of the run bad: "),
        ([good_run, bad_run], document, of_several),
        ([good_run, small_graph], document, of_several),
        ([small_graph], document, of_several),
    ):
        words = ["browse", "--no-open", *map(str, paths), "--distance", str(file)]
        code = main.run(words)
        printed = capsys.readouterr()

        assert (code, printed.out) == (2, "")
        assert printed.err.startswith(f"canvass: {file}: {reason}")
        assert printed.err.count("\n") == 1


@pytest.mark.usefixtures("built")
def test_the_command_serves_the_distances_of_its_run(
    good_run: Path, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[api.Distances] = []

    def keep(browser: Any, _: object) -> None:
        opened.append(browser.store.content("run", "good").distances)

    monkeypatch.setattr("canvass.browser.app.Browser.application", keep)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    words = ["browse", "--no-open", str(good_run), "--distance", str(document)]

    assert main.run(words) == 130
    assert len(opened[0].moments) >= 3
