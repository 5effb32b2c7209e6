"""Measure the archive: entries recorded in a second, and how long a recovery takes.

The files are real, in a temporary folder. Entries are recorded with and without forcing them to
disk, one by one and in batches. Nothing is asserted, because the figures depend on the machine.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter

from canvass.archive.recording import Recording
from canvass.archive.storage import FileStorage

PAYLOAD = b"x" * 100
LENGTHS = (10_000, 100_000)
"""Entries in the log that is recovered."""


def record(folder: Path, entries: int, batch: int, *, sync: bool) -> float:
    """Record entries in batches; give the elapsed seconds. ``sync`` forces each batch to disk."""
    storage = FileStorage(folder, sync=sync)
    recording = Recording(storage)
    began_s = perf_counter()
    for number in range(entries):
        recording.append(PAYLOAD)
        if (number + 1) % batch == 0:
            recording.sync()
    recording.sync()
    took_s = perf_counter() - began_s
    storage.close()
    return took_s


def main() -> None:
    """Run all benchmarks and print their rows as they come."""
    with tempfile.TemporaryDirectory() as root:
        for sync, batch, entries in ((True, 1, 500), (True, 50, 10_000), (False, 50, 50_000)):
            took_s = record(Path(root, f"{sync}-{batch}"), entries, batch, sync=sync)
            result = "synced" if sync else "not synced"
            what = f"record, {result}, {batch} at a time"
            print(f"{what:<40} {entries / took_s:>14,.0f} entries/s", flush=True)
        for entries in LENGTHS:
            folder = Path(root, f"log-{entries}")
            record(folder, entries, 1_000, sync=False)
            storage = FileStorage(folder)
            began_s = perf_counter()
            end = Recording(storage).end
            took_s = perf_counter() - began_s
            storage.close()
            what = f"recover {entries:,} entries, {end / 1e6:,.0f} MB"
            print(f"{what:<40} {took_s:>14,.3f} s", flush=True)


if __name__ == "__main__":
    main()
