"""Open a state graph of either kind."""

from __future__ import annotations

from pathlib import Path

from canvass.graph.artifact import Manifest, MemberView, open_graph
from canvass.graph.dump_graph import DumpManifest, DumpView
from canvass.graph.folders import decode_manifest
from canvass.graph.view import StateGraph


def open_view(folder: Path) -> StateGraph:
    """Open a folder that ``canvass graph build`` made.

    Raises
    ------
    GraphError
        If there is no graph, or it is damaged.
    """
    manifest: Manifest | DumpManifest = decode_manifest(folder, Manifest | DumpManifest)
    if isinstance(manifest, DumpManifest):
        return DumpView(manifest, folder)
    return MemberView(open_graph(folder), folder)
