"""Runs of TLC whose output is recorded as fixtures; tests also run some of them.

Each case is a specification of `tests/unit/tlc/specs`, a configuration and options. The tests have
the results that `canvass.tlc` must read from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canvass.tlc.config import TlcConfig
from canvass.tlc.runner import SHORT_RUN, TlcOptions, TlcRun

FOLDER = Path(__file__).parents[1] / "unit" / "tlc"
SPECS = FOLDER / "specs"
FIXTURES = FOLDER / "fixtures"


def counter(mode: str = "none", limit: int = 5, **parts: Any) -> TlcConfig:
    """Return a configuration of `Counter.tla`."""
    constants = {"Mode": f'= "{mode}"', "Limit": f"= {limit}"}
    return TlcConfig(constants=constants, specification="Spec", **parts)


def lights(careless: bool = False, **parts: Any) -> TlcConfig:
    """Return a configuration of `Lights.tla`."""
    constants = {
        "Streets": '= {"north", "east"}',
        "MaxCars": "= 1",
        "Careless": "= TRUE" if careless else "= FALSE",
    }
    return TlcConfig(constants=constants, specification="Spec", **parts)


def mail(**parts: Any) -> TlcConfig:
    """Return a configuration of `Mail.tla`."""
    constants = {"Depots": "= {d1, d2}", "Parcels": "= {p1, p2}", "Nowhere": "= Nowhere"}
    return TlcConfig(constants=constants, **{"specification": "Spec", **parts})


SHAPES = TlcConfig(constants={"Thing": "= 7", "m1": "= m1", "m2": "= m2"}, init="Init", next="Next")
SIMPLE = TlcConfig(init="Init", next="Next")


@dataclass(frozen=True)
class Case:
    """One run."""

    spec: str
    config: TlcConfig
    options: Mapping[str, Any] = field(default_factory=dict)

    def start(self, **more: Any) -> TlcRun:
        """Return the run, not yet started."""
        options = TlcOptions(heap_mib=256, jvm_args=SHORT_RUN, **{**self.options, **more})
        return TlcRun(SPECS / f"{self.spec}.tla", self.config, options)


CASES: dict[str, Case] = {
    "success": Case("Counter", counter(invariants=("Small",))),
    "coverage": Case("Lights", lights(invariants=("TypeOK", "OneMoves"))),
    "safety": Case("Lights", lights(careless=True, invariants=("TypeOK", "OneMoves"))),
    "safety_initial": Case("Counter", counter(invariants=("NotZero",))),
    "safety_symmetric": Case("Mail", mail(symmetry="Symmetry", invariants=("NotAllLoaded",))),
    "action_property": Case("Counter", counter(properties=("StepRises",))),
    "liveness": Case("Lights", lights(properties=("EveryoneGoes",))),
    "stuttering": Case("Mail", mail(properties=("EventuallyLoaded",)), {"check_deadlock": False}),
    "deadlock": Case("Counter", counter("deadlock", limit=3)),
    "assertion": Case("Counter", counter("assertion")),
    "assumption": Case("Counter", counter("assumption")),
    "evaluation": Case("Counter", counter("evaluation")),
    "evaluation_initial": Case("Counter", counter(invariants=("NotARecord",))),
    "parse": Case("Broken", SIMPLE),
    "semantic": Case("Unknown", SIMPLE),
    "config_unknown_name": Case("Counter", counter(invariants=("NoSuch",))),
    "config_missing_constant": Case("Counter", TlcConfig(specification="Spec")),
    "print": Case("Counter", counter("print", limit=3)),
    "print_wide": Case("Counter", counter("wide", limit=2)),
    "simulation": Case(
        "Lights",
        lights(invariants=("OneMoves",)),
        {"simulate": True, "traces": 20, "depth": 10, "seed": 1},
    ),
    "simulation_safety": Case(
        "Counter",
        counter(invariants=("NotThree",)),
        {"simulate": True, "depth": 20, "seed": 3},
    ),
    "keep_going": Case(
        "Counter", counter(invariants=("NotThree",)), {"extra_args": ("-continue",)}
    ),
    "wrong_argument": Case("Counter", counter(), {"extra_args": ("-bogus",)}),
    "timeout": Case("Counter", counter(limit=2_000_000_000), {"timeout_s": 12.0}),
    "java_does_not_start": Case("Counter", counter(), {"jvm_args": ("-Xmx1",)}),
    "shapes": Case("Shapes", SHAPES),
}
