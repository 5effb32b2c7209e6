"""Recording: the steps of members become a run that the reader takes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from canvass.cluster.member import ElectionState, Input
from canvass.cluster.messages import RequestVote, Vote
from canvass.traces.actions import Action
from canvass.traces.errors import Code, TraceError
from canvass.traces.ndjson import EventReader
from canvass.traces.recorder import RunRecorder, StreamRecorder
from canvass.traces.run import RunFolder
from canvass.traces.schema import Send
from canvass.traces.streams import StreamFile
from support.trace_events import initial_member, run_of

START = initial_member()
BALLOT = replace(START, election_state=ElectionState.CANDIDATE_BALLOT, candidate_term_id=0)
REQUEST = RequestVote(-1, 0, 0, 0)


def test_a_dialogue_is_recorded_with_ids_that_the_receiver_names(tmp_path: Path) -> None:
    with RunRecorder(tmp_path / "r", run_of()) as run:
        candidate, voter = run.member(0), run.member(1)
        candidate.record(5, "Restart", START)
        voter.record(3, "Restart", START)
        first = candidate.record(6, "Nominate", BALLOT, sends=[(1, REQUEST), (2, REQUEST)])
        answer = Vote(0, -1, 0, 0, 1, vote=True)
        number = voter.record(
            4,
            "OnRequestVote",
            replace(BALLOT, election_state=ElectionState.FOLLOWER_BALLOT),
            inputs=Input(message=REQUEST),
            sender=0,
            number=first,
            sends=[(0, answer)],
            log_checksums=[(0, 0), (64, 255)],
        )
        candidate.record(7, "OnVote", BALLOT, inputs=Input(message=answer), sender=1, number=number)

    loaded = RunFolder(tmp_path / "r").load()

    assert loaded.run == run_of()
    assert [fact.member_id for fact in loaded.facts] == [2]
    restart, nominate, on_vote = loaded.events[0]
    assert (restart.step, restart.time_ns, restart.action) == (0, 5, Action.RESTART)
    assert nominate.state == BALLOT
    wire = REQUEST
    assert nominate.sends == (Send(1, "0:0", wire), Send(2, "0:1", wire))
    on_request = loaded.events[1][1]
    assert (on_request.input.from_, on_request.input.id) == (0, "0:0")
    assert (on_vote.input.from_, on_vote.input.id) == (1, on_request.sends[0].id)
    assert [(w.position, w.checksum) for w in on_request.log_checksums] == [
        (0, "0000000000000000"),
        (64, "00000000000000ff"),
    ]


def test_a_recorded_step_is_in_the_file_at_once(tmp_path: Path) -> None:
    recorder = StreamRecorder(tmp_path / "member-0.ndjson", 0)
    recorder.record(1, "Restart", START)

    assert len(steps_of(tmp_path / "member-0.ndjson")) == 1
    recorder.close()


def test_steps_wait_in_memory_on_request_and_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "member-0.ndjson"
    recorder = StreamRecorder(path, 0, flush=False)
    for time_ns in range(1_000):
        recorder.record(time_ns, "Restart", START)

    waiting = 1_000 - len(steps_of(path))
    recorder.close()

    assert 0 < waiting < 1_000
    assert steps_of(path) == list(range(1_000))


@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_closed_recorder_refuses_further_steps(tmp_path: Path, suffix: str, flush: bool) -> None:
    with RunRecorder(tmp_path, run_of(), suffix=suffix, flush=flush) as run:
        member = run.member(0)
        member.record(1, "Restart", START)

    with pytest.raises(ValueError, match="member 0, step 1, Restart: the recorder is closed"):
        run.member(0).record(2, "Restart", START)
    with pytest.raises(ValueError, match=r"member 1: the recorder of .* is closed"):
        run.member(1)
    assert steps_of(tmp_path / f"member-0.ndjson{suffix}") == [0]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_run_is_recorded_compressed(tmp_path: Path, suffix: str) -> None:
    with RunRecorder(tmp_path, run_of(), suffix=suffix, flush=False) as run:
        for member_id in range(3):
            for time_ns in range(600):
                run.member(member_id).record(time_ns, "Restart", START)

    loaded = RunFolder(tmp_path).load()

    assert [len(events) for events in loaded.events.values()] == [600] * 3
    assert loaded.facts == ()


def steps_of(path: Path) -> list[int]:
    with StreamFile(path) as source:
        return [event.step for event in EventReader(source, str(path), 0)]


@pytest.mark.parametrize("cut", [0, 1, 2, 300])
def test_recording_goes_on_after_a_process_that_died_in_writing(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "member-0.ndjson"
    recorder = StreamRecorder(path, 0)
    recorder.record(1, "Restart", START)
    recorder.record(2, "Nominate", BALLOT, sends=[(1, REQUEST), (2, REQUEST)])
    recorder.record(3, "Nominate", BALLOT)
    recorder.close()
    with path.open("r+b") as file:
        file.truncate(file.seek(0, os.SEEK_END) - cut)

    recorder = StreamRecorder(path, 0)
    number = recorder.record(4, "Restart", START, sends=[(1, REQUEST)])
    recorder.close()

    whole = cut < 2
    assert steps_of(path) == ([0, 1, 2, 3] if whole else [0, 1, 2])
    assert number == 2


def test_recording_does_not_go_on_in_what_is_no_stream(tmp_path: Path) -> None:
    (tmp_path / "member-0.ndjson").write_text("{}\n")
    with pytest.raises(TraceError) as caught:
        StreamRecorder(tmp_path / "member-0.ndjson", 0)
    assert caught.value.code is Code.BAD_VALUE

    (tmp_path / "member-0.ndjson.zst").write_text("")
    with pytest.raises(ValueError, match="compressed"):
        StreamRecorder(tmp_path / "member-0.ndjson.zst", 0)


def test_a_step_that_does_not_fit_the_format_is_refused(tmp_path: Path) -> None:
    with RunRecorder(tmp_path, run_of()) as run:
        with pytest.raises(ValueError, match="Resign"):
            run.member(0).record(0, "Resign", START)
        with pytest.raises(ValueError, match="consumes a RequestVote"):
            run.member(0).record(0, "OnRequestVote", START)
        with pytest.raises(ValueError, match="no member 3"):
            run.member(3)


@pytest.mark.parametrize("flush", [True, False])
@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"time_ns": 1.5}, "got `float` - at `$.timeNs`"),
        ({"state": replace(START, commit_position=None)}, "`$.state.commitPosition`"),
        ({"state": replace(START, commit_position=np.int64(0))}, "numpy.int64"),
        ({"state": replace(START, commit_position=1 << 63)}, "`$.state.commitPosition`"),
        ({"inputs": None}, "'NoneType' object has no attribute"),
        ({"sender": 1}, "input.from and input.id are for a message"),
        ({"number": None}, "'NoneType'"),
        ({"sends": [(9, REQUEST)]}, "`$.sends[0].to`"),
    ],
)
def test_a_refused_step_is_named_at_once_and_leaves_the_others(
    tmp_path: Path, step: dict[str, Any], reason: str, *, flush: bool
) -> None:
    path = tmp_path / "member-0.ndjson"
    recorder = StreamRecorder(path, 0, flush=flush)
    recorder.record(1, "Restart", START)
    good: dict[str, Any] = {"time_ns": 2, "action": "Nominate", "state": BALLOT}

    with pytest.raises(ValueError, match=r"^member 0, step 1, Nominate: ") as caught:
        recorder.record(**good | step)
    number = recorder.record(**good, sends=[(1, REQUEST)])
    recorder.close()

    assert reason in str(caught.value)
    assert steps_of(path) == [0, 1]
    assert number == 0


def test_processes_share_a_run_folder_if_they_agree_on_the_run(tmp_path: Path) -> None:
    first = RunRecorder(tmp_path, run_of())
    second = RunRecorder(tmp_path, run_of())
    first.member(0).record(0, "Restart", START)
    second.member(1).record(0, "Restart", START)
    first.close()
    second.close()

    assert sorted(RunFolder(tmp_path).load().events) == [0, 1]
    with pytest.raises(ValueError, match="another run"):
        RunRecorder(tmp_path, run_of("run-2"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "member-0.ndjson",
        "member-1.ndjson",
        "run.json",
    ]
