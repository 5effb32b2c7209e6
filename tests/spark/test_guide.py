"""The guide to batch verification, typed from top to bottom; what it prints is compared."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from canvass.cli.main import run
from support.object_store import object_store, upload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide" / "spark.md"
PLAIN = re.compile(r"^```\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^\$ ", re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = ((re.compile(r"^[\d,]+ events/s", re.MULTILINE), "N events/s"),)


def compared(text: str, folder: Path) -> str:
    """The output of a command without rates and the folder."""
    for pattern, name in VARYING:
        text = pattern.sub(name, text)
    return text.replace(str(folder), "/data").strip()


def test_commands_and_python_of_the_guide_print_what_it_says(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = GUIDE.read_text()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "answers"))
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    steps = [step for block in PLAIN.findall(text) for step in STEP.split(block)]
    assert sum(step.startswith("canvass batch ") for step in steps) == 4
    with object_store() as store:
        for name in ("a-clean-startup", "b-leader-killed"):
            upload(ROOT / "samples" / "aeron" / name, store / "runs" / name)
        for step in filter(None, steps):
            command, _, expected = step.partition("\n")
            program, *words = shlex.split(command)
            if program == "canvass":
                run(words)
            else:
                subprocess.run([program, *words], check=True)
            assert compared(capsys.readouterr().out, tmp_path) == compared(expected, tmp_path)

    names = {"spark": spark}
    blocks = PYTHON.findall(text)
    assert len(blocks) == 6
    try:
        for code, expected in blocks:
            # The session was started in another folder.
            for name in ("lake", "arrivals", "verdicts", "checkpoint", "jug-graph", "samples"):
                code = code.replace(f'"{name}', f'"{tmp_path}/{name}')
            exec(code, names)
            assert capsys.readouterr().out.strip() == expected.strip()
    finally:
        spark.sql("DROP TABLE IF EXISTS events")
