"""Ways to corrupt a recorded run: each makes one thing wrong in the streams of a good run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Streams = dict[int, list[Line]]


def read_streams(folder: Path) -> Streams:
    """The lines of a plain run's streams."""
    found = {}
    for path in sorted(folder.glob("member-*.ndjson")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found[int(path.stem.removeprefix("member-"))] = lines
    return found


def write_streams(folder: Path, streams: Streams) -> None:
    """Write streams to a folder that has a ``run.json``."""
    for member, lines in streams.items():
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        (folder / f"member-{member}.ndjson").write_text(text)


def corrupted(good: Path, folder: Path, change: Callable[[Streams], None]) -> Path:
    """A copy of a run with its streams changed."""
    shutil.copytree(good, folder)
    streams = read_streams(folder)
    change(streams)
    write_streams(folder, streams)
    return folder


def events(streams: Streams, action: str) -> Iterator[tuple[int, int, Line]]:
    """Member, place and line of each event of an action."""
    for member, lines in streams.items():
        for place, line in enumerate(lines):
            if line["action"] == action:
                yield member, place, line


def renumber(lines: list[Line]) -> None:
    """Number the steps of a stream anew."""
    for step, line in enumerate(lines):
        line["step"] = step


def commit_too_far(streams: Streams) -> None:
    """A follower processes more than it knows to be committed, and keeps the wrong position."""
    member, place, line = list(events(streams, "ConsumeLog"))[4]
    for later in streams[member][place:]:
        if later["state"]["commitPosition"] == line["state"]["commitPosition"]:
            later["state"]["commitPosition"] += 4096


def vote_without_disk(streams: Streams) -> None:
    """The candidate term is not on disk when a vote leaves."""
    for member, place, line in events(streams, "OnRequestVote"):
        if any(send["message"].get("vote") for send in line["sends"]):
            before = streams[member][place - 1]["state"]["persistedCandidateTermId"]
            for later in streams[member][place:]:
                later["state"]["persistedCandidateTermId"] = before
            return
    raise AssertionError("no vote in favour")


def untouched_field(streams: Streams) -> None:
    """A field changes in a step whose action may not change it, and changes back afterwards."""
    _, _, line = list(events(streams, "UpdateFollowerPosition"))[2]
    line["state"]["snapshotLogPosition"] += 32


def event_dropped(streams: Streams) -> None:
    """An event is missing, which leaves a gap in the numbers."""
    member, place, _ = list(events(streams, "RecordLog"))[2]
    del streams[member][place]


def event_dropped_unseen(streams: Streams) -> None:
    """An event is missing, and the numbers of the others have no gap."""
    member, place, _ = list(events(streams, "RecordLog"))[2]
    del streams[member][place]
    renumber(streams[member])


def events_swapped(streams: Streams) -> None:
    """Two consecutive steps of a member are in the wrong order."""
    member, place, _ = list(events(streams, "RecordLog"))[2]
    lines = streams[member]
    lines[place - 1], lines[place] = lines[place], lines[place - 1]
    renumber(lines)


def event_duplicated(streams: Streams) -> None:
    """A receipt is in the stream twice."""
    member, place, line = next(events(streams, "OnCommitPosition"))
    streams[member].insert(place, json.loads(json.dumps(line)))
    for copy in streams[member][place : place + 1]:
        copy["sends"] = []
    renumber(streams[member])


def send_removed(streams: Streams) -> None:
    """A message that the spec sends is not recorded as sent, and nobody received it."""
    received = {line["input"].get("id") for lines in streams.values() for line in lines}
    for lines in streams.values():
        for line in lines:
            for send in line["sends"]:
                if send["id"] not in received:
                    line["sends"].remove(send)
                    return
    raise AssertionError("every message was received")


def message_sent_twice(streams: Streams) -> None:
    """A message that nobody receives has the id of one that its sender sent before."""
    received = {line["input"].get("id") for lines in streams.values() for line in lines}
    for lines in streams.values():
        sends = [send for line in lines for send in line["sends"]]
        for send in sends[1:]:
            if send["id"] not in received:
                send["id"] = sends[0]["id"]
                return
    raise AssertionError("every message was received")


def message_from_nowhere(streams: Streams) -> None:
    """A message is received that nobody sent: its send is removed from the sender's stream."""
    _, _, line = next(events(streams, "OnCommitPosition"))
    for other in streams[line["input"]["from"]]:
        other["sends"] = [s for s in other["sends"] if s["id"] != line["input"]["id"]]


def message_forged(streams: Streams) -> None:
    """A message arrives with another position than it was sent with."""
    _, _, line = next(events(streams, "OnCanvassPosition"))
    line["input"]["message"]["logPosition"] += 1


def message_overtaken(streams: Streams) -> None:
    """Two messages of one channel arrive in the other order."""
    for lines, action in product(streams.values(), ("OnCanvassPosition", "OnAppendPosition")):
        last: dict[int, Line] = {}
        for line in (one for one in lines if one["action"] == action):
            given = line["input"]
            if action == "OnAppendPosition" or line["state"]["electionState"] == "CLOSED":
                other = last.get(given["from"])
                if other is not None and other["message"] == given["message"]:
                    other["id"], given["id"] = given["id"], other["id"]
                    return
                last[given["from"]] = given
    raise AssertionError("no two equal messages of one channel")


def checksum_forged(streams: Streams) -> None:
    """A follower's log does not hold the leader's bytes."""
    for lines in streams.values():
        if all(line["state"]["role"] != "LEADER" for line in lines):
            for line in lines:
                for witness in line.get("logChecksums", []):
                    witness["checksum"] = witness["checksum"][:-1] + (
                        "0" if witness["checksum"][-1] != "0" else "1"
                    )


def checksum_beyond(streams: Streams) -> None:
    """A follower reports a checksum of bytes that it has not recorded."""
    lines = [line for _, _, line in events(streams, "RecordLog")]
    line = [line for line in lines if line["state"]["role"] == "FOLLOWER"][-1]
    beyond = line["state"]["recordedPosition"] + 1_000_000
    line["logChecksums"] = [{"position": beyond, "checksum": "0" * 16}]


def recorded_from_nowhere(streams: Streams) -> None:
    """A follower records further than its leader ever wrote."""
    member, place, line = [
        (m, k, line)
        for m, k, line in events(streams, "RecordLog")
        if line["state"]["role"] == "FOLLOWER"
    ][-1]
    far = line["state"]["recordedPosition"] + 1_000_000
    del streams[member][place + 1 :]
    line["input"]["position"] = far
    line["state"]["recordedPosition"] = far
    line.pop("logChecksums", None)
    # The messages of the removed steps are not sent now: a stream ends where it receives one.
    sent = {s["id"] for k in streams[member] for s in k["sends"]}
    for lines in streams.values():
        for number, other in enumerate(lines):
            given = other["input"]
            if given.get("from") == member and given["id"] not in sent:
                del lines[number:]
                break
