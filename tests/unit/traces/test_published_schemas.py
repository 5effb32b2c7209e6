"""The published JSON Schemas take what the readers take, and refuse what no schema should pass."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run
from canvass.traces.alignment.importer import import_logs
from canvass.traces.arrow import FOLDER
from canvass.traces.errors import TraceError
from canvass.traces.ndjson import EventReader, decode_run
from canvass.traces.schema import Event, encode
from support.examples import examples
from support.trace_events import events, plain_event, run_of

SAMPLE = Path(__file__).resolve().parents[3] / "samples" / "aeron" / "b-leader-killed"


def validator(part: str) -> Any:
    schema = json.loads((FOLDER / f"canvass.{part}-1.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


EVENTS = validator("events")
RUN = validator("run")


def reader_takes(line: bytes) -> bool:
    """Whether a reader takes a line, in itself, as the only one of a stream of three members."""
    document = msgspec.json.decode(line)
    try:
        list(EventReader(BytesIO(line + b"\n"), "line", _sender(document), 3))
    except TraceError:
        return False
    return True


def _sender(document: Any) -> int:
    """The member whose stream the line is in, as its sends tell."""
    try:
        return int(document["sends"][0]["id"][0])
    except (LookupError, TypeError, ValueError):
        return 0


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schema") / "run"
    import_logs([SAMPLE], folder)
    return folder


def test_recorded_and_imported_runs_are_valid(imported: Path, tmp_path: Path) -> None:
    record_run(tmp_path / "run", Rules.of("hardened"), 2, 300, faults=0.03)
    for folder in (imported, tmp_path / "run"):
        assert RUN.is_valid(json.loads((folder / "run.json").read_text()))
        for stream in folder.glob("member-*.ndjson"):
            lines = stream.read_text().splitlines()
            for line in lines[:: max(1, len(lines) // 60)]:
                EVENTS.validate(json.loads(line))


@given(events(0, 3))
@examples(60)
def test_whatever_a_recorder_may_write_is_valid(event: Event) -> None:
    EVENTS.validate(json.loads(encode(event)))


SPOILT: dict[str, tuple[str, Any]] = {
    "no step": ("step", ...),
    "a negative step": ("step", -1),
    "a step in words": ("step", "1"),
    "a step that is true": ("step", True),
    "half a step": ("step", 0.5),
    "a time beyond 64 bits": ("timeNs", 1 << 63),
    "an unknown action": ("action", "OnNothing"),
    "no input": ("input", None),
    "an unknown field": ("colour", "red"),
    "sends that are none": ("sends", {}),
    "a send without id": ("sends", [{"to": 1}]),
    "an id of no member": (
        "sends",
        [{"to": 1, "id": "9:1", "message": {"type": "TerminationPosition"}}],
    ),
    "an id with a leading zero": ("input", {"from": 1, "id": "1:01"}),
    "an unknown message": ("sends", [{"to": 1, "id": "0:1", "message": {"type": "Hello"}}]),
    "a message without its fields": (
        "sends",
        [{"to": 1, "id": "0:1", "message": {"type": "Vote"}}],
    ),
    "a member beyond the ninth": ("input", {"active": [9]}),
    "no state": ("state", ...),
    "an unknown election state": ("state.electionState", "ASLEEP"),
    "a state without a field": ("state.commitPosition", ...),
    "a position beyond 64 bits": ("state.commitPosition", -(1 << 63) - 1),
    "a flag that is a number": ("state.logSubscription", 1),
    "no members": ("state.members", []),
    "a checksum in capitals": ("logChecksums", [{"position": 1, "checksum": "ABCDEF0123456789"}]),
    "a source without lines": ("source", {"file": "x", "observed": []}),
}


@pytest.mark.parametrize("name", SPOILT)
def test_what_a_reader_refuses_for_its_form_the_schema_refuses(name: str) -> None:
    place, value = SPOILT[name]
    document = json.loads(encode(plain_event(0)))
    assert EVENTS.is_valid(document)
    *path, last = place.split(".")
    target = document
    for key in path:
        target = target[key]
    if value is ...:
        del target[last]
    else:
        target[last] = value

    assert not EVENTS.is_valid(document)
    assert not reader_takes(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schema", "canvass.run/2"),
        ("runId", "../../etc"),
        ("runId", "Upper"),
        ("runId", ""),
        ("runId", "a\n"),
        ("revision", "1.51"),
        ("memberCount", 0),
        ("memberCount", 10),
        ("memberCount", "3"),
        ("memberCount", True),
        ("initial", "full"),
        ("appointedLeaderId", -2),
        ("source", []),
        ("unknown", 1),
    ],
)
def test_what_is_no_run_json_is_neither_for_the_schema(field: str, value: Any) -> None:
    document = json.loads(encode(run_of()))
    assert RUN.is_valid(document)

    document[field] = value

    assert not RUN.is_valid(document)
    with pytest.raises(TraceError):
        decode_run(json.dumps(document).encode(), "run.json")


@given(st.data())
@examples(120)
def test_a_changed_value_is_valid_for_both_or_refused_by_the_reader(data: st.DataObject) -> None:
    """The readers are stricter, as they also see what contradicts itself; never laxer."""
    document = json.loads(encode(data.draw(events(0, 3))))
    target: Any = document
    while True:
        key = data.draw(st.sampled_from(sorted(target, key=str))) if target else None
        if key is None:
            return
        below = target[key]
        if isinstance(below, dict) and below and data.draw(st.booleans()):
            target = below
            continue
        break
    target[key] = data.draw(
        st.one_of(st.none(), st.booleans(), st.integers(-(1 << 65), 1 << 65), st.text(max_size=3))
    )
    if reader_takes(json.dumps(document).encode()):
        EVENTS.validate(document)
