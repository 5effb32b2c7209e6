"""The page of a run or of a counterexample in one file, which opens without a server.

The file has the page's script and style, and compressed answers to all questions that the page can
ask there. It loads nothing and sends nothing. For a long run it has the verdict, the explanation
and the timeline of the whole run, but lanes, steps and states only around one event.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Final, TypeAlias, get_args

import msgspec
import numpy as np
from msgspec.structs import replace
from starlette.responses import Response

from canvass.browser import api
from canvass.browser.counterexamples import Counterexample
from canvass.browser.questions import Refusal, bad_request, encoded
from canvass.browser.runs import Fold, OpenRun
from canvass.browser.sources import Store
from canvass.browser.verdicts import RunSource, hazard_page
from canvass.conformance.findings import DivergenceClass

MAX_EVENTS: Final = 50_000
"""Most events of a whole run in a file; a browser reads all of them when it opens the file."""
AROUND: Final = 2_000
"""The number of events in a file that shows only a part of a run."""

_STYLE: Final = '<link rel="stylesheet" href="/assets/app.css">'
_SCRIPT: Final = '<script src="/assets/app.js" defer></script>'
"""The elements of ``index.html`` that load style and script from the server."""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
Answers: TypeAlias = Iterable[tuple[str, msgspec.Struct]]
"""Pairs of an address below ``/api`` and the server's answer."""


def attachment(content: bytes, name: str, media_type: str) -> Response:
    """Answer with a file to save."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, 200, headers, media_type)


def saved_page(
    store: Store, files: Mapping[str, bytes], name: str, around: int | None = None
) -> bytes:
    """Write the page of a source with its answers.

    Parameters
    ----------
    store
        The opened sources.
    files
        The page's files, by the paths of their addresses.
    name
        Id of a run or of a counterexample. A run is awaited until it is checked.
    around
        A place in the causal order of a run: the file has `AROUND` events around it, and opens
        there. None for all events.

    Raises
    ------
    Refusal
        If there is no such source, or all events of its run are more than `MAX_EVENTS`.
    """
    source = next((one for one in store.listed() if one.id == name), None)
    kind = "run" if source is None else source.kind
    if kind not in ("run", "counterexample"):
        raise bad_request(f"a {kind} is not saved in a file; a run or a counterexample is")
    shown = source or api.SourceInfo(id=name, kind="run", title=name, detail="")
    given = _of_run(store, name, around) if kind == "run" else _of_counterexample(store, name)
    return write_page(files, shown, given)


def write_page(files: Mapping[str, bytes], source: api.SourceInfo, given: Answers) -> bytes:
    """Write the page with answers.

    Parameters
    ----------
    files
        The page's files, by the paths of their addresses.
    source
        The source that the page shows.
    given
        Paths below ``/api``, each with its answer.
    """
    session = api.Session((source,))
    found = chain((("session", session),), given)
    answers = {f"/api/{path}": msgspec.Raw(encoded(answer)) for path, answer in found}
    packed = b64encode(gzip.compress(msgspec.json.encode(answers), mtime=0)).decode()
    page, style, script = (
        files[one].decode() for one in ("/", "/assets/app.css", "/assets/app.js")
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><style>{style}</style>'
    kept = f'<script type="application/octet-stream" id="answers">{packed}</script>'
    code = script.replace("</script", r"<\/script")
    page = page.replace(_STYLE, head).replace(_SCRIPT, "")
    return page.replace("</body>", f"{kept}<script>{code}</script></body>").encode()


def _of_run(store: Store, name: str, around: int | None) -> Answers:
    run: RunSource = store.content("run", name)
    opened, base = run.opened, f"run/{name}"
    part = range(opened.total)
    if around is None and opened.total > MAX_EVENTS:
        raise bad_request(
            f"{opened.total:,} events are more than one file takes: {MAX_EVENTS:,};"
            " `canvass browse --html FILE --around MEMBER:STEP` writes those around a step"
        )
    run.checked.done.wait()
    view, hazards = run.view(name), set[str]()
    if around is not None:
        start = max(0, min(around - AROUND // 2, opened.total - AROUND))
        part = part[start : start + AROUND]
        view = replace(view, part=api.RunPart(part.start, around, part.stop))
    yield base, view
    try:
        explanation = run.explanation()
        hazards |= {one.page for one in explanation.hazards}
        yield f"{base}/explanation", explanation
    except Refusal:
        pass  # A run of a data set has no explanation.
    hazards |= set(() if view.divergence is None else view.divergence.hazards)
    yield from ((f"hazard/{one}", hazard_page(one)) for one in sorted(hazards))
    yield f"{base}/timeline", run.timeline()
    for show in get_args(Fold):
        query = f"?show={show}" if show else ""
        lanes = opened.window(len(part), run.marks, show=show, start=0, part=part)
        yield f"{base}/lanes{query}", lanes
    columns, numbers = opened.loaded.columns, {*part, *_of_story(opened, view)}
    # The steps of one member follow each other: similar neighbours compress well.
    rows = (opened.lanes.rows[number] for number in sorted(numbers))
    for row in sorted(rows, key=lambda one: int(columns.member[one])):
        member, step = int(columns.member[row]), int(columns.step[row])
        yield f"{base}/step/{member}/{step}", opened.step(row, run.wrong_at(member, step))
    for number in sorted(numbers):
        yield f"{base}/members?at={number}", opened.members_at(number)


def _of_story(opened: OpenRun, view: api.RunView) -> Iterator[int]:
    """Give the events that the front page compares: the last ones before a property is violated."""
    broken = (one for one in view.divergences if one.kind is DivergenceClass.SAFETY_PROPERTY)
    for one in islice(broken, 1):
        number = opened.number_of(one.member, one.step)
        if number is not None:
            last = (places[: np.searchsorted(places, number, "right")] for places in opened.places)
            yield from (int(places[-1]) for places in last if len(places))


def _of_counterexample(store: Store, name: str) -> Answers:
    found: Counterexample = store.content("counterexample", name)
    view = found.view(name)
    yield f"counterexample/{name}", view
    if view.property:
        yield f"counterexample/{name}/formula", found.formula()
    yield from ((f"hazard/{one}", hazard_page(one)) for one in view.hazards)
