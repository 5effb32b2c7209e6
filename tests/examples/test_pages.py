"""The commands of README and guides run in their order, and print what the pages show."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from canvass.cli.main import run
from support.guide_examples import GUIDES, ROOT, absent

FILES: Final[Mapping[str, str]] = {
    "samples": "samples",
    "spec": "spec",
    "tests": "tests",
    "LOGDIR": "samples/aeron/b-leader-killed",
    "My.cfg": "samples/replay/Jugs.cfg",
    "Two.cfg": "samples/replay/Jugs.cfg",
    "graph.dot": "tests/unit/tlc/fixtures/lights.dot",
    "DISKS": "tests/captures/disks/1.53-tight-242",
    "traces": "samples/replay/jugs.ndjson",
    "jugs.ndjson": "samples/replay/jugs.ndjson",
    "jugs-wrong.ndjson": "samples/replay/jugs-wrong.ndjson",
    "commit.ndjson": "samples/replay/commit.ndjson",
    "queue.ndjson": "samples/replay/queue.ndjson",
    "raft.ndjson": "samples/replay/raft.ndjson",
    "raft-wrong.ndjson": "samples/replay/raft-wrong.ndjson",
}
"""Files that a page takes from its reader, and the sample that replaces each."""
BEFORE: Final[Mapping[str, tuple[str, ...]]] = {
    "graph.md": ("simulate --revision 1.50 --members 1 --seeds 2 --out RUNS",),
    "traces.md": ("simulate --seeds 4 --out my-corpus",),
    "replay.md": (
        "graph build samples/replay/Commit.tla --out commit",
        "graph build samples/replay/Queue.tla --out queue",
        "graph build samples/replay/Raft.tla --out raft",
    ),
}
"""Commands that the reader of a page has typed before."""
ELSEWHERE: Final = re.compile(
    r"browse(?!.*--html)|drive|disks /data|explain LOGDIR --follow|simulate --seeds \d{3}"
    r"|trace shrink|distance hz6 --every|graph coverage GRAPH COVERED"
)
"""Commands that have tests elsewhere: they take very long, or need what is not here."""
NIGHT: Final = re.compile(
    r"check(?! --list)|prove|run|simulate(?!.* --seeds 1 )|batch|selftest|verify (my-c|CORPUS)"
    r"|distance|browse|.*--engine tlc|graph (?!.* (twice|jugs))"
)
"""Commands that a push has no time for."""
ENDS: Final[Mapping[str, int]] = {
    "disks tests/captures/disks/1.52.2-wipe-241": 1,
    "replay jugs jugs.ndjson jugs-wrong.ndjson": 1,
    "replay queue queue.ndjson": 3,
    "replay raft raft.ndjson raft-wrong.ndjson": 1,
    "graph find one --where 'electonState = \"INIT\"'": 2,
}
"""Exit codes of guides; the README says its own."""


class Shown(NamedTuple):
    """A command of a guide, and the output that the page shows of it."""

    command: str
    output: list[str]
    prompted: bool
    """If it is shown as it was typed, with its output."""


def shown(guide: str) -> list[Shown]:
    """The commands of a guide, in order."""
    if guide == "README.md":
        lines = re.findall(
            r"^ {4}\.venv/bin/canvass (.*)$", (ROOT / guide).read_text(), re.MULTILINE
        )
        return [Shown(line, [], False) for line in lines]
    found = []
    for block in (GUIDES / guide).read_text().split("```")[1::2]:
        for line in block.splitlines()[1:]:
            command = re.fullmatch(r"(\$ )?canvass (.*)", line)
            if command:
                parts = command[2].split(" && canvass ")
                found += [Shown(part, [], command[1] is not None) for part in parts]
            elif found and found[-1].prompted:
                found[-1].output.append(line)
        found.append(Shown("", [], False))
    return [one for one in found if one.command]


def type_page(
    guide: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    left_out: re.Pattern[str],
) -> int:
    """Type the commands of a guide in the current folder; give their number."""
    monkeypatch.delenv("COLUMNS", raising=False)  # A worker of xdist has it.
    typed = [one for one in shown(guide) if not left_out.match(one.command)]
    for command, output, _ in typed:
        words = shlex.split(command, comments=True)
        said = re.search(r"# .*\bexits with (\d)", command)
        code = int(said[1]) if said else ENDS.get(command, 0)
        capsys.readouterr()

        assert run(words[: words.index(">")] if ">" in words else words) == code, command

        printed = "".join(capsys.readouterr()).splitlines()
        assert list(absent(output, printed)) == [], command
    return len(typed)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like a checkout, with what the reader has."""
    for name, source in FILES.items():
        (tmp_path / name).symlink_to(ROOT / source)
    module = (ROOT / "samples" / "replay" / "Jugs.tla").read_text()
    (tmp_path / "My.tla").write_text(module.replace("MODULE Jugs", "MODULE My"))
    shutil.copytree(ROOT / "spec", tmp_path / "my-spec")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.tlc
@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    "guide",
    ["README.md", "disks.md", "import.md", "operate.md", "simulate.md", "traces.md"],
)
def test_the_commands_of_seconds_do_what_the_page_says(
    guide: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left_out = re.compile(f"{ELSEWHERE.pattern}|{NIGHT.pattern}|.*(LOGDIR|RUN)")

    assert type_page(guide, monkeypatch, capsys, left_out) > 0


@pytest.mark.night
@pytest.mark.parametrize(
    "guide",
    ["README.md", "graph.md", "import.md", "operate.md", "replay.md", "simulate.md", "traces.md"],
)
def test_all_commands_do_what_the_page_says(
    guide: str, checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(checkout / "cache"))
    for command in BEFORE.get(guide, ()):
        assert run(shlex.split(command)) == 0, command

    assert type_page(guide, monkeypatch, capsys, ELSEWHERE) >= 3
