"""Simulated runs that are recorded: each in a folder of its own, as a run of any other cluster."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from canvass.simulation.options import Options
from canvass.simulation.simulator import RunResult, Simulator
from canvass.traces.recorder import RunRecorder
from canvass.traces.schema import Run
from canvass.traces.timeouts import settings_of


def replay_command(options: Options, profile: str = "swarm") -> str:
    """The command that does a run again, and records it if it can be recorded."""
    chosen = "" if profile == "swarm" else f"--profile {profile} "
    does = "--disk-loss" if options.faults.disk_loss_mean else "--out CORPUS"
    return (
        f"canvass simulate --members {options.member_count} --seeds 1 --seed-start {options.seed} "
        f"--steps {options.steps} --revision {options.revision} {chosen}{does}"
    )


def run_id_of(options: Options) -> str:
    """The id of a recorded run, and the name of its folder."""
    return f"sim-{options.revision}-{options.member_count}-{options.seed}"


def record_run(options: Options, folder: Path) -> RunResult:
    """Do one run and record it in a folder of its own within ``folder``."""
    source = {
        "kind": "simulation",
        "seed": options.seed,
        "options": asdict(options),
        "timeouts": settings_of(options.timing),
    }
    run = Run.of(options.rules, run_id_of(options), source)
    with RunRecorder(folder / run.run_id, run, suffix=".zst", flush=False) as recorder:
        members = [recorder.member(i) for i in range(options.member_count)]
        return Simulator(options, members).run()
