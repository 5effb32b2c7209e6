"""The same seed gives the same run, to the byte, whatever the process."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from canvass.selftest.simulation_series import record_run
from canvass.simulation.options import Options, rng_of, swarm

PROGRAM = """
import sys
from pathlib import Path
from canvass.selftest.simulation_series import record_run
from canvass.simulation.options import Options, swarm
for seed in (4, 11):
    print(record_run(swarm(Options(seed, steps=800)), Path(sys.argv[1])).digest)
"""


def content_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def test_the_same_seed_gives_the_same_run_under_other_hash_seeds(tmp_path: Path) -> None:
    ended = []
    for hash_seed in ("0", "4711"):
        folder = tmp_path / hash_seed
        folder.mkdir()
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder)],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        ended.append((done.stdout, content_hash(folder)))

    assert ended[0] == ended[1]


def test_the_same_seed_twice_gives_the_same_trace(tmp_path: Path) -> None:
    options = swarm(Options(4, steps=800))
    first = record_run(options, tmp_path / "first")
    second = record_run(options, tmp_path / "second")

    assert first == second
    assert content_hash(tmp_path / "first") == content_hash(tmp_path / "second")


def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    digests = {record_run(swarm(Options(n, steps=200)), tmp_path).digest for n in range(4)}

    assert len(digests) == 4


def test_the_options_are_recorded_with_the_run(tmp_path: Path) -> None:
    options = swarm(Options(9, steps=200))
    record_run(options, tmp_path)

    run = json.loads((tmp_path / "sim-hardened-3-9" / "run.json").read_text())
    assert run["source"]["seed"] == 9
    assert run["source"]["options"]["faults"]["drop_probability"] == options.faults.drop_probability


def test_a_draw_of_one_part_moves_no_other() -> None:
    network, client = rng_of(1, "network"), rng_of(1, "client")
    expected = rng_of(1, "client").random()
    network.random()

    assert client.random() == expected
