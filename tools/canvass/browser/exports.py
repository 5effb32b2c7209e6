"""Files for other tools: a part of a graph, or a path.

`canvass.graph.export` writes the formats. Here the part is chosen, and the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import msgspec
from starlette.responses import Response

from canvass.browser.graphs import OpenGraph
from canvass.browser.limits import EXPORTED_STATES
from canvass.browser.questions import bad_request
from canvass.graph.export import to_dot, to_graphml, to_itf, to_json
from canvass.graph.walks import Hop

FORMATS: Final = {
    "dot": ("dot", "text/vnd.graphviz; charset=utf-8"),
    "graphml": ("graphml", "application/graphml+xml; charset=utf-8"),
    "itf": ("itf.json", "application/json"),
    "json": ("json", "application/json"),
}
"""The end of the file's name and the media type of each format."""
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_NAME_CHARS: Final = 60


def saved(name: str, form: str, content: bytes | str) -> Response:
    """Answer with a file to save; its name has only characters that every system accepts."""
    end, media_type = FORMATS[form]
    stem = _UNFIT.sub("-", name).strip("-.")[:_NAME_CHARS] or "canvass"
    headers = {"Content-Disposition": f'attachment; filename="{stem}.{end}"'}
    return Response(content, headers=headers, media_type=media_type)


def checked_format(form: str, allowed: Collection[str] = tuple(FORMATS)) -> str:
    """Give ``form`` if it is allowed.

    Raises
    ------
    Refusal
        If it is not one of the allowed formats.
    """
    if form not in allowed:
        raise bad_request(f"format is one of {', '.join(allowed)}")
    return form


def export_part(
    graph: OpenGraph, form: str, rows: Collection[int] | None, actions: Collection[str]
) -> Response:
    """Write states and the edges between them.

    Parameters
    ----------
    graph
        The graph.
    form
        One of `FORMATS`, except ITF: that is for paths.
    rows
        The states; None for all states.
    actions
        Only edges of these actions are written; without any, all edges.

    Raises
    ------
    Refusal
        If there are more than `EXPORTED_STATES` states, or the format is ITF.
    """
    view = graph.view
    if form == "itf":
        raise bad_request("ITF is for a path: say path=STATE, or from= and to=")
    count = view.state_count if rows is None else len(rows)
    if count > EXPORTED_STATES:
        raise bad_request(
            f"{count:,} states are more than the {EXPORTED_STATES:,} that are saved from here:"
            " `canvass graph export` writes whole graphs"
        )
    chosen = actions or None
    if form == "json":
        content = msgspec.json.format(msgspec.json.encode(to_json(view, rows, chosen)), indent=1)
        return saved(view.title, form, content)
    text = to_dot(view, rows, chosen) if form == "dot" else to_graphml(view, rows, chosen)
    return saved(view.title, form, text)


def export_path(graph: OpenGraph, form: str, start: int, hops: Collection[Hop]) -> Response:
    """Write the states and steps of a path; ITF has them as a behaviour."""
    view = graph.view
    if form != "itf":
        return export_part(graph, form, [start, *(hop.target for hop in hops)], ())
    document = to_itf(view, start, list(hops))
    return saved(f"{view.title}-path", form, msgspec.json.encode(document))
