"""A Parquet data set of events: a folder of files ``events-<members>-<number>.parquet``.

Each file has whole runs of clusters with the same number of members. The rows are in the order of
runs, members and steps. A stream may continue in the next row group. The file's metadata have
``run.json`` and the facts of each run, so each file can be checked alone. The columns are those of
`canvass.traces.arrow`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec.structs import replace
from numpy.typing import NDArray

from canvass.cluster.messages import MESSAGE_TYPES, Vote
from canvass.traces.arrow import (
    ColumnError,
    arrow_schema,
    from_table,
    member_count_of,
    sources_of,
    to_table,
)
from canvass.traces.columns import EventColumns, Ints, join
from canvass.traces.errors import Code, TraceError
from canvass.traces.ndjson import MAX_GAPS, decode_document
from canvass.traces.run import Corpus, RunFolder
from canvass.traces.schema import (
    ACTION_MESSAGE_CODES,
    ID_BITS,
    INPUT_INDEX,
    MAX_ID_DIGITS,
    MAX_MEMBERS,
    MESSAGE_COLUMNS,
    MESSAGE_FIELDS,
    MESSAGE_INDEX,
    NONE,
    Fact,
    FactKind,
    Run,
    Source,
    encode,
)
from canvass.traces.streams import open_regular

_ABSENT: Final = np.array(
    [
        [False] * 3 + [name not in message.__struct_fields__ for name in MESSAGE_FIELDS]
        for message in MESSAGE_TYPES
    ]
    + [[False] + [True] * (len(MESSAGE_COLUMNS) - 1)]
)
"""For each message type, the columns that have -1. The last row is for events without a message."""
NOT_IN_ORDER: Final = "the rows are not in the order of run, member and step"
STEP_TWICE: Final = "a step is there twice, or several runs have the id"
_VOTE: Final = MESSAGE_TYPES.index(Vote)
_ID_LIMIT: Final = 10**MAX_ID_DIGITS
_ID_NUMBER: Final = (1 << ID_BITS) - 1


def column_problems(columns: EventColumns) -> list[tuple[int, str]]:
    """Find the rows that a strict reader of lines would refuse, whatever the rows before them are.

    Returns
    -------
    list
        For each reason and each run with such rows, the first such row and the reason.
    """
    found: list[tuple[int, str]] = []

    def refuse(bad: NDArray[np.bool_], reason: str) -> None:
        if bad.any():
            _, first = np.unique(columns.run[bad], return_index=True)
            found.extend((row, reason) for row in np.flatnonzero(bad)[first].tolist())

    member = columns.member
    refuse((member < 0) | (member >= columns.member_count), "no such member")
    refuse(columns.step < 0, "step is negative")
    for name in ("active", "accepted"):
        mask = columns.inputs[:, INPUT_INDEX[name]]
        refuse(
            (mask < 0) | (mask >> columns.member_count != 0), f"input.{name} is no set of members"
        )
    received = columns.message
    expected = np.array(ACTION_MESSAGE_CODES, dtype=np.int64)[columns.action]
    refuse(received[:, 0] != expected, "the action does not consume this message")
    has = received[:, 0] != NONE
    refuse(has & _bad_message(received), "a message with fields out of range")
    refuse(~has & (received != NONE).any(axis=1), "fields of a message, and there is none")
    refuse(
        has & (message_id_senders(received) != received[:, MESSAGE_INDEX["peer"]]),
        "input.id is not the id of a send by the member input.from",
    )
    counts = np.diff(columns.send_offsets)
    row_of = np.repeat(np.arange(len(columns)), counts)
    sends = columns.sends
    bad = _bad_message(sends) | (message_id_senders(sends) != member[row_of])
    refuse(_any_of(bad, row_of, len(columns)), "a send with fields out of range")
    return found


def message_id_senders(messages: Ints) -> Ints:
    """Return the senders in the ids of messages."""
    senders: Ints = messages[:, MESSAGE_INDEX["id"]] >> ID_BITS
    return senders


def row_problems(
    columns: EventColumns, runs: Mapping[str, RunEntry], finder: FactFinder
) -> dict[str, str]:
    """Give, for each run with a problem in the next rows, the first problem, by the run's id.

    Parameters
    ----------
    columns
        The next rows of a file or table.
    runs
        The runs to which the rows may belong, by their ids.
    finder
        The finder that has looked at the rows before these.
    """
    of_order = finder.look(columns)
    found = {columns.runs[columns.run[row]]: it for row, it in of_order if it == NOT_IN_ORDER}
    for row, reason in sorted([*of_order, *column_problems(columns)], key=lambda one: one[0]):
        place = f"member {columns.member[row]}, step {columns.step[row]}"
        found.setdefault(columns.runs[columns.run[row]], f"{place}: {reason}")
    for number, run_id in enumerate(columns.runs):
        if run_id not in runs:
            found[run_id] = "it is not in the metadata"
            continue
        run = runs[run_id].run
        for member_id in run.without_steps:
            rows = (columns.run == number) & (columns.member == member_id)
            problem = run.steps_problem(member_id, int(np.count_nonzero(rows)))
            if problem:
                found.setdefault(run_id, problem)
    return {run_id: f"the run {run_id}: {reason}" for run_id, reason in found.items()}


def _any_of(bad: NDArray[np.bool_], row_of: Ints, rows: int) -> NDArray[np.bool_]:
    marked = np.zeros(rows, dtype=np.bool_)
    marked[row_of[bad]] = True
    return marked


def _bad_message(messages: Ints) -> NDArray[np.bool_]:
    """Return which messages a strict reader of lines would refuse."""
    kind, peer, ids = messages[:, 0], messages[:, 1], messages[:, 2]
    vote = messages[:, MESSAGE_INDEX["vote"]]
    bad: NDArray[np.bool_] = (
        (peer < 0)
        | (peer >= MAX_MEMBERS)
        | (ids < 0)
        | ((ids & _ID_NUMBER) >= _ID_LIMIT)
        | ((kind == _VOTE) & ((vote < 0) | (vote > 1)))
        | ((messages != NONE) & _ABSENT[kind]).any(axis=1)
    )
    return bad


EVENTS_PER_FILE: Final = 1 << 20
"""A file ends with the run that reaches this number of events."""
EVENTS_PER_ROW_GROUP: Final = 1 << 16
"""The number of rows that readers decode at once: about 80 MB for three members."""
RUNS_KEY: Final = b"canvass.runs"


class RunEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metadata of one run in a file."""

    run: Run
    facts: tuple[Fact, ...] = ()


REVISION: Final = "revision"
"""A column of rows without metadata: the revision of the spec that the run is checked against."""
TRUNCATED: Final = "truncated"
"""A column of rows without metadata: the last row of a stream says why the stream is truncated."""
_ENTRIES: Final = msgspec.json.Decoder(tuple[RunEntry, ...])


def entries_of(data: bytes, name: str) -> dict[str, RunEntry]:
    """Decode the metadata of the runs of a file, or of a table.

    Raises
    ------
    TraceError
        If the data are no such metadata, name no run, or name a run twice. The error calls the data
        ``name``.
    """
    entries = decode_document(_ENTRIES, data, name, 0)
    found = {entry.run.run_id: entry for entry in entries}
    if len(found) != len(entries):
        raise TraceError(Code.AMBIGUOUS, name, 0, 0, "a run twice")
    if not found:
        reason = "the metadata name no run: nothing can be checked"
        raise TraceError(Code.BAD_SCHEMA, name, 0, 0, reason)
    return found


def entries_of_rows(rows: Any, run: Run) -> dict[str, RunEntry]:
    """Give the entries of the runs in a table without metadata.

    Parameters
    ----------
    rows
        A table with the columns ``run`` and ``member``; it may have ``revision`` and ``truncated``.
    run
        The properties that all runs share. A run with rows of several revisions gets the text
        ``several revisions``, which is no revision.
    """
    ids = pc.fill_null(rows["run"].cast(pa.string()), "")
    rows = rows.set_column(rows.column_names.index("run"), "run", ids)
    found = {}
    names = [name for name in ("run", REVISION) if name in rows.column_names]
    for row in rows.select(names).group_by(names, use_threads=False).aggregate([]).to_pylist():
        run_id, revision = row["run"], row.get(REVISION, run.revision) or ""
        if run_id in found:
            revision = "several revisions"
        found[run_id] = RunEntry(replace(run, run_id=run_id, revision=revision))
    if TRUNCATED in rows.column_names:
        cut = rows.select(["run", "member", TRUNCATED]).filter(pc.is_valid(rows[TRUNCATED]))
        for row in cut.group_by(cut.column_names).aggregate([]).to_pylist():
            fact = Fact(FactKind.TRUNCATED, row["run"], row["member"], detail=row[TRUNCATED])
            entry = found[row["run"]]
            found[row["run"]] = replace(entry, facts=(*entry.facts, fact))
    return found


class _OpenFile:
    """A file that is being written."""

    def __init__(self, path: Path, member_count: int, row_group: int) -> None:
        self._row_group = row_group
        self._schema = arrow_schema(member_count)
        self._writer = pq.ParquetWriter(
            path, self._schema, compression="zstd", write_page_checksum=True
        )
        self._tables: list[Any] = []
        self._rows = 0
        self.events = 0
        self.entries: list[RunEntry] = []

    def add(self, table: Any) -> None:
        self._tables.append(table)
        self._rows += table.num_rows
        self.events += table.num_rows
        if self._rows >= self._row_group:
            self._write(everything=False)

    def _write(self, *, everything: bool) -> None:
        table = pa.concat_tables(self._tables).unify_dictionaries()
        whole = self._rows if everything else self._rows - self._rows % self._row_group
        self._writer.write_table(table.slice(0, whole), row_group_size=self._row_group)
        self._tables = [table.slice(whole)]
        self._rows -= whole

    def close(self) -> None:
        if self._rows:
            self._write(everything=True)
        self._writer.add_key_value_metadata({RUNS_KEY: encode(self.entries)})
        self._writer.close()


def write_dataset(
    corpus: Corpus,
    root: Path,
    *,
    events_per_file: int = EVENTS_PER_FILE,
    events_per_row_group: int = EVENTS_PER_ROW_GROUP,
) -> tuple[int, int]:
    """Convert run folders to a new data set; return the numbers of runs and events.

    Parameters
    ----------
    corpus
        The run folders.
    root
        The folder of the data set; it is made if it does not exist, and must have no Parquet files.

    Raises
    ------
    TraceError
        If the corpus has an entry that is no run. The runs before that entry stay in the data set.
    FileExistsError
        If the folder has Parquet files already.
    """
    root.mkdir(parents=True, exist_ok=True)
    if any(root.glob("*.parquet")):
        raise FileExistsError(f"{root} holds a data set already")
    opened, files, runs, events = dict[int, _OpenFile](), Counter[int](), 0, 0
    try:
        for folder in corpus.run_folders():
            count = folder.run.member_count
            if count not in opened:
                path = root / f"events-{count}-{files[count]:05d}.parquet"
                opened[count] = _OpenFile(path, count, events_per_row_group)
                files[count] += 1
            file = opened[count]
            for columns in folder.columns():
                file.add(to_table(columns))
                events += len(columns)
            file.entries.append(RunEntry(folder.run, tuple(folder.facts)))
            runs += 1
            if file.events >= events_per_file:
                opened.pop(count).close()
    finally:
        for file in opened.values():
            file.close()
    return runs, events


def _statistics_of(row_group: Any, column: str) -> Any:
    """Return the statistics of a column.

    The column is not looked up in the schema: pyarrow's schema and metadata refer to each other, so
    large footers would stay in memory.
    """
    columns = map(row_group.column, range(row_group.num_columns))
    return next(found.statistics for found in columns if found.path_in_schema == column)


class DatasetFile:
    """One file of a data set, opened for reading. Opening it checks the schema and the metadata.

    Attributes
    ----------
    runs
        The metadata of the runs, by run id.
    member_count
        Number of members of each cluster in the file.
    events
        Number of events.

    Raises
    ------
    TraceError
        From the constructor and each method, if the file does not have the format.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._handle = open_regular(path, self.name)
        try:
            self._file = self._guard(
                lambda: pq.ParquetFile(self._handle, page_checksum_verification=True)
            )
            schema = self._guard(lambda: self._file.schema_arrow)
            self.member_count = self._guard(lambda: member_count_of(schema))
            self.runs = self._entries()
            self.events: int = self._file.metadata.num_rows
        except BaseException:
            self._handle.close()
            raise

    def _guard(self, action: Any) -> Any:
        """Run an action on the file; each exception becomes a `TraceError`."""
        try:
            return action()
        except ColumnError as error:
            raise self._error(error.code, error.reason) from None
        except OSError as error:
            raise self._error(Code.UNREADABLE, str(error)) from None
        except (pa.ArrowException, ValueError, KeyError, OverflowError, IndexError) as error:
            raise self._error(Code.BAD_SCHEMA, str(error)) from None

    def _error(self, code: Code, reason: str) -> TraceError:
        # Messages of pyarrow may have several lines.
        return TraceError(code, self.name, 0, 0, " ".join(reason.split()))

    def _entries(self) -> dict[str, RunEntry]:
        data = (self._file.metadata.metadata or {}).get(RUNS_KEY)
        if data is None:  # Another tool has written the file.
            there = self._file.schema_arrow.names
            names = [name for name in ("run", "member", REVISION, TRUNCATED) if name in there]
            run = Run("canvass.run/1", "run", "1.50", self.member_count, initial="unknown")
            rows = self._guard(lambda: self._file.read(names, use_threads=False))
            found: dict[str, RunEntry] = self._guard(lambda: entries_of_rows(rows, run))
            return found
        found = entries_of(data, self.name)
        if any(entry.run.member_count != self.member_count for entry in found.values()):
            raise self._error(Code.BAD_SCHEMA, "a run with another number of members")
        return found

    def tables(self, run_ids: Collection[str] | None = None) -> Iterator[Any]:
        """Yield the rows as tables: of the runs ``run_ids`` only, if they are given."""
        for number in range(self._file.metadata.num_row_groups):
            if run_ids is None or self._may_hold(number, run_ids):
                yield from self._tables_of(number, run_ids)

    def _tables_of(self, number: int, run_ids: Collection[str] | None) -> Iterator[Any]:
        # pyarrow does not read lists of structs from several row groups at once.
        size = EVENTS_PER_ROW_GROUP
        batches = self._guard(lambda: self._file.iter_batches(size, [number], use_threads=False))
        while (batch := self._guard(lambda: next(batches, None))) is not None:
            table = pa.Table.from_batches([batch])
            if run_ids is not None:
                ids = table["run"].cast(pa.string())
                table = table.filter(pc.is_in(ids, pa.array([*run_ids], pa.string())))
            if len(table):
                yield table

    def _may_hold(self, number: int, run_ids: Collection[str]) -> bool:
        about = self._file.metadata.row_group(number)
        found = self._guard(lambda: _statistics_of(about, "run"))
        if found is None or not found.has_min_max or not isinstance(found.min, str):
            return True
        return any(found.min <= run_id <= found.max for run_id in run_ids)

    def read(self, run_ids: Collection[str] | None = None) -> Iterator[tuple[Any, EventColumns]]:
        """Yield the tables of `tables`, each with its events in columns.

        Raises
        ------
        TraceError
            At the first row that is not an event of a run in the metadata.
        """
        finder = FactFinder()
        for table in self.tables(run_ids):
            columns = self._guard(lambda: from_table(table))  # noqa: B023
            for reason in row_problems(columns, self.runs, finder).values():
                raise self._error(Code.BAD_EVENT, reason)
            yield table, columns

    def sources(self, table: Any) -> list[Source | None]:
        """Give the source of each row of one of the tables; see `arrow.sources_of`."""
        found: list[Source | None] = self._guard(lambda: sources_of(table))
        return found

    def batches(self, run_ids: Collection[str] | None = None) -> Iterator[EventColumns]:
        """Yield the events in columns; see `read`."""
        return (columns for _, columns in self.read(run_ids))

    def close(self) -> None:
        """Close the file."""
        self._handle.close()

    def __enter__(self) -> Self:
        """Give the file."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the file."""
        self.close()


class FactFinder:
    """Finds what is missing in batches of columns: gaps, late starts, members without a stream."""

    def __init__(self) -> None:
        self._streams: dict[str, list[int]] = {}
        """For each run, the members whose streams have begun."""
        self._last = ("", NONE, NONE)
        """Run, member and step of the last row."""
        self._facts: dict[str, list[Fact]] = {}

    def look(self, columns: EventColumns) -> list[tuple[int, str]]:
        """Add the next batch, and give the rows that are not in order, each with the reason.

        The members of a run must ascend, and the steps of a member. Gaps are allowed.
        """
        wrong = []
        for row in np.flatnonzero(columns.predecessor == NONE).tolist():
            (run, member, step), last = _place(columns, row), self._last
            if row:
                last = _place(columns, row - 1)
            own, stays = self._streams.setdefault(run, []), (run, member) == last[:2]
            if not stays and own and (run != last[0] or member <= own[-1]):
                wrong.append((row, NOT_IN_ORDER))
            if not stays:
                own.append(member)
            elif step <= last[2]:
                twice = step == last[2]
                wrong.append((row, STEP_TWICE if twice else "steps do not ascend"))
            facts = self._facts.setdefault(run, [])
            if step != (last[2] + 1 if stays else 0) and len(facts) < MAX_GAPS:
                kind = FactKind.GAP if stays else FactKind.LATE_START
                facts.append(Fact(kind, run, member, step))
        self._last = _place(columns, -1) if len(columns) else self._last
        return wrong

    def facts_of(self, entry: RunEntry) -> list[Fact]:
        """Return what is missing from a run after `look` was called with all its batches.

        The facts of the file's metadata come first. If they have a fact about a member, or name it
        as a member without steps, it is not reported as missing.
        """
        run_id = entry.run.run_id
        seen = {*self._streams.get(run_id, ()), *(fact.member_id for fact in entry.facts)}
        seen |= set(entry.run.without_steps)
        known = {(fact.kind, fact.member_id, fact.step) for fact in entry.facts}
        absent = (k for k in range(entry.run.member_count) if k not in seen)
        return [
            *entry.facts,
            *(Fact(FactKind.MISSING_STREAM, run_id, member_id) for member_id in absent),
            *(
                fact
                for fact in self._facts.get(run_id, ())
                if (fact.kind, fact.member_id, fact.step) not in known
            ),
        ]


def _place(columns: EventColumns, row: int) -> tuple[str, int, int]:
    return columns.runs[columns.run[row]], int(columns.member[row]), int(columns.step[row])


def read_runs(
    path: Path, only: Collection[str] | None = None
) -> Iterator[tuple[RunEntry, EventColumns | None]]:
    """Yield whole runs, each with its facts and its events. The events are None if it has none.

    Parameters
    ----------
    path
        A run folder, or a file of a data set.
    only
        The ids of the wanted runs in a file. Default: all.

    Raises
    ------
    TraceError
        If the path is neither a run folder nor a file of a data set.
    """
    parts: dict[str, list[EventColumns]] = {}
    if path.suffix != ".parquet" or path.is_dir():
        folder = RunFolder(path)
        parts[folder.run.run_id] = list(folder.columns())
        entries = [RunEntry(folder.run, tuple(folder.facts))]
    else:
        finder = FactFinder()
        with DatasetFile(path) as file:
            for columns in file.batches(only):
                finder.look(columns)
                for part in columns.split_runs():
                    parts.setdefault(part.runs[0], []).append(part)
            wanted = (one for one in file.runs.values() if only is None or one.run.run_id in only)
            entries = [RunEntry(one.run, tuple(finder.facts_of(one))) for one in wanted]
    for entry in entries:
        own = parts.get(entry.run.run_id)
        yield entry, join(own) if own else None
