"""How fast traces are read and written, compared with msgspec alone on the same lines.

``python benchmarks/trace_io.py [EVENTS]`` prints one table. Each figure is the median of five
rounds in which all ways take turns, so that other load of the machine affects all of them alike.
"""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path

import msgspec

from canvass.cluster.member import ElectionState, Member, MemberRecord, ModuleState, Role, TermEntry
from canvass.cluster.messages import AppendPosition, CommitPosition
from canvass.traces.actions import Action
from canvass.traces.arrow import from_table, to_table
from canvass.traces.columns import from_events
from canvass.traces.ndjson import BLOCK_BYTES, EventReader, open_stream
from canvass.traces.parquet import DatasetFile, column_problems, write_dataset
from canvass.traces.recorder import StreamRecorder
from canvass.traces.run import Corpus, RunFolder
from canvass.traces.schema import Event, Input, Run, Send, encode, encode_lines, to_core_input

ROUNDS = 5
RUN = Run("canvass.run/1", "bench", "1.50", 3)


def state(position: int, step: int) -> Member:
    """A leader in its term, somewhere in its log."""
    return Member(
        persisted_candidate_term_id=3,
        recording_log=tuple(
            TermEntry(term, term * 1024, (term + 1) * 1024 if term < 2 else -1) for term in range(3)
        ),
        recorded_position=position,
        snapshot_leadership_term_id=-1,
        snapshot_term_base_log_position=-1,
        snapshot_log_position=-1,
        module_state=ModuleState.ACTIVE,
        role=Role.LEADER,
        module_leadership_term_id=3,
        module_notified_commit_position=position,
        commit_position=max(0, position - 64),
        publication_position=position,
        log_subscription=True,
        catchup_destination=False,
        termination_position=-1,
        termination_leadership_term_id=-1,
        leader_member_id=0,
        members=tuple(
            MemberRecord(3, max(0, position - 64 * ((k + step) % 3)), 3, 1, True, False)
            for k in range(3)
        ),
        election_state=ElectionState.CLOSED,
        log_leadership_term_id=3,
        leadership_term_id=3,
        candidate_term_id=3,
        append_position=position,
        notified_commit_position=position,
        catchup_join_position=-1,
        replication_leadership_term_id=-1,
        replication_stop_position=-1,
        replication_term_base_log_position=-1,
        log_replication=False,
        replay_stop_position=-1,
        graceful_closed_leader_id=-1,
    )


def event(step: int) -> Event:
    """One step of a working leader: it receives a message, commits and appends in turn."""
    position = 64 * (step // 3)
    sends: tuple[Send, ...] = ()
    if step % 3 == 0:
        heard = AppendPosition(3, position, 1, 0)
        action, given = Action.ON_APPEND_POSITION, Input(1, f"1:{step}", heard)
    elif step % 3 == 1:
        action = Action.UPDATE_LEADER_POSITION
        given = Input(commit_interval=True, active=(0, 1, 2))
        said = CommitPosition(3, position, 0)
        sends = tuple(Send(peer, f"0:{2 * step + peer}", said) for peer in (1, 2))
    else:
        action, given = Action.APPEND_ENTRY, Input(position=position)
    return Event(step, 10**15 + step * 999_983, action, given, sends, state(position, step))


def measure(ways: dict[str, Callable[[], object]], events: int) -> dict[str, float]:
    """Give for each way the median processor time of an event, in nanoseconds."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.process_time()
            way()
            times[name].append((time.process_time() - start) / events * 1e9)
    return {name: statistics.median(taken) for name, taken in times.items()}


def drop(things: Iterable[object]) -> None:
    """Consume an iterable without keeping its items, as a checker does."""
    deque(things, maxlen=0)


def blocks_of(data: bytes) -> list[bytes]:
    """Cut lines into blocks of the reader's size."""
    blocks, start = [], 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + BLOCK_BYTES) + 1
        blocks.append(data[start:end])
        start = end
    return blocks


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
    events = [event(step) for step in range(count)]
    data = encode_lines(events)
    lines, blocks = data.splitlines(), blocks_of(data)
    bare = msgspec.json.Decoder(Event)
    columns = from_events("bench", 0, events)
    table = to_table(columns)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "run.json").write_bytes(encode(RUN))
        (root / "member-0.ndjson").write_bytes(data)
        write_dataset(Corpus(root), root / "set")
        parquet = root / "set" / "events-3-00000.parquet"
        for suffix in (".gz", ".zst"):
            with open_stream(root / f"events.ndjson{suffix}") as out:
                out.write(data)
        steps = [
            (
                one.time_ns,
                one.action.value,
                one.state,
                to_core_input(one.input),
                one.input,
                [(send.to, send.message) for send in one.sends],
            )
            for one in events
        ]

        def record() -> None:
            path = root / "recorded.ndjson"
            path.unlink(missing_ok=True)
            recorder = StreamRecorder(path, 0, flush=False)
            for time_ns, action, after, core_input, given, sends in steps:
                number = int(given.id[2:]) if given.id else -1
                recorder.record(
                    time_ns,
                    action,
                    after,
                    inputs=core_input,
                    sender=given.from_,
                    number=number,
                    sends=sends,
                )
            recorder.close()

        def read_parquet() -> None:
            with DatasetFile(parquet) as file:
                for batch in file.batches():
                    assert len(batch)

        ways: dict[str, Callable[[], object]] = {
            "msgspec alone, block by block": lambda: drop(map(bare.decode_lines, blocks)),
            "msgspec alone, line by line": lambda: drop(map(bare.decode, lines)),
            "strict reader": lambda: drop(EventReader(BytesIO(data), "bench", 0).batches()),
            "run folder to columns": lambda: drop(RunFolder(root).columns()),
            "Parquet file to columns": read_parquet,
            "Arrow table to columns": lambda: from_table(table),
            "columns checked": lambda: column_problems(columns),
            "events to columns": lambda: from_events("bench", 0, events),
            "columns to Arrow table": lambda: to_table(columns),
            "writer's encoding": lambda: encode_lines(events),
            "recorder, with reading back": record,
        }
        # The inputs of the measurement must not count as garbage of any way.
        gc.collect()
        gc.freeze()
        found = measure(ways, count)
        sizes = {
            "NDJSON": len(data),
            "NDJSON, gzip": (root / "events.ndjson.gz").stat().st_size,
            "NDJSON, zstandard": (root / "events.ndjson.zst").stat().st_size,
            "Parquet": parquet.stat().st_size,
        }
    base = found["msgspec alone, block by block"]
    out_lines = [f"{'way':34} {'ns/event':>9} {'events/s':>11} {'speed to msgspec':>17}"]
    for name, taken in found.items():
        out_lines.append(f"{name:34} {taken:9.0f} {1e9 / taken:11,.0f} {base / taken:16.0%}")
    out_lines += [f"{name:34} {size / count:9.1f} bytes/event" for name, size in sizes.items()]
    sys.stdout.write("\n".join(out_lines) + "\n")


if __name__ == "__main__":
    main()
