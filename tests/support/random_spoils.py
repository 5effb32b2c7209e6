"""Ways to damage a recorded run at a random place; after some of them the run still conforms.

Each takes the streams of a run and a source of randomness, and changes the streams in place. The
right verdict is not known: the damaged runs serve to compare two checkers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from canvass.cluster.rules import Rules
from canvass.selftest.runs import record_run
from support.corruptions import Line, Streams, corrupted, renumber

Spoil = Callable[[Streams, random.Random], None]

_ELECTION_STATES = ("CANVASS", "NOMINATE", "FOLLOWER_REPLAY", "LEADER_READY", "CLOSED")


def _choose(streams: Streams, rng: random.Random, *, first: int = 1) -> tuple[int, int]:
    """A member and the place of one of its events."""
    member = rng.choice([m for m, lines in streams.items() if len(lines) > first + 1])
    return member, rng.randrange(first, len(streams[member]))


def _where(
    streams: Streams, rng: random.Random, wanted: Callable[[Line], object]
) -> tuple[int, int] | None:
    found = [(m, k) for m, lines in streams.items() for k, line in enumerate(lines) if wanted(line)]
    return rng.choice(found) if found else None


def _other(value: Any, name: str, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((-1, 1, 32, 64)) if value >= 0 else rng.choice((0, 1))
    if name == "electionState":
        return rng.choice([state for state in _ELECTION_STATES if state != value])
    if name == "role":
        return "LEADER" if value != "LEADER" else "FOLLOWER"
    return "CLOSED" if value == "ACTIVE" else "ACTIVE"


def field_once(streams: Streams, rng: random.Random) -> None:
    """A field of the state is wrong in one event."""
    member, place = _choose(streams, rng)
    state = streams[member][place]["state"]
    name = rng.choice([n for n, v in state.items() if not isinstance(v, list)])
    state[name] = _other(state[name], name, rng)


def field_from_on(streams: Streams, rng: random.Random) -> None:
    """A field is wrong for as long as it should have kept its value."""
    member, place = _choose(streams, rng)
    lines = streams[member]
    names = [n for n, v in lines[place]["state"].items() if not isinstance(v, list)]
    name = rng.choice(names)
    right = lines[place]["state"][name]
    wrong = _other(right, name, rng)
    for line in lines[place:]:
        if line["state"][name] != right:
            break
        line["state"][name] = wrong


def record_of_a_member(streams: Streams, rng: random.Random) -> None:
    """One event records a wrong belief of a member about another one."""
    member, place = _choose(streams, rng)
    record = rng.choice(streams[member][place]["state"]["members"])
    name = rng.choice(list(record))
    record[name] = _other(record[name], name, rng)


def recording_log(streams: Streams, rng: random.Random) -> None:
    """An entry of the recording log is wrong from one event on."""
    if (where := _where(streams, rng, lambda line: line["state"]["recordingLog"])) is not None:
        member, place = where
        name = rng.choice(("leadershipTermId", "termBaseLogPosition", "logPosition"))
        for line in streams[member][place:]:
            if line["state"]["recordingLog"]:
                line["state"]["recordingLog"][0][name] += 1


def commit_forged(streams: Streams, rng: random.Random) -> None:
    """From one event on, a member's commit position is too large."""
    member, place = _choose(streams, rng)
    for line in streams[member][place:]:
        line["state"]["commitPosition"] += 32


def action_renamed(streams: Streams, rng: random.Random) -> None:
    """A step has the name of another action that receives no message."""
    if (where := _where(streams, rng, lambda line: "message" not in line["input"])) is not None:
        member, place = where
        others = ("Canvass", "FollowerReady", "UpdateFollowerPosition", "ElectionInit", "Restart")
        streams[member][place]["action"] = rng.choice(others)


def input_changed(streams: Streams, rng: random.Random) -> None:
    """A field of an input is changed."""
    where = _where(streams, rng, lambda line: line["step"] and "message" not in line["input"])
    if where is not None:
        given = streams[where[0]][where[1]]["input"]
        name = rng.choice(("position", "timeout", "leadershipTermId", "termBaseLogPosition"))
        value = given.get(name, -1 if name != "timeout" else False)
        given[name] = _other(value, name, rng)


def event_missing(streams: Streams, rng: random.Random) -> None:
    """An event is missing, which leaves a gap in the numbers."""
    member, place = _choose(streams, rng)
    del streams[member][place]


def event_missing_unseen(streams: Streams, rng: random.Random) -> None:
    """An event is missing, and the numbers of the others have no gap."""
    member, place = _choose(streams, rng)
    del streams[member][place]
    renumber(streams[member])


def events_swapped(streams: Streams, rng: random.Random) -> None:
    """Two consecutive steps are in the wrong order."""
    member, place = _choose(streams, rng, first=2)
    lines = streams[member]
    lines[place - 1], lines[place] = lines[place], lines[place - 1]
    renumber(lines)


def event_twice(streams: Streams, rng: random.Random) -> None:
    """An event is in the stream twice."""
    member, place = _choose(streams, rng)
    streams[member].insert(place, json.loads(json.dumps(streams[member][place])))
    renumber(streams[member])


def stream_cut(streams: Streams, rng: random.Random) -> None:
    """A stream ends early."""
    member, place = _choose(streams, rng)
    del streams[member][place:]


def stream_missing(streams: Streams, rng: random.Random) -> None:
    """A member has no stream."""
    streams.pop(rng.choice(list(streams)))


def send_missing(streams: Streams, rng: random.Random) -> None:
    """A send is not recorded."""
    if (where := _where(streams, rng, lambda line: line["sends"])) is not None:
        sends = streams[where[0]][where[1]]["sends"]
        sends.pop(rng.randrange(len(sends)))


def send_forged(streams: Streams, rng: random.Random) -> None:
    """A message was sent with other contents than it was received with."""
    if (where := _where(streams, rng, lambda line: line["sends"])) is not None:
        _forge(rng.choice(streams[where[0]][where[1]]["sends"])["message"], rng)


def receipt_forged(streams: Streams, rng: random.Random) -> None:
    """A message is received with other contents than it was sent with."""
    if (where := _where(streams, rng, lambda line: "message" in line["input"])) is not None:
        _forge(streams[where[0]][where[1]]["input"]["message"], rng)


def _forge(message: Line, rng: random.Random) -> None:
    names = [n for n, v in message.items() if isinstance(v, int) and not n.endswith("MemberId")]
    if names:
        name = rng.choice(names)
        message[name] = _other(message[name], name, rng)


def receipts_exchanged(streams: Streams, rng: random.Random) -> None:
    """Two receipts of one channel have each other's message ids."""
    if (where := _where(streams, rng, lambda line: "message" in line["input"])) is not None:
        member, place = where
        sender = streams[member][place]["input"]["from"]
        later = [
            line["input"]
            for line in streams[member][place + 1 :]
            if line["input"].get("from") == sender
        ]
        if later:
            one, other = streams[member][place]["input"], later[0]
            one["id"], other["id"] = other["id"], one["id"]


def receipts_exchanged_across_a_restart(streams: Streams, rng: random.Random) -> None:
    """A message is received before an equal one that its sender sent before its last restart."""
    lives: dict[str, int] = {}
    for lines in streams.values():
        life = 0
        for line in lines:
            life += line["action"] == "Restart"
            lives |= {send["id"]: life for send in line["sends"]}
    pairs = []
    for lines in streams.values():
        seen: dict[str, Line] = {}
        for given in (line["input"] for line in lines if "message" in line["input"]):
            key = json.dumps([given["from"], given["message"]])
            first = seen.setdefault(key, given)
            if lives.get(first["id"], 0) < lives.get(given["id"], 0):
                pairs.append((first, given))
    if pairs:
        one, other = rng.choice(pairs)
        one["id"], other["id"] = other["id"], one["id"]


def catchup_not_granted(streams: Streams, rng: random.Random) -> None:
    """A stream ends when a follower joins a catch-up; its leader's stream ends before the grant."""
    where = _where(streams, rng, lambda line: line["action"] == "FollowerCatchupAwait")
    if where is None:
        return
    member, place = where
    leader = streams[member][place]["state"]["leaderMemberId"]
    asks = [line["action"] for line in streams[member][:place]].count("FollowerCatchupInit")
    grants = [
        k
        for k, line in enumerate(streams[leader])
        if line["action"] == "OnCatchupPosition" and line["input"]["from"] == member
    ]
    if len(grants) < asks or place + 1 == len(streams[member]):
        return
    shorter = {member: streams[member][: place + 1], leader: streams[leader][: grants[asks - 1]]}
    cut = {m: shorter.get(m, lines) for m, lines in streams.items()}
    while True:
        sent = {send["id"] for lines in cut.values() for line in lines for send in line["sends"]}
        far = max(line["state"]["recordedPosition"] for line in cut[leader])
        ends = {m: _first_without_cause(lines, sent, far) for m, lines in cut.items()}
        if all(end == len(cut[m]) for m, end in ends.items()):
            break
        cut = {m: lines[: ends[m]] for m, lines in cut.items()}
    if len(cut[member]) == place + 1:
        streams.update(cut)


def _first_without_cause(lines: list[Line], sent: set[str], far: int) -> int:
    """The place of the first line that receives an unsent message, or records beyond ``far``."""
    for k, line in enumerate(lines):
        if line["input"].get("id") not in {None, *sent} or line["state"]["recordedPosition"] > far:
            return k
    return len(lines)


def began_earlier(streams: Streams, rng: random.Random) -> None:
    """All streams begin later, at places between which no message is under way."""
    sent = {
        send["id"]: (m, k)
        for m, lines in streams.items()
        for k, line in enumerate(lines)
        for send in line["sends"]
    }
    starts = {m: rng.randrange(1, max(2, len(lines) // 2)) for m, lines in streams.items()}
    moved = True
    while moved:
        moved = False
        for m, lines in streams.items():
            for k in range(starts[m], len(lines)):
                sender, place = sent.get(lines[k]["input"].get("id", ""), (m, k))
                if place < starts[sender]:
                    starts[m], moved = k + 1, True
    for m, lines in streams.items():
        del lines[: min(starts[m], len(lines) - 1)]
        renumber(lines)


def checksum_forged(streams: Streams, rng: random.Random) -> None:
    """A checksum of the log is changed."""
    if (where := _where(streams, rng, lambda line: line.get("logChecksums"))) is not None:
        witness = rng.choice(streams[where[0]][where[1]]["logChecksums"])
        first = witness["checksum"][0]
        witness["checksum"] = ("0" if first != "0" else "1") + witness["checksum"][1:]


def recorded_beyond(streams: Streams, rng: random.Random) -> None:
    """A stream ends with a record of bytes that no member has written."""
    if (where := _where(streams, rng, lambda line: line["action"] == "RecordLog")) is not None:
        member, place = where
        del streams[member][place + 1 :]
        last = streams[member][place]
        last["input"]["position"] += 1 << 20
        last["state"]["recordedPosition"] += 1 << 20
        last.pop("logChecksums", None)


def term_begins_nowhere(streams: Streams, rng: random.Random) -> None:
    """A stream ends with an entry that the member processes as the first one of the next term."""
    where = _where(streams, rng, lambda line: line["step"] and line["action"] == "ConsumeLog")
    if where is not None:
        member, place = where
        del streams[member][place + 1 :]
        before, last = streams[member][place - 1]["state"], streams[member][place]
        if last["state"]["electionState"] == "CLOSED":
            last["action"] = "OnReplayNewLeadershipTermEvent"
            last["input"]["leadershipTermId"] = before["moduleLeadershipTermId"] + 1
            last["input"]["termBaseLogPosition"] = before["commitPosition"]
            last["state"]["moduleLeadershipTermId"] = before["moduleLeadershipTermId"] + 1


def term_begins_unseen(streams: Streams, rng: random.Random) -> None:
    """A stream ends with the first entry of a term, which the member processes as another one."""
    action = "OnReplayNewLeadershipTermEvent"
    where = _where(streams, rng, lambda line: line["step"] and line["action"] == action)
    if where is not None:
        member, place = where
        del streams[member][place + 1 :]
        before, last = streams[member][place - 1]["state"], streams[member][place]
        last["action"] = "ConsumeLog"
        last["input"] = {"position": last["input"]["position"]}
        last["state"] = before | {"commitPosition": last["state"]["commitPosition"]}


def leader_forged(streams: Streams, rng: random.Random) -> None:
    """One event shows a member as the leader of a term that another member leads."""
    if (where := _where(streams, rng, lambda line: line["state"]["role"] == "LEADER")) is not None:
        state = streams[where[0]][where[1]]["state"]
        other = rng.choice([m for m in streams if m != where[0]] or [where[0]])
        line = rng.choice(streams[other])
        for name in ("role", "electionState", "leadershipTermId", "moduleLeadershipTermId"):
            line["state"][name] = state[name]
        line["state"]["publicationPosition"] = max(line["state"]["recordedPosition"], 0)


SPOILS: tuple[Spoil, ...] = (
    field_once,
    field_from_on,
    record_of_a_member,
    recording_log,
    commit_forged,
    action_renamed,
    input_changed,
    event_missing,
    event_missing_unseen,
    events_swapped,
    event_twice,
    stream_cut,
    stream_missing,
    send_missing,
    send_forged,
    receipt_forged,
    receipts_exchanged,
    receipts_exchanged_across_a_restart,
    catchup_not_granted,
    checksum_forged,
    recorded_beyond,
    term_begins_nowhere,
    term_begins_unseen,
    leader_forged,
)


def _spoilt(spoil: Spoil | None, rng: random.Random, streams: Streams) -> None:
    if spoil is not None:
        spoil(streams, rng)


def record_spoilt_runs(root: Path, seeds: Iterable[int], rules: Rules, steps: int) -> list[Path]:
    """Record a run for each seed, and damage six of seven runs; give the folders.

    The ways of damage take turns. The good runs stay beside the corpus, to find the cause of a
    difference between the checkers.
    """
    folders = []
    for seed in seeds:
        good = root / "good" / str(seed)
        rng = random.Random(seed)
        run = record_run(good, rules, seed, steps, faults=(0.0, 0.02)[seed % 2])
        turn, rest = divmod(seed, 7)
        spoil = SPOILS[(6 * turn + rest) % len(SPOILS)] if rest < 6 else None
        name = f"{seed:04}-{spoil.__name__ if spoil else 'good'}".replace("_", "-")
        folder = root / "runs" / name
        corrupted(good, folder, partial(_spoilt, spoil, rng))
        header = folder / "run.json"
        header.write_text(header.read_text().replace(run.run_id, name))
        folders.append(folder)
    return folders
