"""One example of each of the first clusters of divergences, as a page that opens in the browser.

The page is that of ``canvass verify --html``. It is made on the driver, so that runs which no
single process should hold, and those that exist only as logs, have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from canvass.conformance.html import to_html
from canvass.conformance.report import make_case
from canvass.conformance.step_lookup import StepLookup
from canvass.conformance.verdict import (
    CorpusVerdict,
    Counts,
    Divergence,
    DivergenceClass,
    RunVerdict,
    Verdict,
)
from canvass.corpus.local_units import on_this_machine
from canvass.corpus.plan import TASK_COST, UnitKind, unit_at
from canvass.corpus.storage import Place, place_of
from canvass.corpus.summary import Cluster
from canvass.tlc.errors import TlcError
from canvass.traces.errors import TraceError

FOLDER: Final = "examples"


def write_examples(
    clusters: Iterable[Cluster], out: Place, lookup: StepLookup, limit: int
) -> Mapping[tuple[str, str], str]:
    """Write pages for the first clusters; give the place of each by the cluster's identity."""
    places: dict[tuple[str, str], str] = {}
    for cluster in clusters:
        if len(places) == limit:
            break
        page = _page(cluster, lookup)
        if page is not None:
            name = f"{FOLDER}/{len(places) + 1}.html"
            (out / FOLDER).mkdir(exist_ok=True)
            (out / name).write_bytes(page.encode())
            places[cluster.identity] = name
    return places


def _page(cluster: Cluster, lookup: StepLookup) -> str | None:
    unit = unit_at(place_of(cluster.example_source))
    if unit is None or unit.kind is UnitKind.AERON_LOGS or unit.cost > 2 * TASK_COST:
        return None
    divergence = Divergence(
        DivergenceClass(cluster.divergence_class),
        cluster.name,
        cluster.example_member_id,
        cluster.example_step,
        cluster.example_reason,
    )
    try:
        with on_this_machine([unit]) as (here,):
            path = str(here.location)
            found = (divergence,)
            run = RunVerdict(cluster.example_run_id, path, Verdict.DIVERGES, divergences=found)
            page = to_html(CorpusVerdict((run,), Counts(runs=1)), [make_case(run, lookup)])
            return page.replace(path, unit.path)
    except (TraceError, TlcError, KeyError):
        return None  # The run is gone, or the oracle cannot run: the report says what there is.
