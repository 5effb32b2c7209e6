"""The end of a recorded stream has the same numbers as the whole stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from canvass.cluster.messages import CanvassPosition
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.runner.member_process import forget_last_step, last_states, next_numbers
from canvass.traces.recorder import StreamRecorder

STATES = [persistent_member(Rules.of("hardened"), k) for k in range(8)]
MESSAGE = CanvassPosition(0, 0, 0, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A stream of eight steps, the second and fourth of which send two messages and one."""
    found = tmp_path / "member-1.ndjson"
    recorder = StreamRecorder(found, 1)
    for k, state in enumerate(STATES):
        to = {1: (0, 2), 3: (0,)}.get(k, ())
        recorder.record(k, "Canvass", state, sends=[(j, MESSAGE) for j in to])
    recorder.close()
    return found


def test_the_last_two_states_are_found(path: Path) -> None:
    assert last_states(path) == (STATES[7], STATES[6])


def test_an_incomplete_last_step_is_ignored(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"step":8,"timeNs":')

    assert last_states(path) == (STATES[7], STATES[6])
    assert next_numbers(path) == (8, 3)


def test_a_missing_or_empty_file_has_no_states(tmp_path: Path) -> None:
    missing, empty = tmp_path / "member-0.ndjson", tmp_path / "member-1.ndjson"
    empty.touch()
    for path in (missing, empty):
        assert (last_states(path), next_numbers(path)) == ((None, None), None)


def test_last_steps_are_removed_one_by_one(path: Path) -> None:
    for left in range(7, -1, -1):
        forget_last_step(path)
        states = [None, None, *STATES][: left + 2]
        assert last_states(path) == (states[-1], states[-2])
        numbers = {0: None, 1: (1, 0), 2: (2, 2), 3: (3, 2)}.get(left, (left, 3))
        assert next_numbers(path) == numbers


@pytest.mark.parametrize("torn", [b"", b'{"step":8,"time'])
def test_the_end_of_a_stream_gives_the_numbers_of_the_whole_stream(path: Path, torn: bytes) -> None:
    with path.open("ab") as file:
        file.write(torn)
    other = path.with_name("copy.ndjson")
    other.write_bytes(path.read_bytes())
    for stream, numbers in ((path, next_numbers(path)), (other, None)):
        recorder = StreamRecorder(stream, 1, numbers=numbers)
        assert recorder.record(9, "Canvass", STATES[0], sends=[(0, MESSAGE)]) == 3
        recorder.close()

    assert path.read_bytes() == other.read_bytes()
    assert next_numbers(path) == (9, 4)
