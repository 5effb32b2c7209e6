"""``spec/manifest.json``: every model, with the facts that its configuration cannot hold.

The configuration of a model has the model's name, and is beside its module. TLC reads it as it is.
Its first comment says what the model is for, and how TLC ends. Tests compare TLC's results with the
manifest; this module neither runs a model nor compares a result. Reading is strict: an unknown key,
a missing key or a contradiction is an error that names the place. `ModelEntry` has defaults for the
keys that may be left out.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec.structs import force_setattr

from canvass.spec.files import MANIFEST_NAME, SpecError, find_file, spec_root

Name = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z][A-Za-z0-9_.-]*\Z")]
Count = Annotated[int, msgspec.Meta(ge=1)]


class ModelSet(str, Enum):
    """The set that a model belongs to: the CI set runs on every push, the nightly set at night."""

    CI = "ci"
    NIGHT = "night"


class Mode(str, Enum):
    """Exhaustive model checking, or random behaviours."""

    CHECK = "check"
    SIMULATE = "simulate"


class Expected(str, Enum):
    """The expected end of a run of TLC."""

    SUCCESS = "success"
    SAFETY = "safety"
    LIVENESS = "liveness"
    DEADLOCK = "deadlock"
    ASSUMPTION = "assumption"


class Takes(str, Enum):
    """The order of magnitude of TLC's processor time for a model, all Java threads included."""

    SECONDS = "seconds"
    """Up to twenty seconds."""
    MINUTE = "a minute"
    """Up to two minutes."""
    MINUTES = "minutes"
    """Up to thirty minutes."""
    HOUR = "an hour"
    """An hour or more."""


class ModelEntry(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """One model of the manifest.

    Parameters
    ----------
    name
        The name on the command line and of the configuration file; unique.
    module
        The name of the root module, without ``.tla``; by default, the model's name.
    model_set
        JSON ``set``: ``ci`` or ``night``.
    mode
        ``check``, the default, or ``simulate``.
    expected
        The outcome that counts as right. A mutant is expected to violate.
    violates
        The property that must be violated; null for none or any.
    distinct_states, depth
        The counts of an exhaustive run; null for a simulation, and for a run that stops at a
        violation with several workers.
    workers
        Number of TLC workers that the counts need (1: a deterministic order); null for one worker
        for each processor.
    heap_mib
        Java heap that the model needs, in MiB; null for the default.
    traces, trace_depth
        Number of random behaviours of a simulation, and their maximum length (null: TLC's 100).
    takes
        The order of magnitude of the processor time. It is never compared with the actual time,
        which `canvass check MODEL --format json` shows.
    """

    name: Name
    module: Name = ""
    model_set: ModelSet = msgspec.field(name="set")
    mode: Mode = Mode.CHECK
    expected: Expected
    takes: Takes
    violates: Name | None = None
    distinct_states: Count | None = None
    depth: Count | None = None
    workers: Count | None = None
    heap_mib: Count | None = None
    traces: Count | None = None
    trace_depth: Count | None = None

    def __post_init__(self) -> None:
        """Set the module's default name, and refuse contradictions that the types allow."""
        if not self.module:
            force_setattr(self, "module", self.name)
        if self.violates is not None and self.expected not in (Expected.SAFETY, Expected.LIVENESS):
            raise ValueError(f"violates is given, but expected is {self.expected.value!r}")
        simulates = self.mode is Mode.SIMULATE
        if simulates != (self.traces is not None) or (self.trace_depth and not simulates):
            raise ValueError("a simulation needs traces, and nothing else has traces or traceDepth")
        if simulates and (self.distinct_states or self.depth):
            raise ValueError("a simulation has no distinctStates and no depth")

    @property
    def config(self) -> str:
        """The name of its configuration file."""
        return f"{self.name}.cfg"


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The models in the order in which they are run: the cheapest first."""

    models: tuple[ModelEntry, ...]

    def __post_init__(self) -> None:
        """Refuse two models with the same name."""
        seen: set[str] = set()
        for model in self.models:
            if model.name in seen:
                raise ValueError(f"two models are called {model.name!r}")
            seen.add(model.name)


def load_manifest(folder: Path | None = None) -> Manifest:
    """Read and check the manifest of a spec folder.

    Parameters
    ----------
    folder
        The spec folder; null for the one that canvass carries.

    Raises
    ------
    SpecError
        If the file is absent, is not JSON of this schema, or names a file that is not there.
    """
    root = spec_root() if folder is None else folder
    path = root / MANIFEST_NAME
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (FileNotFoundError, NotADirectoryError) as error:
        reason = f"not a spec folder, as it has no {MANIFEST_NAME}: start with a copy of spec/"
        reason += ", or check a specification of your own: `canvass check My.tla`"
        raise SpecError(f"{root}: {reason}") from error
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: {error}") from error

    for model in manifest.models:
        for wanted in (f"{model.module}.tla", model.config):
            if not find_file(wanted, root).is_file():
                raise SpecError(f"{path}: model {model.name!r} needs {wanted}, which is not there")
    return manifest
