"""The report of a batch verification: ``summary.json``, a text, and a page.

A `Summary` has numbers and examples, and is made from the tables. Lists that grow with the corpus
have only their first entries, and a count of all. The exit code and the new clusters follow from
the summary, and so do text and page. The page has no scripts; its frame and policy are those of
`canvass.conformance.report`. All texts of a corpus go through the template's escaping, which
also shows control characters by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import pyarrow.compute as pc
from jinja2 import Environment
from msgspec.structs import replace

from canvass.cluster.messages import Record
from canvass.conformance.findings import EXIT_CODES, Verdict, step_name
from canvass.conformance.findings import exit_code as worst_of
from canvass.conformance.report import environment, natural, page
from canvass.corpus.plan import EarlierUnit
from canvass.traces.errors import counted
from canvass.traces.schema import ACTION_NAMES
from canvass.version import VERSION

if TYPE_CHECKING:
    from canvass.corpus.job import CorpusJob

# --- summary --------------------------------------------------------------------------------------

SUMMARY_FILE: Final = "summary.json"
VERDICTS: Final = tuple(verdict.value for verdict in Verdict)
MAX_LISTED: Final = 1000
"""Maximum entries of a list in summary and report; the tables have all."""


Identity = tuple[str, str]
"""The class of divergences, with its action or property."""


class Listed(Record, frozen=True):
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


class DivergenceClassSummary(Record, frozen=True):
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

    @property
    def identity(self) -> Identity:
        """Its kind, by which it is looked up in an earlier report."""
        return self.divergence_class, self.name


class Summary(Record, frozen=True, kw_only=True):
    """The result of a batch verification."""

    schema: Literal["canvass.batch/4"] = "canvass.batch/4"
    version: str
    corpora: list[str]
    runs: int = 0
    events: int = 0
    verdicts: dict[str, int]
    """Runs by verdict; every verdict is a key."""
    checked_in_part: int = 0
    """Runs that conform, but were not checked in full; their reasons name the properties."""
    revisions: dict[str, int] = msgspec.field(default_factory=dict)
    """Runs by revision and its choice; of imported runs also by releases and notes."""
    divergences: int = 0
    clusters: list[DivergenceClassSummary] = msgspec.field(default_factory=list)
    cluster_count: int = 0
    listed: list[Listed] = msgspec.field(default_factory=list)
    listed_count: int = 0
    coverage: dict[str, int] = msgspec.field(default_factory=dict)
    """Events by action, the most frequent one first."""
    earlier: dict[str, int] = msgspec.field(default_factory=dict)
    """Runs by verdict, in units that were verified before and have not changed."""
    earlier_listed: list[EarlierUnit] = msgspec.field(default_factory=list)
    """The first of these units with runs that do not conform."""
    earlier_listed_count: int = 0
    never_taken: list[str] = msgspec.field(default_factory=list)
    """Actions of the spec that no event has."""
    asked_steps: int = 0
    """Distinct steps that the oracle decided."""
    seconds: float = 0.0
    events_per_second: float = 0.0


def summarise(
    job: CorpusJob,
    *,
    corpora: list[str],
    seconds: float,
    earlier: Sequence[EarlierUnit] = (),
) -> Summary:
    """Make the summary of a finished job.

    Parameters
    ----------
    job
        The job.
    corpora
        What was verified.
    seconds
        How long it took.
    earlier
        The units that were not due.
    """
    runs = job.table("verdicts", [*_LISTED, "revision_choice"])
    counts = Counter(runs["verdict"].to_pylist())
    failing = runs.filter(pc.field("verdict") != "CONFORMS").select(_LISTED)
    listed = [Listed(**row) for row in failing.to_pylist()]
    classes = _classes(job.table("divergences", _CLASS + _EXAMPLE))
    by_action = job.coverage.group_by("name").aggregate([("events", "sum")])
    ordered = by_action.sort_by([("events_sum", "descending"), ("name", "ascending")]).to_pylist()
    coverage = {row["name"]: row["events_sum"] for row in ordered}
    events: int = pc.sum(runs["events"]).as_py() or 0
    in_part = (pc.field("verdict") == "CONFORMS") & (pc.field("reason") != "")
    return replace(
        empty_summary(corpora, earlier),
        runs=len(runs),
        events=events,
        verdicts={name: counts[name] for name in VERDICTS},
        checked_in_part=runs.filter(in_part).num_rows,
        revisions=_revisions(runs),
        divergences=sum(one.count for one in classes),
        clusters=classes[:MAX_LISTED],
        cluster_count=len(classes),
        listed=sorted(listed, key=_place)[:MAX_LISTED],
        listed_count=len(listed),
        coverage=coverage,
        never_taken=[name for name in ACTION_NAMES if not coverage.get(name)],
        asked_steps=job.asked,
        seconds=round(seconds, 3),
        events_per_second=round(events / seconds, 1) if seconds > 0 else 0.0,
    )


_LISTED: Final = list(Listed.__struct_fields__)
_CLASS: Final = ["divergence_class", "name"]
_EXAMPLE: Final = ["run_id", "source", "member_id", "step", "reason"]


def _place(listed: Listed) -> tuple[str, str, str]:
    return listed.verdict, natural(listed.source), natural(listed.run_id or "")


def _revisions(runs: Any) -> dict[str, int]:
    """Count runs by the choice of their revision, the most frequent one first."""
    counts = Counter(filter(None, runs["revision_choice"].to_pylist()))
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MAX_LISTED])


def _classes(divergences: Any) -> list[DivergenceClassSummary]:
    """Group divergences by kind, the most frequent kind first; the example is the least row."""
    run = pc.binary_join_element_wise(divergences["source"], divergences["run_id"], "\0")
    rows = divergences.append_column("run", run)
    rows = rows.sort_by([(name, "ascending") for name in _CLASS + _EXAMPLE])
    wanted = [("run", "count"), ("run", "count_distinct"), *((name, "first") for name in _EXAMPLE)]
    found = rows.group_by(_CLASS, use_threads=False).aggregate(wanted)
    names = [*_CLASS, "run_count", "run_count_distinct", *(f"{name}_first" for name in _EXAMPLE)]
    columns = (found[name].to_pylist() for name in names)
    classes = [DivergenceClassSummary(*row) for row in zip(*columns, strict=True)]
    return sorted(classes, key=lambda one: (-one.count, one.identity))


class BadSummary(Exception):
    """The summary of a report cannot be read."""


def read_summary(folder: Path) -> Summary:
    """Read the summary in a report folder, or a summary file.

    Raises
    ------
    BadSummary
        If the file is missing, or is no summary.
    """
    path = folder / SUMMARY_FILE if folder.is_dir() else folder
    try:
        return msgspec.json.decode(path.read_bytes().decode(), type=Summary)
    except OSError as error:
        raise BadSummary(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise BadSummary(f"{path}: {error}") from None


def empty_summary(corpora: list[str], earlier: Sequence[EarlierUnit] = ()) -> Summary:
    """Make the summary of a verification in which no unit was due."""
    failing = [one for one in earlier if sum(one.verdicts.values()) > one.verdicts["CONFORMS"]]
    counts = {name: sum(one.verdicts[name] for one in earlier) for name in VERDICTS}
    return Summary(
        version=VERSION,
        corpora=corpora,
        verdicts=dict.fromkeys(VERDICTS, 0),
        earlier=counts if earlier else {},
        earlier_listed=failing[:MAX_LISTED],
        earlier_listed_count=len(failing),
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


# --- text and page --------------------------------------------------------------------------------

REPORT_FILE: Final = "report.html"
_HERE: Final = Path(__file__).parent
_STYLE: Final = ".word { white-space: nowrap; overflow-wrap: normal; }\n"
_New = Sequence[DivergenceClassSummary] | None


def to_html(summary: Summary, new: _New = None, folder: Path | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    summary
        The summary.
    new
        The clusters that are new in the tables; None if all are alike.
    folder
        Folder of the page, for relative links to runs; None if it is in a store.
    """
    made = environment(_HERE)
    body = _rendered(made, "html", summary, new, {"command": _command, "folder": folder})
    return page(f"canvass: {counted(summary.runs, 'run')}", [body], style=_STYLE)


def to_text(summary: Summary, new: _New = None, out: str | None = None) -> str:
    """Return the lines for a terminal; ``out`` is the folder of the report, if there is one."""
    made = environment(_HERE, markup=False)
    return _rendered(made, "txt", summary, new, {"out": out and out.rstrip("/")})


def _rendered(
    made: Environment, form: str, summary: Summary, new: _New, given: dict[str, Any]
) -> str:
    fresh = None if new is None else {cluster.identity for cluster in new}

    def mark(one: DivergenceClassSummary) -> str:
        return "" if fresh is None else "new" if one.identity in fresh else "known"

    words = (name_of, step_name, totals, verdict_counts, mark)
    made.globals |= {word.__name__: word for word in words}
    notes = [*filter(None, (*revision_texts(summary), in_part_text(summary)))]
    return made.get_template(f"report.{form}.jinja").render(s=summary, notes=notes, **given)


def _command(source: str) -> str:
    """Return the command that shows an example."""
    if "://" in source:
        return f"canvass batch verify {quote(source)} --out example"
    return f"canvass browse {quote(str(Path(source).absolute()))}"
