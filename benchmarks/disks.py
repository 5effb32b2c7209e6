"""Measure how fast `canvass disks` reads: three members with logs of a gigabyte in all.

The logs are written to a temporary folder first, and are in the page cache when they are read.
Nothing is asserted, because the figures depend on the machine.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from canvass.disks.verdict import assess
from support import aeron_disks

MEMBERS = 3
SEGMENT_LENGTH = 1 << 27
TERM_LENGTH = 1 << 24
SEGMENTS = 3
FRAME = 256


def write_member(folder: Path, member: int) -> None:
    """Write a log of one term whose frames all have the same length."""
    end = SEGMENT_LENGTH * SEGMENTS
    disk = aeron_disks.disk_of(member, [aeron_disks.Term(0, 0, (b"x" * (FRAME - 96 - 64),))])
    disk.stop = end
    written = aeron_disks.write_disk(folder / f"member-{member}", disk)
    message = np.frombuffer(aeron_disks.with_message(b"", 0, b"y" * (FRAME - 64)), np.uint8)
    for base in range(0, end, SEGMENT_LENGTH):
        frames = np.tile(message, (SEGMENT_LENGTH // FRAME, 1))
        words = frames.view("<i4")
        positions = base + np.arange(len(frames), dtype=np.int64) * FRAME
        words[:, 2] = positions % TERM_LENGTH
        words[:, 5] = aeron_disks.INITIAL_TERM_ID + positions // TERM_LENGTH
        data = frames.reshape(-1)
        if base == 0:
            data[: len(disk.log)] = np.frombuffer(disk.log, np.uint8)
        data.tofile(written / "archive" / f"0-{base}.rec")


def main() -> None:
    """Measure once; the machine code of the two compiled loops is kept from run to run."""
    aeron_disks.SEGMENT_LENGTH, aeron_disks.TERM_LENGTH = SEGMENT_LENGTH, TERM_LENGTH
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for member in range(MEMBERS):
            write_member(root, member)
        length = MEMBERS * SEGMENTS * SEGMENT_LENGTH
        began_s = perf_counter()
        verdict = assess([root])
        took_s = perf_counter() - began_s
        print(f"{verdict.verdict} {length / 1e9:.2f} GB in {took_s:.2f} s", flush=True)


if __name__ == "__main__":
    main()
