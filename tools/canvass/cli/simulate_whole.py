"""Runs of whole members for ``canvass simulate --whole``: how one is done, recorded and told.

The command line is in `canvass.cli.simulate`; the simulator is in `canvass.simulation.whole`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from canvass.simulation.whole import WholeResult, WholeSimulator
from canvass.simulation.whole_options import WholeOptions

Revision = Literal["1.49", "1.50", "hardened"]


def record_whole_run(options: WholeOptions, revision: Revision, folder: Path) -> WholeResult:
    """Do one run and record it in a folder of its own within ``folder``."""
    from canvass.traces.recorder import RunRecorder
    from canvass.traces.schema import Run

    run_id = f"whole-{revision}-{options.member_count}-{options.seed}"
    run = Run(
        schema="canvass.run/1",
        run_id=run_id,
        revision=revision,
        member_count=options.member_count,
        source={"kind": "simulation", "seed": options.seed, "options": asdict(options)},
    )
    with RunRecorder(folder / run_id, run, suffix=".zst", flush=False) as recorder:
        members = [recorder.member(i) for i in range(options.member_count)]
        return WholeSimulator(options, members).run()


def whole_replay_command(options: WholeOptions) -> str:
    """The command that does a run again and records it."""
    return (
        f"canvass simulate --whole --members {options.member_count} --seeds 1 --seed-start "
        f"{options.seed} --requests {options.requests} --revision {options.revision} --out CORPUS"
    )


def whole_findings(result: WholeResult) -> Iterator[tuple[str, str]]:
    """Name and words of what a run has violated, and of what it did not come to."""
    for told in result.findings:
        name, _, words = told.partition(": ")
        yield name, words
    if result.stuck:
        yield "Stuck", "; ".join(result.stuck)
