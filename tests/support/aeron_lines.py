"""Write event logs of Aeron by hand, and read bytes with the parser in one call."""

from __future__ import annotations

from pathlib import Path

from canvass.traces.aeron_log.incarnations import ClusterLogs, MemberLog
from canvass.traces.aeron_log.parser import LogParser
from canvass.traces.aeron_log.records import LogRecord

HEADER = (
    "[100.000000000] log started 2026-01-31 10:20:30.123+0000, enabled loggers: "
    "{CLUSTER: version=1.52.2 commit=5b62f21d91}"
)
STARTED = (
    "[101.000000000] CLUSTER: NEW_ELECTION [44/44]: memberId=0 leadershipTermId=-1 logPosition=0 "
    'appendPosition=0 reason="node started"'
)


def header(release: str = "", second: int = 100) -> str:
    """The first line of a log; older agents and the built-in logger name no release."""
    loggers = f", enabled loggers: {{CLUSTER: version={release} commit=5b62f21d91}}"
    wall = f"2026-01-31 10:{second // 60 % 60:02}:{second % 60:02}.123+0000"
    return f"[{second}.000000000] log started {wall}{loggers if release else ''}"


def commit(position: int, second: int = 102, member: int = 0) -> str:
    """One COMMIT_POSITION line of 1.52."""
    return (
        f"[{second}.000000000] CLUSTER: COMMIT_POSITION [24/24]: memberId={member} "
        f"leadershipTermId=0 logPosition={position} leaderId=1"
    )


def text(*lines: str) -> bytes:
    """Lines as a file holds them."""
    return "".join(line + "\n" for line in lines).encode()


def read(*files: bytes, pieces: int = 0) -> tuple[list[LogRecord], LogParser]:
    """Read the files of one member, whole or in pieces of ``pieces`` bytes."""
    parser = LogParser()
    records = []
    for number, data in enumerate(files):
        parser.begin_file(f"file-{number}")
        size = pieces or len(data) or 1
        for at in range(0, len(data), size):
            records += parser.feed(data[at : at + size])
        records += parser.end_file()
    records += parser.close()
    return records, parser


def logs_of(*members: tuple[str, ...]) -> ClusterLogs:
    """The logs of a cluster by the lines of its members."""
    found = {}
    for member_id, lines in enumerate(members):
        records, parser = read(text(*lines))
        found[member_id] = MemberLog(member_id, (Path("log"),), records, parser.counts, {})
    return ClusterLogs(found, (), ())
