"""Files for other tools: a part of a graph, a path, a part of a run.

`canvass.graph.export` and `canvass.traces.rewrite` write the formats; here is which part, and under
which name it is saved.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

import msgspec
from starlette.responses import Response

from canvass.browser.graphs import OpenGraph
from canvass.browser.guard import bad_request
from canvass.browser.limits import EXPORTED_STATES
from canvass.browser.runs import OpenRun
from canvass.graph.export import to_dot, to_graphml, to_itf, to_json
from canvass.graph.walks import Hop
from canvass.traces.rewrite import itf_document
from canvass.traces.schema import Event

FORMATS: Final = {
    "dot": ("dot", "text/vnd.graphviz; charset=utf-8"),
    "graphml": ("graphml", "application/graphml+xml; charset=utf-8"),
    "itf": ("itf.json", "application/json"),
    "json": ("json", "application/json"),
}
"""For each format the end of a file's name, and its media type."""
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_NAME_CHARS: Final = 60


def saved(name: str, form: str, content: bytes | str) -> Response:
    """Give a file to be saved, under a name that is safe everywhere."""
    end, media_type = FORMATS[form]
    stem = _UNFIT.sub("-", name).strip("-.")[:_NAME_CHARS] or "canvass"
    headers = {"Content-Disposition": f'attachment; filename="{stem}.{end}"'}
    return Response(content, headers=headers, media_type=media_type)


def checked_format(form: str, allowed: Collection[str] = tuple(FORMATS)) -> str:
    """Give a format back.

    Raises
    ------
    Refusal
        If it is none.
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
        One of `FORMATS` but ITF, which is for paths.
    rows
        The states; None for all, if there are not too many.
    actions
        Whose edges are wanted; all if there are none.

    Raises
    ------
    Refusal
        If there are too many states, or ITF is asked for.
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
    """Write a path: its states and steps, in ITF as a behaviour."""
    view = graph.view
    if form != "itf":
        return export_part(graph, form, [start, *(hop.target for hop in hops)], ())
    document = to_itf(view, start, list(hops))
    return saved(f"{view.title}-path", form, msgspec.json.encode(document))


def export_run(opened: OpenRun, start: int, count: int) -> Response:
    """Write some events of a run, in the order of causes, as a behaviour in ITF."""

    def events() -> Iterator[tuple[int, Event]]:
        columns = opened.loaded.columns
        for row in opened.lanes.rows[start : start + count]:
            yield int(columns.member[row]), columns.event(row)

    return saved(opened.run.run_id, "itf", b"".join(itf_document(opened.run, events())))
