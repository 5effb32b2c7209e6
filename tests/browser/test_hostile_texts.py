"""Markup, control characters and endless texts in every field come out as bounded JSON texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from canvass.browser import api
from canvass.browser.questions import TEXT_CHARS
from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run
from support.browse import Asked, Reply, serving
from support.hostile_texts import ENDLESS, PAYLOADS
from support.spoilt_runs import edit_event

MOST = TEXT_CHARS + 80
"""The longest text in an answer, with the note that it was shortened."""


def texts(value: Any) -> Iterator[str]:
    """Every text of an answer, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


def checked(reply: Reply) -> set[str]:
    """Look at what holds for every answer; give its texts."""
    assert reply.status in (200, 400, 404, 422), reply.body
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["x-content-type-options"] == "nosniff"
    found = set(texts(json.loads(reply.body)))
    assert max(map(len, found)) <= MOST
    return found


def as_shown(payload: str) -> str:
    if len(payload) <= TEXT_CHARS:
        return payload
    return f"{payload[:TEXT_CHARS]}… (shortened: {len(payload) - TEXT_CHARS:,} more characters)"


@pytest.fixture(scope="module")
def counterexample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """Every text of a counterexample is a payload, and every payload is in every place."""
    folder = tmp_path_factory.mktemp("hostile")
    for number, payload in enumerate(PAYLOADS):
        state = {
            payload: payload,
            "list": {"#tup": [payload, {"#set": [payload]}]},
            "map": {"#map": [[payload, payload]]},
            "member": {"#map": [[payload, {payload: payload}]]},
            "channel": {"#map": []},
        }
        after = {**state, "list": {"#unserializable": payload}}
        steps = [
            {"number": k, "action": payload, "arguments": payload, "state": one}
            for k, one in enumerate((state, after), 1)
        ]
        document = {
            "schema": "canvass.counterexample/1",
            "model": payload,
            "violated": payload,
            "message": payload,
            "explanation": [payload],
            "loop": None,
            "stuttering": False,
            "steps": steps,
        }
        path = folder / f"payload-{number}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
    with serving(sorted(folder.iterdir(), key=lambda path: path.stat().st_ino)) as server:
        yield server


def test_counterexamples_show_payloads_as_texts(counterexample: Asked) -> None:
    seen = set()
    for name in counterexample.ids:
        reply = counterexample.ask(f"/counterexample/{name}")
        found = checked(reply)
        assert reply.status == 200
        view = msgspec.json.decode(reply.body, type=api.CounterexampleView)
        seen.add(view.title)
        assert view.explanation == (view.title,)
        assert view.title in found
        tree = view.states[0].tree
        assert tree[view.title] == view.title
        assert tree["map"] == {view.title: view.title}
        assert view.lanes is not None
        assert view.lanes.lanes[0].startswith("member ")
    assert seen == {as_shown(payload) for payload in PAYLOADS}


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a document has texts."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, (dict, list)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for name, one in pairs:
            yield from paths_of(one, (*path, name))


def put(value: Any, path: tuple[Any, ...], payload: str) -> None:
    for name in path[:-1]:
        value = value[name]
    value[path[-1]] = payload


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has every field with a text."""
    folder = tmp_path_factory.mktemp("run") / "run"
    record_run(folder, Rules.of("1.50"), 3, 120, faults=0.02, run_id="run")
    about = json.loads((folder / "run.json").read_text())
    about |= {"hardening": ["HZ1"], "source": {"kind": "x", "list": ["y"]}}
    (folder / "run.json").write_text(json.dumps(about))
    source = {"file": "member-0.log", "lines": [1], "observed": ["state.role"]}
    edit_event(folder / "member-0.ndjson", 3, lambda event: event.update(source=source))
    return folder


def _spoilt(run: Path, to: Path, name: str, place: int, path: tuple[Any, ...], text: str) -> Path:
    shutil.copytree(run, to)
    if name == "run.json":
        document = json.loads((to / name).read_text())
        put(document, path, text)
        (to / name).write_text(json.dumps(document), encoding="utf-8")
    else:
        edit_event(to / name, place, lambda event: put(event, path, text))
    return to


def test_every_text_of_a_run_may_be_hostile(
    run: Path, tmp_path: Path, small_graph: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    about = json.loads((run / "run.json").read_text())
    lines = [json.loads(line) for line in (run / "member-0.ndjson").read_text().splitlines()]
    sends = next(k for k, line in enumerate(lines) if line["sends"])
    takes = next(k for k, line in enumerate(lines) if "message" in line["input"])
    places = [("run.json", 0, path) for path in paths_of(about)]
    for at in (3, sends, takes):
        places += [("member-0.ndjson", at, path) for path in paths_of(lines[at])]
    assert len(places) > 20
    # Each payload in some of the fields, and each field with some of the payloads.
    count = 3 * len(places) + len(PAYLOADS)
    cases = [(PAYLOADS[k % len(PAYLOADS)], places[k % len(places)]) for k in range(count)]
    assert {place for _, place in cases} == set(places)
    folders = [
        _spoilt(run, tmp_path / f"run-{k}", name, at, path, payload)
        for k, (payload, (name, at, path)) in enumerate(cases)
    ]
    shown = 0
    with serving([*folders, small_graph]) as server:
        for name in server.ids[:-1]:
            reply = server.ask(f"/run/{name}")
            checked(reply)
            if reply.status == 422:
                assert "\n" not in reply.problem().message
                continue
            shown += 1
            for path in ("/lanes?count=50", "/timeline", "/members?at=5", "/step/0/3"):
                answer = server.request(f"/api/run/{name}{path}", {"X-Canvass-Token": server.token})
                assert answer.status == 200, answer.body
                checked(answer)
            assert server.store.content("run", name).checked.done.wait(60)
            checked(server.ask(f"/run/{name}"))
    assert 0 < shown < len(folders)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_names_of_files_may_be_hostile(run: Path, tmp_path: Path) -> None:
    names = [one for one in PAYLOADS if "/" not in one and "\0" not in one and len(one) < 200]
    names = [one for one in names if one.strip() and len(one.encode()) < 250]
    assert len(names) > 20
    folders = [Path(shutil.copytree(run, tmp_path / name)) for name in names]
    with serving(folders) as server:
        session = server.get(api.Session, "/session")

        assert [one.title for one in session.sources] == names
        assert len({one.id for one in session.sources}) == len(names)
        for source in session.sources:
            assert all(one.isascii() and (one.isalnum() or one in "._-") for one in source.id)
            view = server.get(api.RunView, f"/run/{source.id}")
            assert view.title == source.title


def test_an_endless_text_is_cut_where_it_is(counterexample: Asked) -> None:
    (name,) = [
        one
        for one in counterexample.ids
        if len(counterexample.ask(f"/counterexample/{one}").body) > len(ENDLESS)
    ]
    body = counterexample.ask(f"/counterexample/{name}").body

    assert b"shortened" in body
    assert len(body) < 40 * MOST
