"""Lines as containers and loggers deliver them: each framing gives the records of the plain log."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.traces.aeron_log.line import COLOURS, FRAMINGS
from canvass.traces.aeron_log.records import (
    CommitPosition,
    LogRecord,
    NewElection,
    ProcessStart,
    TruncatedLine,
)
from canvass.traces.aeron_log.source import AeronLogError, LogCode
from support.aeron_lines import HEADER, STARTED, commit, read, text

CAPTURE = Path(__file__).parents[2] / "captures" / "releases" / "1.52.2-kills-production"
LINES = [
    "application starts",
    *gzip.decompress((CAPTURE / "member-0.log.gz").read_bytes()).decode().splitlines(),
]
TIME = "2026-11-20T11:22:42.890123456Z"


def docker(line: str) -> list[str]:
    """A long line comes in parts."""
    parts = [line[at : at + 300] for at in range(0, len(line), 300)] or [""]
    parts[-1] += "\n"
    return [json.dumps({"log": part, "stream": "stdout", "time": TIME}) for part in parts]


def cri(line: str) -> list[str]:
    head, rest = line[:120], line[120:]
    first = [f"{TIME} stdout P {head}"] if rest else []
    return [*first, f"{TIME} stdout F {rest or head}"]


WRAPPED: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    "docker": ("JSON (Docker's json-file, journald)", docker),
    "docker and colours": (
        "JSON (Docker's json-file, journald)",
        lambda line: docker(f"\x1b[32m{line}\x1b[0m"),
    ),
    "journald as JSON": (
        "JSON (Docker's json-file, journald)",
        lambda line: [json.dumps({"_PID": "12", "MESSAGE": line})],
    ),
    "CRI": ("Kubernetes CRI", cri),
    "colours": (COLOURS, lambda line: [f"\x1b[1;32m{line}\x1b[0m"]),
    "journald": ("syslog or journald", lambda line: [f"Nov 20 11:22:42 host java[123]: {line}"]),
    "journald, ISO": (
        "syslog or journald",
        lambda line: [f"2026-11-20T11:22:42+0000 host java[123]: {line}"],
    ),
    "log4j": (
        "a prefix before the stamp",
        lambda line: [f"2026-11-20 11:22:42,890 INFO  [main] io.aeron.Agent - {line}"],
    ),
    "compose": ("a prefix before the stamp", lambda line: [f"member0-1  | {line}"]),
}


def plain(records: list[LogRecord]) -> list[LogRecord]:
    return [type(r)(0, 0, *[getattr(r, n) for n in r.__struct_fields__[2:]]) for r in records]


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("pieces", [0, 997])
def test_a_framing_gives_the_records_of_the_plain_log(
    name: str, line_end: str, pieces: int
) -> None:
    framing, wrap = WRAPPED[name]
    data = "".join(one + line_end for line in LINES for one in wrap(line)).encode()
    records, parser = read(data, pieces=pieces)

    assert plain(records) == plain(read(text(*LINES))[0])
    assert parser.counts.framings == {framing, *([COLOURS] if "colours" in name else [])}
    assert parser.counts.lines == data.count(b"\n")


def test_each_framing_is_tried() -> None:
    assert {framing for framing, _ in WRAPPED.values()} == {COLOURS, *FRAMINGS}


def test_a_plain_log_has_no_framing() -> None:
    assert read(text(*LINES))[1].counts.framings == set()


@pytest.mark.parametrize("name", ["docker", "CRI", "log4j"])
def test_a_line_that_is_cut_is_not_lost(name: str) -> None:
    wrap = WRAPPED[name][1]
    whole = text(*wrap(HEADER), *wrap(STARTED), *wrap(commit(64)))
    records, parser = read(whole[:-30])

    assert [type(r) for r in records[2:]] == [TruncatedLine]
    assert parser.counts.unreadable == 1


def test_a_line_within_the_file_that_does_not_fit_is_damage() -> None:
    broken = docker(commit(64))[0][:-40]
    records, parser = read(text(*docker(HEADER), broken, *docker(commit(128, 200))))

    assert len(records) == 3
    assert parser.counts.unreadable == 1


def test_each_file_has_its_own_framing() -> None:
    later = HEADER.replace("[100.", "[900.").replace("10:20:30", "10:33:50")
    records, _ = read(text(*docker(HEADER), *docker(STARTED)), text(later, commit(64, 901)))

    assert [type(r) for r in records] == [ProcessStart, NewElection, CommitPosition]


def test_a_release_before_the_oldest_is_called_that() -> None:
    old = "[1.000000001] CLUSTER: ELECTION_STATE_CHANGE [28/28]: memberId=0 INIT -> CANVASS"
    position = (
        "[1.100182312] CLUSTER: CANVASS_POSITION [36/36]: logLeadershipTermId=-1 "
        "leadershipTermId=-1 logPosition=0 followerMemberId=1"
    )
    with pytest.raises(AeronLogError) as caught:
        read(text("starting", old, position, old))

    assert (caught.value.code, caught.value.line) == (LogCode.OLD_RELEASE, 2)
