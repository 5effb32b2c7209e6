"""``canvass trace convert`` from the command line."""

from __future__ import annotations

import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run
from canvass.traces.alignment.importer import import_logs
from canvass.traces.schema import FactKind
from support import corruptions
from support.corruptions import corrupted
from support.trace_reading import load_corpus

Command = Callable[..., Any]
SAMPLE = Path(__file__).resolve().parents[3] / "samples" / "aeron" / "b-leader-killed"


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("convert") / "run"
    record_run(folder, Rules.of("1.50"), 3, 200, faults=0.02, run_id="one")
    return folder


def test_an_imported_run_keeps_its_events_in_a_data_set(command: Command, tmp_path: Path) -> None:
    """Sources of events included."""
    import_logs([SAMPLE], tmp_path / "run")

    first = command("trace", "convert", tmp_path / "run", tmp_path / "set")
    second = command("trace", "convert", tmp_path / "set", tmp_path / "back")

    assert (first.code, first.out) == (0, f"1 run written to {tmp_path / 'set'}\n")
    assert (second.code, second.err) == (2, f"canvass: {tmp_path / 'set'} is a data set already\n")
    (run,), (converted,) = (load_corpus(tmp_path / name) for name in ("run", "set"))
    assert converted == run
    assert any(event.source for event in run.events[0])


def test_a_corpus_with_everything_missing_keeps_what_is_missing(
    command: Command, run_folder: Path, tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name, change in (("whole", lambda _: None), ("gap", corruptions.event_dropped)):
        folder = corrupted(run_folder, corpus / name, change)
        text = (folder / "run.json").read_text()
        (folder / "run.json").write_text(text.replace('"one"', f'"{name}"'))
    for name in ("cut", "absent", "empty"):
        folder = corrupted(run_folder, corpus / name, lambda _: None)
        text = (folder / "run.json").read_text()
        (folder / "run.json").write_text(text.replace('"one"', f'"{name}"'))
    stated = corrupted(run_folder, corpus / "stated", lambda _: None)
    text = (stated / "run.json").read_text()
    (stated / "run.json").write_text(text.replace('"one"', '"stated","withoutSteps":[0,1]'))
    (stated / "member-0.ndjson").write_bytes(b"")
    (stated / "member-1.ndjson").unlink()
    cut = corpus / "cut" / "member-1.ndjson"
    cut.write_bytes(cut.read_bytes()[:-40])
    (corpus / "absent" / "member-2.ndjson").unlink()
    (corpus / "empty" / "member-0.ndjson").write_bytes(b"")

    ended = command("trace", "convert", corpus, tmp_path / "set")
    assert (ended.code, ended.err) == (0, "")

    found = {}
    for name in ("corpus", "set"):
        found[name] = {
            loaded.run.run_id: (
                {member: events for member, events in loaded.events.items() if events},
                {(fact.kind, fact.member_id) for fact in loaded.facts},
            )
            for loaded in load_corpus(tmp_path / name)
        }
    assert found["corpus"]["gap"][1]
    assert found["corpus"]["cut"][1]
    assert found["corpus"]["stated"][1] == {(FactKind.MISSING_STREAM, 1)}
    assert found["set"] == found["corpus"]


def test_a_full_disk_names_the_file_to_be_written(
    command: Command, run_folder: Path, tmp_path: Path
) -> None:
    """A limit on the size of files stands for the full disk."""
    out = tmp_path / "out"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        ended = command("trace", "convert", run_folder, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert ended.code == 2
    assert re.fullmatch(rf"canvass: {out}(/\S+)?: .*File too large\n", ended.err)
    assert list(tmp_path.iterdir()) == []
