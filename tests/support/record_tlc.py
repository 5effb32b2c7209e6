"""Record the fixtures in `tests/unit/tlc/fixtures`: `python -m support.record_tlc [name...]`.

For some cases, it also records TLC's output without ``-tool``. With a newer jar in
``CANVASS_TLA2TOOLS``, ``python -m support.record_tlc --newest`` records the cases of ``NEWEST``
under names that begin with ``newest_``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from canvass.tlc.programs import find_jar, find_java
from support.tlc_cases import CASES, FIXTURES, SPECS

REPLACEMENTS = (
    (re.compile(r"\(Linux .*?\)"), "(Linux 6.1 amd64, Debian 17.0.15 x86_64, DiskStateQueue)"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "2020-02-02 12:00:00"),
    (re.compile(r"\[pid: \d+\]"), "[pid: 4711]"),
    (re.compile(r"\bseed -?\d{5,}"), "seed 8162419266363081913"),
    (re.compile(r"(?<=Parsing file )\S*/"), ""),
    (re.compile(r"jar:file:\S*?\.jar!"), "jar:file:tla2tools.jar!"),
    (re.compile(r"Version \d{4}\.\d\d\.\d\d\.\d+"), "Version 2026.04.29.164809"),
    (re.compile(r"Finished in \d+ms"), "Finished in 697ms"),
)
TERMINAL = (
    "deadlock",
    "evaluation",
    "liveness",
    "safety",
    "safety_initial",
    "stuttering",
    "success",
)
NEWEST = (
    "action_property",
    "coverage",
    "deadlock",
    "evaluation",
    "liveness",
    "print",
    "safety",
    "semantic",
    "simulation",
    "stuttering",
    "success",
)
"""Cases that are also recorded with a newer TLC."""
GRAPHS = {"coverage": "lights", "shapes": "shapes", "safety_symmetric": "symmetric"}


def record(name: str, folder: Path) -> int | None:
    """Run one case, keep its output, and return the exit code."""
    graph = GRAPHS.get(name)
    more = {"dump": folder / f"{graph}.dot"} if graph else {}
    with CASES[name].start(log=folder / "log", **more) as running:
        result = running.wait()
    keep(f"{name}.out", (folder / "log").read_text(encoding="utf-8"))
    if graph:
        (FIXTURES / f"{graph}.dot").write_bytes((folder / f"{graph}.dot").read_bytes())
    return result.exit_code


def record_terminal(name: str, folder: Path) -> None:
    """Run one case without ``-tool``, and keep its output."""
    case = CASES[name]
    for spec in SPECS.glob("*.tla"):
        shutil.copy(spec, folder)
    (folder / "run.cfg").write_text(case.config.text())
    more = [] if case.options.get("check_deadlock", True) else ["-deadlock"]
    command = [str(find_java().path), "-Xmx256m", "-cp", str(find_jar().path), "tlc2.TLC"]
    command += ["-workers", "1", "-metadir", "states", "-config", "run.cfg", *more, case.spec]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    keep(f"{name}.txt", done.stdout)


def keep(name: str, text: str) -> None:
    """Write a fixture without the parts that differ between runs or machines."""
    for pattern, replacement in REPLACEMENTS:
        text = pattern.sub(replacement, text)
    (FIXTURES / name).write_text(text, encoding="utf-8")


def record_newest(folder: Path) -> None:
    """Record the output of a newer TLC in the cases of ``NEWEST``, and one of its state graphs."""
    for name in NEWEST:
        more = {"dump": folder / "newest.dot"} if name == "coverage" else {}
        with CASES[name].start(log=folder / "log", **more) as running:
            running.wait()
        keep(f"newest_{name}.out", (folder / "log").read_text(encoding="utf-8"))
    (FIXTURES / "newest.dot").write_bytes((folder / "newest.dot").read_bytes())


def main(names: list[str]) -> None:
    """Record the named cases, or all."""
    if names == ["--newest"]:
        with tempfile.TemporaryDirectory() as folder:
            record_newest(Path(folder))
        return
    index = FIXTURES / "index.json"
    codes = json.loads(index.read_text()) if index.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names or CASES:
            codes[name] = record(name, Path(folder))
            if name in TERMINAL:
                record_terminal(name, Path(folder))
    index.write_text(json.dumps(codes, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
