"""Let TLC make the state graph of any model, and keep it as a folder.

`canvass.graph.build` makes the graphs of one member, which hold more; here is every other model.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from canvass.graph.dump_folder import DumpManifest, DumpOrigin
from canvass.graph.dump_import import OnProgress, import_dump
from canvass.graph.errors import GraphError
from canvass.graph.folders import need_place
from canvass.graph.manifests import file_digest
from canvass.tlc import Event, Jar, Outcome, TlcConfig, TlcOptions, find_jar, run

_USED: Final = re.compile(
    r"^\s*EXTENDS\s+([\w\s,]+?)(?=\n\s*\n|\n\S)|\bINSTANCE\s+(\w+)", re.MULTILINE
)


def build_dump(
    module: Path,
    config: TlcConfig,
    folder: Path,
    *,
    model: str,
    options: TlcOptions | None = None,
    on_event: Callable[[Event], object] | None = None,
    on_progress: OnProgress | None = None,
) -> DumpManifest:
    """Let TLC make the graph of a model and write it to a folder.

    Parameters
    ----------
    module, config
        What TLC runs.
    folder
        Where the graph goes. A graph that is there is replaced once the new one is complete.
    model
        What the graph is called.
    options
        How to run TLC.
    on_event
        Called with each event of TLC.
    on_progress
        Called now and then while the dump is read.

    Returns
    -------
    DumpManifest
        What was written; not complete if TLC ended with a violation.

    Raises
    ------
    GraphError
        If TLC does not end well, or the folder holds something else.
    TlcError
        If TLC cannot be run.
    """
    need_place(folder)
    options = options or TlcOptions(heap_mib=3072, stack_mib=64)
    jar = options.jar if isinstance(options.jar, Jar) else find_jar(options.jar)
    # A dump is some hundred times as large as the graph: it goes where the user has chosen a disk.
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent)
    except OSError as error:
        raise GraphError(f"{folder}: cannot be made: {error.strerror}") from None
    with aside as scratch:
        dump = Path(scratch) / "graph.dot"
        with run(module, config, replace(options, jar=jar, dump=dump)) as tlc:
            for event in tlc:
                if on_event is not None:
                    on_event(event)
            result = tlc.result
        # TLC ends with a violation before it has seen every state; what it has seen is a graph.
        if result.outcome is not Outcome.SUCCESS and not result.outcome.is_violation:
            raise GraphError(f"TLC made no graph of {model}: {result.message}")
        origin = DumpOrigin(
            tlc_version=result.tlc_version,
            jar_sha256=jar.sha256,
            config_sha256=hashlib.sha256(config.text().encode()).hexdigest(),
            modules=_modules(module, [module.parent, *map(Path, options.library)]),
        )
        return import_dump(
            dump,
            folder,
            model=model,
            complete=result.outcome is Outcome.SUCCESS,
            origin=origin,
            on_progress=on_progress,
        )


def _modules(module: Path, folders: Sequence[Path]) -> dict[str, str]:
    """Give the digests of a module and of those that it uses, TLA+'s own library apart."""
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        path = waiting.pop()
        if path.name in found or not path.is_file():
            continue
        found[path.name] = file_digest(path)
        text = path.read_text(encoding="utf-8", errors="replace")
        names = " ".join(" ".join(groups) for groups in _USED.findall(text))
        waiting += [
            folder / f"{name}.tla" for name in re.findall(r"\w+", names) for folder in folders
        ]
    return dict(sorted(found.items()))
