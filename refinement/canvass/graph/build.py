"""Build a state graph: run TLC on a model, read its output, write the folder.

The result does not depend on the order in which TLC finds states, so two builds of one model give
the same files. Nothing here decides what a step may do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from canvass.cluster.messages import NULL_VALUE
from canvass.cluster.rules import Rules
from canvass.graph import GraphError
from canvass.graph.artifact import (
    FILES,
    SCHEMA,
    Counts,
    Graph,
    GraphRules,
    Manifest,
    columns_of_states,
    open_graph,
    to_tables,
)
from canvass.graph.edge_keys import edge_keys
from canvass.graph.folders import (
    MANIFEST_FILE,
    alone,
    file_digest,
    made_aside,
    need_place,
    write_manifest,
    write_tables,
)
from canvass.graph.printed_steps import PrintedGraph, arrange
from canvass.spec.files import HARNESS, module_digest, module_folders, modules_of
from canvass.steps.action_fields import form_digest, tables_as_bytes
from canvass.tlc.config import TlcConfig, parse_config
from canvass.tlc.events import Event, UserOutput
from canvass.tlc.programs import find_jar
from canvass.tlc.results import Outcome
from canvass.tlc.runner import run
from canvass.tlc.workspace import SHORT_RUN, TlcOptions
from canvass.traces.schema import ACTION_NAMES, NONE

MODULE: Final = "MCMemberGraph"
PRINTING: Final = "PrintingNext"
EVERY_STATE: Final = -1
"""The number of steps that stands for no limit: all states within the bounds are expanded."""

_CHUNK: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Model:
    """A model of ``MCMemberGraph.tla``: its configuration and what follows from it."""

    name: str
    config: TlcConfig
    path: Path

    @property
    def rules(self) -> Rules:
        """The rules that the member follows."""
        hardening = frozenset(re.findall(r'"(\w+)"', self._constant("Hardening")))
        appointed = self._constant("AppointedLeaderId")
        return Rules(
            member_count=int(self._constant("MemberCount")),
            revision=self._constant("Revision").strip('"'),
            hardening=hardening,
            appointed_leader_id=int(appointed) if appointed.isdecimal() else NULL_VALUE,
        )

    @property
    def steps(self) -> int:
        """The most steps from a root to a state that is expanded; or ``EVERY_STATE``."""
        given = self._constant("MaxSteps")
        return int(given) if given.isdecimal() else EVERY_STATE

    @property
    def peers_alike(self) -> bool:
        """Whether states that differ in the numbering of the peers only are one state."""
        return self._constant("PeersAlike") == "TRUE"

    @property
    def digest(self) -> str:
        """The SHA-256 of all that the graph depends on.

        These are the modules without comments, the configuration, the form of the files, and the
        canonical form, because the files hold keys of canonical steps.
        """
        found = hashlib.sha256(SCHEMA.encode() + self.printing().text().encode())
        found.update(tables_as_bytes())
        for path in _modules():
            found.update(module_digest(path).encode())
        return found.hexdigest()

    def with_steps(self, steps: int) -> Model:
        """Give the model with another number of steps from the roots."""
        text = "<- NULL_VALUE" if steps == EVERY_STATE else f"= {steps}"
        constants = {**self.config.constants, "MaxSteps": text}
        return replace(self, config=replace(self.config, constants=constants))

    def printing(self) -> TlcConfig:
        """Give the configuration with which TLC prints the graph."""
        return replace(
            self.config,
            specification=None,
            init="Init",
            next=PRINTING,
            action_constraints=(),
            check_deadlock=False,
        )

    def _constant(self, name: str) -> str:
        try:
            text = self.config.constants[name]
        except KeyError:
            raise GraphError(f"{self.path}: the constant {name} has no value") from None
        return text.removeprefix("=").removeprefix("<-").strip()


def models() -> list[str]:
    """Name the models that a graph can be built of."""
    return sorted(path.stem for path in HARNESS.glob(f"{MODULE}*.cfg"))


def load_model(name: str) -> Model:
    """Read a model of the spec by its name.

    Raises
    ------
    GraphError
        If there is no model of that name.
    """
    if name not in models():
        raise GraphError(f"no model is called {ascii(name)[:60]}: there are {', '.join(models())}")
    path = HARNESS / f"{name}.cfg"
    return Model(name, parse_config(path.read_text(encoding="utf-8"), path.name), path)


def build_graph(
    model: Model,
    folder: Path,
    *,
    options: TlcOptions | None = None,
    on_event: Callable[[Event], object] | None = None,
) -> Graph:
    """Let TLC make the graph of a model and write it to a folder.

    Parameters
    ----------
    model
        As `load_model` gives it.
    folder
        Where the graph goes, once it is complete; nothing may be there.
    options
        How to run TLC. There is always one worker: the lines of two would mix.
    on_event
        Called with each event of TLC except edges.

    Returns
    -------
    Graph
        The graph that was written.

    Raises
    ------
    GraphError
        If TLC does not finish without an error, or the folder exists.
    TlcError
        If TLC cannot be run.
    """
    need_place(folder)
    is_short = model.steps == 0 or model.rules.member_count < 3
    options = replace(
        options or TlcOptions(heap_mib=3072),
        workers=1,
        stack_mib=64,
        jvm_args=SHORT_RUN if is_short else (),
    )
    printed = PrintedGraph(model.rules.member_count)
    module = HARNESS / f"{MODULE}.tla"
    with run(module, model.printing(), replace(options, library=module_folders())) as tlc:
        for event in tlc:
            if isinstance(event, UserOutput):
                printed.feed(event.line)
            elif on_event is not None:
                on_event(event)
        result = tlc.result
    if result.outcome is not Outcome.SUCCESS:
        raise GraphError(f"TLC made no graph of {model.name}: {result.message}")
    printed.close()
    arrays = arrange(printed, peers_alike=model.peers_alike)
    return _write(model, arrays, folder, result.tlc_version or "unknown", find_jar().sha256)


def cached_graph(
    model: Model, cache: Path, *, on_event: Callable[[Event], object] | None = None
) -> Graph:
    """Give the graph of a model from a folder of graphs, and build it first if it is not there.

    The name of the graph's own folder contains the digest of all that the graph depends on, so a
    change of the spec leads to a new graph. If several processes need a graph at once, one of them
    builds it.
    """
    folder = cache_folder(model, cache)
    with alone(folder):
        if (folder / MANIFEST_FILE).is_file():
            return open_graph(folder)
        return build_graph(model, folder, on_event=on_event)


def cache_folder(model: Model, cache: Path) -> Path:
    """Give the folder that `cached_graph` keeps the graph of a model in."""
    return cache / f"{model.name}-{model.digest[:16]}"


def _write(
    model: Model, arrays: dict[str, Any], folder: Path, tlc_version: str, jar_sha256: str
) -> Graph:
    """Write all files aside and put the folder in its place."""
    arrays = {**arrays, "columns": columns_of_states(arrays)}
    with made_aside(folder) as aside:
        write_tables(aside, to_tables(arrays))
        keys = edge_keys(arrays, model.rules)
        keys.save(aside)
        manifest = Manifest(
            model=model.name,
            rules=GraphRules.of(model.rules),
            constants=dict(model.config.constants),
            complete=model.steps == EVERY_STATE,
            tlc_version=tlc_version,
            jar_sha256=jar_sha256,
            config_sha256=file_digest(model.path),
            modules={path.name: module_digest(path) for path in _modules()},
            counts=_counts(arrays, len(keys)),
            files={name: file_digest(aside / name) for name in FILES},
            form_sha256=form_digest(),
        )
        write_manifest(aside, manifest)
    return Graph(rules=manifest.rules.rules(), manifest=manifest, **arrays)


def _modules() -> list[Path]:
    """Give the modules that every graph depends on."""
    return sorted(modules_of(HARNESS / f"{MODULE}.tla", module_folders()), key=lambda m: m.name)


def _counts(arrays: dict[str, Any], canonical_count: int) -> Counts:
    enabled = arrays["target"] != NONE
    actions = np.bincount(
        arrays["input_action"][arrays["input"][enabled]], minlength=len(ACTION_NAMES)
    )
    return Counts(
        states=len(arrays["state"]),
        expanded=int(arrays["expanded"].sum()),
        inputs=len(arrays["inputs"]),
        sends=len(arrays["send_offsets"]) - 1,
        tried=len(arrays["source"]),
        edges=int(enabled.sum()),
        canonical=canonical_count,
        actions=dict(zip(ACTION_NAMES, actions.tolist(), strict=True)),
    )
