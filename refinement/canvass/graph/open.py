"""Open a state graph of either kind."""

from __future__ import annotations

from pathlib import Path

from canvass.graph import GraphError
from canvass.graph.artifact import SCHEMA, MemberView, open_graph
from canvass.graph.dump_folder import SCHEMA as DUMP_SCHEMA
from canvass.graph.dump_folder import DumpView, read_dump_graph
from canvass.graph.folders import MANIFEST_FILE, AnyManifest, decode_manifest
from canvass.graph.view import StateGraph


def open_view(folder: Path, *, verify: bool = True) -> StateGraph:
    """Open a folder that ``canvass graph build`` or ``canvass graph import`` made.

    Parameters
    ----------
    folder
        Of the graph.
    verify
        Whether to compare the files with the digests in the manifest.

    Raises
    ------
    GraphError
        If there is no graph, or it is damaged.
    """
    schema = decode_manifest(folder, AnyManifest).schema
    if schema == SCHEMA:
        return MemberView(open_graph(folder, verify=verify), folder)
    if schema == DUMP_SCHEMA:
        return DumpView(*read_dump_graph(folder, verify=verify), folder)
    path = folder / MANIFEST_FILE
    raise GraphError(f"{path}: the schema is {ascii(schema)[:60]}, not {SCHEMA} or {DUMP_SCHEMA}")
