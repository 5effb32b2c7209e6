"""Commands print, word for word, what is in `transcripts/*.txt`.

Each is read as on a terminal: a command after ``$``, its stdout, its stderr after ``!``, and its
exit code in brackets if it is not 0. A shell runs what is no command of canvass, and what stands
behind a bar. Whatever is below ``new`` goes at the end. ``pytest --rewrite`` writes them again.
"""

from __future__ import annotations

import gzip
import math
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from canvass.cli.output import Stages
from canvass.cluster.rules import Rules
from canvass.graph.dump_graph import import_dump
from canvass.selftest.runs import record_run
from canvass.traces.parquet import write_dataset
from canvass.traces.recorder import RunRecorder
from canvass.traces.run import Corpus
from canvass.traces.schema import Run
from support import corruptions
from support.aeron_disk_captures import COMMITTED
from support.aeron_runs import HOSTS, SAMPLES, release_logs
from support.corruptions import corrupted
from support.tiny_spec import write_tiny_spec
from support.tlc_cases import FIXTURES

TRANSCRIPTS = sorted(Path(__file__).with_name("transcripts").glob("*.txt"))
TIMES = re.compile(
    r"(?<=[ ,] )\d+\.\d s(?=$|  as exp|  \(exp)|\d+\.\d s \([\d,]+ events/s\)"
    r"|(?<= time=)\"[\d.]+\"|^\d[\d,]* events/s"
)
PROGRESS = re.compile(r"canvass: \[ *[\d./]+( s)?\] ")
CANVASS = re.compile(r"(?P<variables>(?:\w+=\S* )*)canvass (?P<words>[^|]*)(?:\| (?P<filters>.*))?")
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each kind of thing that a person may name."""
    root = tmp_path_factory.mktemp("given")
    record_run(root / "run", Rules.of("1.50"), 1, 200, faults=0.0, run_id="run")
    RunRecorder(root / "blank", Run.of(Rules.of("1.50"), "blank", {}), flush=False).close()
    shutil.copytree(SAMPLES[0], root / "logs")
    shutil.copytree(SAMPLES[-1], root / "sample")
    shutil.copytree(COMMITTED / "1.53-tight-242", root / "disks")
    for name, folder in CAPTURED.items():
        (root / name).symlink_to(folder)
    for name, change in CHANGED.items():
        corrupted(root / "run", root / name, change)
    shutil.copytree(root / "run", root / "unknown")
    header = root / "unknown" / "run.json"
    header.write_text(header.read_text().replace("{", '{"initial":"unknown",', 1))
    for name in ("monday", "tuesday"):
        shutil.copytree(SAMPLES[0], root / "folders" / name)
        record_run(root / "corpus" / name, Rules.of("1.50"), 2, 50, run_id=name)
    write_dataset(Corpus(root / "corpus"), root / "set")
    pq.write_table(pq.read_table(root / "set").slice(0, 0), root / "no-rows.parquet")
    for name, given in (("a", "logs"), ("b", "run"), ("a b\n", "run"), ("z", "bad")):
        shutil.copytree(root / given, root / "mixed" / name)
    (root / "mixed" / "link").symlink_to(root / "run")
    for name in ("spec", "odd-spec"):
        write_tiny_spec(root / name)
    shutil.copytree(Path(__file__).with_name("odd_spec"), root / "odd-spec", dirs_exist_ok=True)
    shutil.copy(FIXTURES / "lights.dot", root / "Lights.dot")
    import_dump(root / "Lights.dot", root / "lights")
    for name in (
        "report/coverage",
        "report/divergences",
        "report/verdicts",
        "graph",
        "empty",
        "mixed/empty",
    ):
        (root / name).mkdir(parents=True)
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text)
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("nowhere")
    return root


_SYSTEM = Path(__file__).parents[2] / "captures" / "system"
BACKUP = _SYSTEM / "ClusterBackupTest.shouldBackupClusterAndJoinLive.log.gz"
SINGLE = _SYSTEM / "SingleNodeTest.shouldReplayLog.log.gz"
TWO = _SYSTEM / "MultiModuleSharedDriverTest.shouldSupportTwoMultiNodeClusters.log.gz"
CAPTURED = {
    **{
        name: SAMPLES[0].parents[1] / f"aeron-{name}" for name in ("hz1", "hz2", "hz3", "hz6", "la")
    },
    "acknowledged": SAMPLES[0].parents[1] / "aeron-hz3-acknowledged",
    "hosts": HOSTS[0],
    "kills": release_logs("1.50.4-kills"),
    "tools": Path(__file__).parents[3] / "tools",
    "system.log.gz": BACKUP,
    "wiped": COMMITTED / "1.52.2-wipe-241",
}
"""Captured clusters with hazards, with differing clocks, two in one log, and with a wiped disk; and
scripts.
"""
CHANGED = {
    "bad": corruptions.send_removed,
    "gap": corruptions.event_dropped,
    "wrong": lambda streams: streams[0].insert(0, {}),
}
"""Changes of the run."""
FILES = {
    "report/summary.json": b"{}",
    "graph/manifest.json": b"{}",
    "notes.txt": b"notes",
    "odd": b"ab\xff",
    "part.parquet": b"no",
    "mixed/c/events.parquet": b"no",
    "streams/member-0.ndjson": b"",
    "spoilt/run.json": b'{"schema":"canvass.run/1","runId":"a","revision":"1.50","memberCount":1}',
    "spoilt/member-0.ndjson": b"{}\n",
    "bytes/member-0.log": bytes(range(256)) * 40,
    "archive/member-0.log": b"[1.000000000] ARCHIVE: SOMETHING [1/1]: a=1\n",
    **{
        f"silent/member-{i}.log": b"".join(
            b"[%d.000000000] log started 2026-11-28 03:00:%d.000+0000\n" % (s, s)
            for s in (10, 20, 30, 40)
        )
        for i in range(3)
    },
    "build/TwoTest.two/all.log.gz": TWO.read_bytes(),
    "build/ClusterBackupTest.join.log.gz": BACKUP.read_bytes(),
    "build/SingleNodeTest/replay/all.log.gz": SINGLE.read_bytes(),
    "build/members/member-0.log.gz": SINGLE.read_bytes(),
    "build/DriverTest.log": re.sub(
        rb".*\] CLUSTER: .*\n", b"", gzip.decompress(SINGLE.read_bytes())
    ),
    "build/gradle.log": b"BUILD SUCCESSFUL\n",
    "my logs/member-1.log.gz": (SAMPLES[-1] / "member-1.log.gz").read_bytes(),
    "late": b"1 kill 0\n9 start all\n",
    "client": b"\n",
    **{
        f"client-{number}": b'{"clusterSessionId": 1, "timestamp": 9}\n' + line + b"\n"
        for number, line in enumerate(
            (b"{}", b"nothing", b'{"timestamp": "1"}', b'{"clusterSessionId": 1, "other": 2}')
        )
    },
}
"""Small files, most of them of no use."""


def shell(line: str, given: str = "") -> tuple[int, str, str]:
    """Run a line of a shell."""
    done = subprocess.run(["sh", "-c", line], input=given, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def ended(line: str, command: Command) -> tuple[int, str, str]:
    """How a line ends, and what it writes; variables may stand before ``canvass``."""
    if (own := CANVASS.fullmatch(line)) is None:
        return shell(line)
    with pytest.MonkeyPatch.context() as patch:
        for name, _, value in (each.partition("=") for each in own["variables"].split()):
            patch.setenv(name, value)
        code, out, err = command(*shlex.split(own["words"]))
    return code, shell(own["filters"], out)[1] if own["filters"] else out, err


def played(lines: Iterator[str], command: Command, place: Path) -> Iterator[str]:
    """Give the lines of a transcript with what its commands print now."""
    for line in lines:
        if line.startswith("# "):
            yield from ("", line)
        elif line.startswith("$ "):
            code, out, err = ended(line[2:], command)
            errors = [each for each in err.splitlines() if not PROGRESS.match(each)]
            said = [*out.splitlines(), *(f"! {each}" for each in errors)]
            said += [f"[{code}]"] if code else []
            yield from ("", line)
            for each in said:
                yield TIMES.sub("TIME", each.replace(str(place), "/data").rstrip())


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.tlc] * path.stem.endswith("-tlc"))
        for path in TRANSCRIPTS
    ],
)
def test_commands_print_what_their_transcript_says(
    path: Path,
    command: Command,
    place: Path,
    without_tlc: None,
    monkeypatch: pytest.MonkeyPatch,
    rewrite: bool,
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(Stages, "_plain_period_s", math.inf)  # However busy the machine is.
    before = {each.relative_to(place) for each in place.rglob("*")}
    kept = path.read_text("utf-8")
    (place / "new").mkdir()
    found = "\n".join(played(iter(kept.splitlines()), command, place)).lstrip() + "\n"
    shutil.rmtree(place / "new")
    if rewrite:
        path.write_text(found, "utf-8")

    assert found == path.read_text("utf-8")
    assert {each.relative_to(place) for each in place.rglob("*")} == before
