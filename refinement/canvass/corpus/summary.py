"""The summary of a batch verification, in numbers and examples: ``summary.json``.

A `Summary` is made from the tables batch by batch. Lists that grow with the corpus have only their
first entries, and a count of all. The exit code and the new clusters follow from the summary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np
from msgspec import Struct

from canvass.conformance.report import natural
from canvass.conformance.verdict import EXIT_CODES, Verdict
from canvass.conformance.verdict import exit_code as worst_of
from canvass.corpus.graph_coverage import GraphCoverage
from canvass.corpus.storage import Place
from canvass.corpus.task_files import read_table
from canvass.traces.counts import counted

if TYPE_CHECKING:
    from canvass.corpus.job import CorpusJob

SUMMARY_SCHEMA: Final = "canvass.batch/2"
SUMMARY_FILE: Final = "summary.json"
VERDICTS: Final = tuple(verdict.value for verdict in Verdict)
MAX_LISTED: Final = 1000
"""Maximum entries of a list in summary and report; the tables have all."""
MAX_SOURCES: Final = 5
"""Maximum sources listed for an id that several runs have."""


Identity = tuple[str, str]
"""The class of divergences, with its action or property."""


class Listed(Struct, frozen=True, rename="camel"):
    """A run that does not conform, or a malformed unit."""

    source: str
    run_id: str | None
    verdict: str
    events: int
    reason: str

    @property
    def line(self) -> str:
        """Verdict, run and reason; the reason of a malformed unit begins with its path."""
        named = self.reason.startswith(self.source)
        place = "" if named else f"{name_of(self.source, self.run_id)}: "
        return f"{self.verdict} {place}{self.reason}"


def name_of(source: str, run_id: str | None) -> str:
    """Return the name of a run: its path or URL, and its id if it is in a file of a data set."""
    return f"{source} {run_id}" if run_id is not None and source.endswith(".parquet") else source


class RunPlace(Struct, frozen=True, rename="camel"):
    """A run of a corpus."""

    source: str
    run_id: str


class DivergenceClassSummary(Struct, frozen=True, rename="camel"):
    """The divergences of one kind: one class, at one action or property."""

    divergence_class: str
    name: str
    count: int
    runs: int
    example_run_id: str
    example_source: str
    example_member_id: int
    example_step: int
    example_reason: str
    listed: tuple[RunPlace, ...] = ()
    """The first of its runs, in the natural order of their names."""

    @property
    def identity(self) -> Identity:
        """Its kind, by which it is looked up in an earlier report."""
        return self.divergence_class, self.name


class SharedId(Struct, frozen=True, rename="camel"):
    """An id that several runs of a corpus have. Each of them has its own verdict."""

    run_id: str
    count: int
    sources: list[str]
    """The sources of the first of these runs."""


class EarlierUnit(Struct, frozen=True, rename="camel"):
    """An unchanged unit with runs that did not conform when they were verified."""

    source: str
    verdicts: dict[str, int]
    """Its runs by verdict."""


class Coverage(Struct, frozen=True, rename="camel"):
    """The number of events with an action."""

    action: str
    events: int


class Summary(Struct, frozen=True, rename="camel", kw_only=True):
    """The result of a batch verification."""

    schema: Literal["canvass.batch/2"] = SUMMARY_SCHEMA
    version: str
    corpora: list[str]
    tasks: int | None
    """The number of tasks that the user chose; null if the job chose."""
    runs: int
    events: int
    verdicts: dict[str, int]
    """Runs by verdict; every verdict is a key."""
    checked_in_part: int = 0
    """Runs that conform, but were not asked all safety properties; their reasons name these."""
    revisions: dict[str, int] = {}
    """Runs by revision and its choice; of imported runs also by releases and notes."""
    divergences: int
    clusters: list[DivergenceClassSummary]
    cluster_count: int
    listed: list[Listed]
    listed_count: int
    coverage: list[Coverage]
    shared_ids: list[SharedId] = []
    """The first ids that several runs have."""
    shared_id_count: int = 0
    graphs: list[GraphCoverage] = []
    """Coverage of each state graph that was given."""
    earlier: dict[str, int] = {}
    """Runs by verdict, in units that were verified before and have not changed."""
    earlier_listed: list[EarlierUnit] = []
    """The first of these units that have runs that do not conform."""
    earlier_listed_count: int = 0
    never_taken: list[str]
    """Actions of the spec that no event has."""
    asked_steps: int
    """Distinct steps that the oracle decided."""
    rechecked_runs: int
    seconds: float
    events_per_second: float


def summarise(
    job: CorpusJob, *, version: str, corpora: list[str], tasks: int | None, seconds: float
) -> Summary:
    """Make the summary of a finished job."""
    from canvass.traces.layout import ACTION_NAMES

    by_verdict, listed, in_part = _verdicts(job.table("verdicts"))
    classes = _classes(job.table("divergences"))
    shared = _shared_ids(job.table("verdicts"))
    coverage = _coverage(job.table("coverage"))
    events = sum(count for _, count in by_verdict.values())
    return Summary(
        version=version,
        corpora=corpora,
        tasks=tasks,
        runs=sum(count for count, _ in by_verdict.values()),
        events=events,
        verdicts={name: runs for name, (runs, _) in by_verdict.items()},
        checked_in_part=in_part,
        revisions=_revisions(job.table("verdicts")),
        divergences=sum(one.count for one in classes),
        clusters=classes[:MAX_LISTED],
        cluster_count=len(classes),
        listed=listed,
        listed_count=sum(count for name, (count, _) in by_verdict.items() if name != "CONFORMS"),
        coverage=[
            Coverage(name, coverage[name])
            for name in sorted(coverage, key=lambda name: (-coverage[name], name))
        ],
        shared_ids=shared[:MAX_LISTED],
        shared_id_count=len(shared),
        graphs=job.graphs,
        never_taken=[name for name in ACTION_NAMES if not coverage.get(name)],
        asked_steps=job.asked,
        rechecked_runs=job.rechecked,
        seconds=round(seconds, 3),
        events_per_second=round(events / seconds, 1) if seconds > 0 else 0.0,
    )


def _rows(folder: Place, *columns: str) -> Iterator[tuple[Any, ...]]:
    for batch in read_table(folder, columns):
        yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def _verdicts(folder: Place) -> tuple[dict[str, tuple[int, int]], list[Listed], int]:
    """Count runs and events by verdict, list the first runs that do not conform, and count the runs
    that conform with a reason: those not checked in full.
    """
    in_part = 0
    by_verdict = dict.fromkeys(VERDICTS, (0, 0))
    failing: list[Listed] = []
    rows = _rows(folder, "source", "run_id", "verdict", "events", "reason")
    for source, run_id, verdict, events, reason in rows:
        runs, before = by_verdict[verdict]
        by_verdict[verdict] = runs + 1, before + (events or 0)
        in_part += verdict == Verdict.CONFORMS.value and bool(reason)
        if verdict != Verdict.CONFORMS.value:
            failing.append(Listed(source, run_id, verdict, events or 0, reason or ""))
            if len(failing) > 2 * MAX_LISTED:
                failing = sorted(failing, key=_place)[:MAX_LISTED]
    return by_verdict, sorted(failing, key=_place)[:MAX_LISTED], in_part


def _revisions(folder: Place) -> dict[str, int]:
    """Count runs by the choice of their revision, the most frequent one first."""
    counts = Counter(chosen for (chosen,) in _rows(folder, "revision_choice") if chosen)
    first = sorted(counts, key=lambda chosen: (-counts[chosen], chosen))[:MAX_LISTED]
    return {chosen: counts[chosen] for chosen in first}


def _place(listed: Listed) -> tuple[str, str, str]:
    return listed.verdict, natural(listed.source), natural(listed.run_id or "")


def _natural_place(run: RunPlace) -> tuple[str, str]:
    return natural(run.source), natural(run.run_id)


def _shared_ids(folder: Place) -> list[SharedId]:
    """Return the ids that several runs have.

    Hashes of ids are compared first, so that the driver keeps eight bytes for each run.
    """
    hashes = [
        np.fromiter(map(hash, batch["run_id"].drop_null().to_pylist()), dtype=np.int64)
        for batch in read_table(folder, ["run_id"])
    ]
    ordered = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *hashes]))
    repeated = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    if not repeated:
        return []
    sources: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for run_id, source in _rows(folder, "run_id", "source"):
        if run_id is not None and hash(run_id) in repeated:
            counts[run_id] += 1
            sources[run_id] = sorted([*sources.get(run_id, []), source])[:MAX_SOURCES]
    return [
        SharedId(run_id, counts[run_id], sources[run_id])
        for run_id in sorted(counts)
        if counts[run_id] > 1
    ]


_EXAMPLE: Final = ("run_id", "source", "member_id", "step", "reason")


def _classes(folder: Place) -> list[DivergenceClassSummary]:
    """Group divergences by kind, the most frequent kind first."""
    counts: Counter[tuple[str, str]] = Counter()
    runs: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], tuple[Any, ...]] = {}
    last: dict[tuple[str, str], tuple[Any, ...]] = {}
    listed: defaultdict[tuple[str, str], list[RunPlace]] = defaultdict(list)
    for kind, name, *example in _rows(folder, "divergence_class", "name", *_EXAMPLE):
        like, found = (kind, name), tuple(example)
        counts[like] += 1
        # The rows of a run are consecutive; source and id name the run.
        if last.get(like) != found[:2]:
            runs[like] += 1
            listed[like].append(RunPlace(found[1], found[0]))
            if len(listed[like]) > 2 * MAX_LISTED:
                listed[like] = sorted(listed[like], key=_natural_place)[:MAX_LISTED]
        last[like] = found[:2]
        # The smallest row: the same example in whatever order the rows are.
        examples[like] = min(found, examples.get(like, found))
    clusters = []
    for like in sorted(counts, key=lambda like: (-counts[like], like)):
        run_id, source, member_id, step, reason = examples[like]
        first = tuple(sorted(listed[like], key=_natural_place)[:MAX_LISTED])
        clusters.append(
            DivergenceClassSummary(
                *like, counts[like], runs[like], run_id, source, member_id, step, reason, first
            )
        )
    return clusters


def _coverage(folder: Place) -> Counter[str]:
    """Count the events of each action."""
    counts: Counter[str] = Counter()
    for graph, name, events in _rows(folder, "graph", "name", "events"):
        if graph is None:
            counts[name] += events
    return counts


class BadBaseline(Exception):
    """An earlier report cannot be read."""


def read_summary(folder: Place) -> Summary:
    """Read the summary in a report folder, or a summary file.

    Raises
    ------
    BadBaseline
        If the file is missing, or is no summary.
    """
    path = folder / SUMMARY_FILE if folder.is_dir() else folder
    try:
        return msgspec.json.decode(path.read_bytes().decode(), type=Summary)
    except UnicodeDecodeError as error:
        raise BadBaseline(f"{path}: not UTF-8: {error.reason} (byte {error.start})") from None
    except RecursionError:
        raise BadBaseline(f"{path}: nested too deeply") from None
    except OSError as error:
        raise BadBaseline(f"{path}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise BadBaseline(f"{path}: {error}") from None


def empty_summary(version: str, corpora: list[str]) -> Summary:
    """Make the summary of a verification without units."""
    return Summary(
        version=version,
        corpora=corpora,
        tasks=None,
        runs=0,
        events=0,
        verdicts=dict.fromkeys(VERDICTS, 0),
        divergences=0,
        clusters=[],
        cluster_count=0,
        listed=[],
        listed_count=0,
        coverage=[],
        never_taken=[],
        asked_steps=0,
        rechecked_runs=0,
        seconds=0.0,
        events_per_second=0.0,
    )


def totals(summary: Summary) -> str:
    """Return the numbers of runs and events, and the runs by verdict, in words."""
    done = f"{counted(summary.runs, 'run')}, {counted(summary.events, 'event')}"
    return f"{done}: {verdict_counts(summary.verdicts)}"


def in_part_text(summary: Summary) -> str:
    """Return in words how many conforming runs were not checked in full; empty if all were."""
    if not summary.checked_in_part:
        return ""
    runs = counted(summary.checked_in_part, "run that conforms", "runs that conform")
    return f"not a full check of {runs}: see the reasons in the table verdicts"


_TEXTS: Final = 20
"""The most choices of revisions that are given in words."""


def revision_texts(summary: Summary) -> list[str]:
    """Return a text for each of the first choices of a revision, with its number of runs."""
    every = list(summary.revisions.items())
    texts = [f"{counted(count, 'run')}: {chosen}" for chosen, count in every[:_TEXTS]]
    more = len(every) - _TEXTS
    return [*texts, f"and {more:,} more: see the table verdicts"] if more > 0 else texts


def verdict_counts(verdicts: Mapping[str, int]) -> str:
    """Return the runs by verdict in words, such as "2 CONFORMS, 1 DIVERGES"."""
    return ", ".join(f"{count:,} {name}" for name, count in verdicts.items() if count) or "none"


def new_clusters(summary: Summary, known: Collection[Identity]) -> list[DivergenceClassSummary]:
    """Return the clusters whose kind is not in ``known``."""
    return [cluster for cluster in summary.clusters if cluster.identity not in known]


def exit_code(summary: Summary, known: Collection[Identity] | None = None) -> int:
    """Return the exit code; divergences of known classes do not count.

    The worst verdict decides, as for ``canvass verify``. Verdicts of earlier verifications count:
    a repeated command has the same exit code. An empty check exits with 2.
    """
    if not summary.events and not any(summary.earlier.values()):
        return EXIT_CODES[Verdict.MALFORMED]
    counts = Counter(summary.verdicts) + Counter(summary.earlier)
    found = {verdict for verdict in Verdict if counts[verdict.value]}
    if known is not None and not new_clusters(summary, known):
        found.discard(Verdict.DIVERGES)
        found.add(Verdict.CONFORMS)
    return worst_of(found)
