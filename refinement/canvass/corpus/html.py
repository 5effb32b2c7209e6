"""``report.html``: the summary as one page without scripts, and a page with an example for each of
the first clusters of divergences.

`canvass.conformance.html` has the frame of the page, its policy, and the function through which all
text goes. The pages of examples are those of ``canvass verify --html``. The driver makes them, so
split runs and folders of logs have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Final

from canvass.conformance.findings import step_name
from canvass.conformance.html import block, link, page, table, text, to_html
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
from canvass.corpus.graph_coverage import GraphCoverage
from canvass.corpus.plan import TASK_COST, UnitKind, unit_at
from canvass.corpus.storage import Place, on_this_machine, place_of
from canvass.corpus.summary import (
    VERDICTS,
    DivergenceClassSummary,
    Summary,
    in_part_text,
    revision_texts,
    verdict_counts,
)
from canvass.tlc.errors import TlcError
from canvass.traces.counts import counted
from canvass.traces.errors import TraceError

REPORT_FILE: Final = "report.html"

_STYLE: Final = """
.word { white-space: nowrap; overflow-wrap: normal; }
"""


def render(
    summary: Summary,
    new: Sequence[DivergenceClassSummary] | None = None,
    examples: Mapping[tuple[str, str], str] = MappingProxyType({}),
    folder: Path | None = None,
) -> str:
    """Return the page.

    Parameters
    ----------
    summary
        The summary.
    new
        The clusters that the baseline does not have; None without a baseline.
    examples
        Paths of the pages with examples, relative to this page, by the cluster's identity.
    folder
        Folder of the page, for relative links to runs; None if it is in a store.
    """
    body = [
        f"<h1>{_headline(summary)}</h1>",
        _figures(summary),
        *_clusters(summary, new, examples, folder),
        _listed(summary, folder),
        _earlier(summary, folder),
        _shared_ids(summary),
        _coverage(summary),
        *(_graph(one) for one in summary.graphs),
        _origin(summary),
    ]
    return page(f"canvass: {counted(summary.runs, 'run')}", body, style=_STYLE)


def _headline(summary: Summary) -> str:
    """Return the verdict in words: first on what was verified, then on unchanged runs."""
    before = _unchanged(summary)
    if not summary.runs and any(summary.earlier.values()):
        return f"No unit is new or changed{before}"
    if not summary.events:
        return f'<span class="bad">Nothing was checked</span>{before}'
    wrong = summary.verdicts["DIVERGES"]
    if wrong:
        runs = counted(wrong, "run diverges", "runs diverge")
        return f'<span class="bad">{runs}</span> of {summary.runs:,}{before}'
    if summary.verdicts["CONFORMS"] == summary.runs:
        runs = counted(summary.runs, "run conforms", "runs conform")
        if before:
            return f"{runs}{before}"
        return f'<span class="good">{"All " if summary.runs > 1 else ""}{runs}</span>'
    return f"No run diverges; not all of {summary.runs:,} are whole{before}"


def _unchanged(summary: Summary) -> str:
    """Return in words that unchanged runs do not conform; empty if all of them do."""
    earlier = summary.earlier
    if wrong := earlier.get("DIVERGES", 0):
        runs = counted(wrong, "unchanged run diverges", "unchanged runs diverge")
        return f'; <span class="bad">{runs}</span>'
    count = sum(earlier.values())
    whole = earlier.get("CONFORMS", 0) == count
    return "" if whole else f"; not all of {counted(count, 'unchanged run')} are whole"


def _figures(summary: Summary) -> str:
    figures = [(name, f"{summary.verdicts[name]:,}") for name in VERDICTS]
    figures += [
        ("events", f"{summary.events:,}"),
        ("events/s", f"{summary.events_per_second:,.0f}"),
        ("seconds", f"{summary.seconds:,.1f}"),
        ("steps asked of TLC", f"{summary.asked_steps:,}"),
    ]
    if summary.earlier:
        figures.append(("verified before and unchanged", verdict_counts(summary.earlier)))
    shown = "".join(f"<div><dt>{text(k)}</dt><dd>{text(v)}</dd></div>" for k, v in figures)
    notes = filter(None, (*revision_texts(summary), in_part_text(summary)))
    return f"<dl>{shown}</dl>" + "".join(f'<p class="note">{text(note)}</p>' for note in notes)


def _clusters(
    summary: Summary,
    new: Sequence[DivergenceClassSummary] | None,
    examples: Mapping[tuple[str, str], str],
    folder: Path | None,
) -> Iterator[str]:
    """Yield a card for each cluster."""
    if not summary.clusters:
        return
    fresh = None if new is None else {cluster.identity for cluster in new}
    yield f"<h2>Divergences</h2>{_left_out(len(summary.clusters), summary.cluster_count)}"
    for one in summary.clusters:
        mark = "" if fresh is None else ("new" if one.identity in fresh else "known")
        count = f"{one.count:,} in {counted(one.runs, 'run')}"
        step = step_name(one.example_member_id, one.example_step)
        place = text(f"{one.example_run_id}, {step}")
        if one.identity in examples:
            place = f'<a href="{text(examples[one.identity])}">{place}</a>'
        yield f'<section class="cause"><h3><code>{text(one.name)}</code>: {count}'
        yield f' <span class="note">{_word(one.divergence_class)} {_word(mark)}</span></h3>'
        yield f"<p>For example {place}: {text(one.example_reason)}</p>"
        yield _commands(one.example_source)
        yield _runs(one, folder)
        yield "</section>"


def _commands(source: str) -> str:
    """Return the commands that show an example; a folder of logs must be imported first."""
    if "://" in source:
        return block((f"canvass batch verify {quote(source)} --out example",))
    place = Path(source).absolute()
    try:
        unit = unit_at(place)
    except (OSError, ValueError, TraceError):
        unit = None
    if unit is None:
        return f'<p class="note"><code>{text(source)}</code> is not there any more.</p>'
    path = quote(str(place))
    if unit.kind is UnitKind.AERON_LOGS:
        return block((f"canvass browse {path}", f"canvass import aeron {path} --out run"))
    return block((f"canvass browse {path}", f"canvass verify {path}"))


def _runs(one: DivergenceClassSummary, folder: Path | None) -> str:
    """Return the runs of a cluster as links."""
    if not one.listed:
        return ""
    links = ", ".join(link(run.source, run.run_id, folder) for run in one.listed)
    left_out = one.runs - len(one.listed)
    more = f" and {left_out:,} more, in the tables" if left_out > 0 else ""
    return f"<details><summary>All its runs</summary><p>{links}{more}</p></details>"


def _listed(summary: Summary, folder: Path | None) -> str:
    if not summary.listed:
        return ""
    rows = (
        [
            _word(one.verdict),
            text(one.run_id or ""),
            f"{one.events:,}",
            text(one.reason),
            f"<code>{link(one.source, one.source, folder)}</code>",
        ]
        for one in summary.listed
    )
    shown = table(("verdict", "run", "events", "reason", "where"), rows, numbers=frozenset({2}))
    left_out = _left_out(len(summary.listed), summary.listed_count)
    return f"<h2>Runs that do not conform</h2>{left_out}{shown}"


def _earlier(summary: Summary, folder: Path | None) -> str:
    if not summary.earlier_listed:
        return ""
    rows = (
        [text(verdict_counts(one.verdicts)), f"<code>{link(one.source, one.source, folder)}</code>"]
        for one in summary.earlier_listed
    )
    shown = table(("runs", "where"), rows)
    left_out = _left_out(len(summary.earlier_listed), summary.earlier_listed_count)
    return f"<h2>Unchanged units with runs that do not conform</h2>{left_out}{shown}"


def _shared_ids(summary: Summary) -> str:
    if not summary.shared_ids:
        return ""
    rows = (
        [
            text(one.run_id),
            f"{one.count:,}",
            "<br>".join(f"<code>{text(source)}</code>" for source in one.sources),
        ]
        for one in summary.shared_ids
    )
    shown = table(("run", "runs", "the first of them"), rows, numbers=frozenset({1}))
    left_out = _left_out(len(summary.shared_ids), summary.shared_id_count)
    return f"<h2>Ids that several runs have</h2>{left_out}{shown}"


def _coverage(summary: Summary) -> str:
    rows = ([f"<code>{text(one.action)}</code>", f"{one.events:,}"] for one in summary.coverage)
    never = ", ".join(f"<code>{text(name)}</code>" for name in summary.never_taken)
    missing = f"<p>Never taken: {never}.</p>" if never else "<p>Every action was taken.</p>"
    shown = table(("action", "events"), rows, numbers=frozenset({1}))
    return f"<h2>Actions of the spec</h2>{missing}{shown}"


def _graph(one: GraphCoverage) -> str:
    rows = (
        [
            f"<code>{text(each.action)}</code>",
            f"{each.steps:,}",
            f"{each.covered:,}",
            f"{100 * each.covered / each.steps:.1f} %",
        ]
        for each in one.actions
    )
    head = ("action", "steps of the graph", "taken by the corpus", "share")
    sentence = (
        f"<p>{one.covered:,} of the {one.steps:,} canonical steps of <code>{text(one.model)}"
        f"</code> (revision {text(one.revision)}, {counted(one.member_count, 'member')}).</p>"
    )
    shown = table(head, rows, numbers=frozenset({1, 2, 3}))
    return f"<h2>Steps of the state graph</h2>{sentence}{shown}"


def _origin(summary: Summary) -> str:
    corpora = ", ".join(f"<code>{text(name)}</code>" for name in summary.corpora)
    return f'<p class="note">canvass {text(summary.version)}; corpora: {corpora}</p>'


def _left_out(shown: int, count: int) -> str:
    if shown >= count:
        return ""
    return f'<p class="note">The first {shown:,} of {count:,}; the tables hold all.</p>'


def _word(value: str) -> str:
    """Return a word that a narrow column does not break, if it is an identifier."""
    return f'<span class="word">{value}</span>' if value.isidentifier() else text(value)


FOLDER: Final = "examples"


def write_examples(
    clusters: Iterable[DivergenceClassSummary], out: Place, lookup: StepLookup, limit: int
) -> Mapping[tuple[str, str], str]:
    """Write pages for the first clusters; return the path of each by the cluster's identity."""
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


def _page(cluster: DivergenceClassSummary, lookup: StepLookup) -> str | None:
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
        with on_this_machine(unit.place) as here:
            path = str(here)
            found = (divergence,)
            run = RunVerdict(cluster.example_run_id, path, Verdict.DIVERGES, divergences=found)
            page = to_html(CorpusVerdict((run,), Counts(runs=1)), [make_case(run, lookup)])
            return page.replace(path, unit.path)
    except (TraceError, TlcError, KeyError):
        return None  # The run is gone, or the oracle cannot run.
