"""Writing event logs of Aeron by hand, and reading bytes with the parser in one go."""

from __future__ import annotations

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
    """Read the files of one member, whole or in pieces of so many bytes."""
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
