"""Kept answers of Aeron: the result of each canonical step, small enough for a repository.

A file holds the answers for one revision of the protocol, and names the releases that gave them. An
answer has 40 bits for a canonical state and input, and 16 bits for the result. With them a graph
can be compared with Aeron on a machine without Aeron. Each edge and each disabled input is
confirmed, contradicted, explained by a reviewed class of differences, or not among the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from canvass.aeron_driver import DriverError
from canvass.aeron_driver.comparison import RECORDING_LOG, field_names, reviewed_classes
from canvass.aeron_driver.drivable import GraphSteps, Requests, Rows
from canvass.aeron_driver.driving import Outcomes, Steps, joined
from canvass.graph.artifact import Graph
from canvass.steps.kernel import Status, StepColumns, canonical_keys, hash_cells, rules_digest
from canvass.traces.schema import LOG_COLUMNS, MEMBER_COLUMNS, MESSAGE_COLUMNS, NONE, STATE_COLUMNS

Keys = NDArray[np.uint64]

_CHUNK: Final = 1 << 17
OUTCOME_BITS: Final = 16
INPUT_BITS: Final = 40
UNKEYED: Final = 0
"""The hash of an outcome without a canonical form: the action may not change a changed field."""


def input_keys(graph: Graph, steps: Steps) -> Keys:
    """Give for each step a hash of 40 bits of its state and input."""
    out = np.empty(len(steps.source), dtype=np.uint64)
    for start in range(0, len(out), _CHUNK):
        rows = slice(start, start + _CHUNK)
        before, given = steps.source[rows], steps.given[rows]
        no_sends = np.zeros(len(given) + 1)
        keys, _ = _keys(graph, given, before, before, _states(graph), no_sends, None)
        out[rows] = keys[:, 0] >> np.uint64(64 - INPUT_BITS)
    return out


def outcome_hashes(graph: Graph, steps: Steps) -> Keys:
    """Give for each step a hash of 16 bits, never 0, of the step with the outcome of the spec."""
    out = np.empty(len(steps.source), dtype=np.uint64)
    for start in range(0, len(out), _CHUNK):
        rows = slice(start, start + _CHUNK)
        sent = steps.sent[rows]
        counts = np.diff(graph.send_offsets)[sent]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        first = np.repeat(graph.send_offsets[sent] - offsets[:-1], counts)
        sends = graph.sends[first + np.arange(offsets[-1])]
        keys, keyed = _keys(
            graph, steps.given[rows], steps.source[rows], steps.target[rows], _states(graph),
            offsets, sends,
        )  # fmt: skip
        assert keyed.all(), "a step of a graph has a canonical form"
        out[rows] = _hashed(keys)
    return out


def java_hashes(steps: GraphSteps, outcomes: Outcomes, rows: Rows) -> Keys:
    """Give the same hash for the outcomes of Java; `UNKEYED` for one without a canonical form."""
    graph, layout = steps.graph, steps.layout
    part = outcomes.steps[rows]
    after = _overlaid(steps, outcomes, rows)
    counts = outcomes.java_sends[rows, 0]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    sends = np.full((int(offsets[-1]), len(MESSAGE_COLUMNS)), -1, dtype=np.int64)
    width, row = 1 + layout.message_width, 0
    for cells, count in zip(outcomes.java_sends[rows], counts.tolist(), strict=True):
        for send in range(count):
            at = 1 + width * send
            sends[row, :2] = cells[at + 1], cells[at]
            sends[row, 3:] = cells[at + 2 : at + width]
            row += 1
    states = _appended(steps, after)
    first = len(graph.state)
    keys, keyed = _keys(
        graph, part.given, part.source, np.arange(first, first + len(rows)), states, offsets, sends
    )
    return np.where(keyed, _hashed(keys), np.uint64(UNKEYED))


def _hashed(keys: Any) -> Keys:
    found = keys[:, 1] & np.uint64((1 << OUTCOME_BITS) - 1)
    return np.asarray(np.maximum(found, np.uint64(1)))


def _states(graph: Graph) -> dict[str, Any]:
    return {
        "state": graph.state,
        "members": graph.members,
        "log_offsets": graph.log_offsets,
        "log": graph.log,
    }


def _keys(
    graph: Graph,
    given: Rows,
    before: Rows,
    after: Rows,
    states: dict[str, Any],
    send_offsets: Any,
    sends: Any,
) -> tuple[Any, NDArray[np.bool_]]:
    keys, status = canonical_keys(
        StepColumns(
            member=np.zeros(len(given), dtype=np.int64),
            action=graph.input_action[given],
            before=before,
            after=after,
            inputs=graph.inputs[given],
            message=graph.message[given],
            send_offsets=np.asarray(send_offsets, dtype=np.int64),
            sends=graph.sends[:0] if sends is None else sends,
            **states,
        ),
        [graph.rules],
    )
    # The keys of kept answers contain the size of the cluster, but not the digest of the rules.
    keys[:, 1] ^= np.uint64(rules_digest(graph.rules))
    keys ^= np.uint64(hash_cells([graph.rules.member_count])[0])
    return keys, status == Status.KEYED


def _overlaid(steps: GraphSteps, outcomes: Outcomes, rows: Rows) -> NDArray[Any]:
    """Give the spec's states after the steps with the differing values of Java."""
    layout = steps.layout
    after = steps.states[outcomes.steps.target[rows]].copy()
    differs = outcomes.state_differs[rows].copy()
    log = np.array([name == RECORDING_LOG for name in field_names(layout)])
    differs[:, log] = differs[:, log].any(axis=1, keepdims=True)
    after[differs] = outcomes.java[rows][differs]
    return after


def _appended(steps: GraphSteps, after: NDArray[Any]) -> dict[str, Any]:
    """Append states to the graph's states."""
    graph, layout = steps.graph, steps.layout
    lengths = after[:, layout.log]
    start = layout.log + 1
    entries = [
        cells[start : start + len(LOG_COLUMNS) * int(length)].reshape(-1, len(LOG_COLUMNS))
        for cells, length in zip(after, lengths.tolist(), strict=True)
    ]
    members = after[:, layout.records : layout.log].reshape(len(after), -1, len(MEMBER_COLUMNS))
    return {
        "state": np.concatenate([graph.state, after[:, : len(STATE_COLUMNS)]]).astype(np.int64),
        "members": np.concatenate([graph.members, members]).astype(np.int64),
        "log_offsets": np.concatenate(
            [graph.log_offsets, graph.log_offsets[-1] + np.cumsum(lengths)]
        ).astype(np.int64),
        "log": np.concatenate([graph.log, *entries]).astype(np.int64),
    }


SCHEMA: Final = "canvass.java-answers/2"
_OUTCOME_BITS: Final = np.uint64(OUTCOME_BITS)


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A release, and the graph whose steps it took."""

    release: str
    model: str
    edges: int
    disabled: int
    """Numbers of driven edges and of driven disabled inputs."""


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The first line of a file."""

    schema: Literal["canvass.java-answers/2"]
    revision: str
    sources: list[Source]
    answers: int
    explained: int
    classes: list[str]
    """Reviewed classes of differences, in the order of their codes."""


@dataclass(slots=True)
class KeptAnswers:
    """Answers in memory.

    Attributes
    ----------
    answers
        The hash of state and input in the upper bits, that of the outcome in the low 16 bits;
        sorted, each once.
    explained
        The same, with the spec's outcome, for steps that a reviewed class explains; sorted.
    classes
        For each of ``explained`` the code of its class.
    """

    header: Header
    answers: Keys
    explained: Keys
    classes: Any

    def save(self, path: Path) -> None:
        """Write the answers to a file."""
        header = msgspec.json.encode(self.header)
        deltas = np.diff(self.answers, prepend=np.uint64(0))
        planes = deltas.view(np.uint8).reshape(-1, 8).T.tobytes()
        rest = self.explained.tobytes() + np.asarray(self.classes, dtype=np.uint8).tobytes()
        packed = zstandard.ZstdCompressor(level=19).compress(planes + rest)
        path.write_bytes(header + b"\n" + packed)


def load_answers(path: Path) -> KeptAnswers:
    """Read kept answers.

    Raises
    ------
    DriverError
        If the file holds none.
    """
    try:
        head, _, packed = path.read_bytes().partition(b"\n")
        header = msgspec.json.decode(head, type=Header)
        content = zstandard.ZstdDecompressor().decompress(packed)
        end = 8 * header.answers
        middle = end + 8 * header.explained
        planes = np.frombuffer(content[:end], dtype=np.uint8).reshape(8, -1)
        deltas = np.ascontiguousarray(planes.T).view(np.uint64).ravel()
        explained = np.frombuffer(content[end:middle], dtype=np.uint64)
        classes = np.frombuffer(content[middle:], dtype=np.uint8)
        if len(classes) != header.explained:
            raise ValueError("the data end too early")
    except OSError as error:
        raise DriverError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, zstandard.ZstdError, ValueError) as error:
        raise DriverError(f"{path}: no kept answers of Aeron: {error}") from None
    return KeptAnswers(header, np.cumsum(deltas, dtype=np.uint64), explained, classes)


@dataclass(slots=True)
class AnswerCollector:
    """Observes a drive and keeps the answers of Aeron."""

    steps: GraphSteps
    _equal: list[Steps] = field(default_factory=list)
    _different: list[Steps] = field(default_factory=list)
    _java: list[Keys] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)

    def __call__(self, outcomes: Outcomes) -> None:
        """Keep the answers of a batch."""
        differ = outcomes.differ
        self._equal.append(outcomes.steps[~differ])
        rows = np.flatnonzero(differ)
        if len(rows):
            self._different.append(outcomes.steps[rows])
            self._java.append(java_hashes(self.steps, outcomes, rows))
            requests = Requests(self.steps.layout, outcomes.requests[rows])
            self._names += reviewed_classes(requests, self.steps.graph.rules.revision)

    def answers(self, release: str) -> KeptAnswers:
        """Give the answers."""
        graph = self.steps.graph
        equal = joined(self._equal)
        pairs = input_keys(graph, equal) << _OUTCOME_BITS | outcome_hashes(graph, equal)
        classes = sorted(set(self._names) - {""})
        explained, codes = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint8)
        if self._different:
            different = joined(self._different)
            inputs = input_keys(graph, different) << _OUTCOME_BITS
            pairs = np.concatenate([pairs, inputs | np.concatenate(self._java)])
            has = np.array([bool(name) for name in self._names])
            spec = (inputs | outcome_hashes(graph, different))[has]
            code = np.array([classes.index(name) for name in self._names if name], dtype=np.uint8)
            explained, first = np.unique(spec, return_index=True)
            codes = code[first]
        answers = np.unique(pairs)
        edges, disabled = (
            sum(int(((each.edge != NONE) == is_edge).sum()) for each in taken)
            for taken in [self._equal + self._different]
            for is_edge in (True, False)
        )
        source = Source(release, graph.manifest.model, edges, disabled)
        header = Header(
            SCHEMA, graph.rules.revision, [source], len(answers), len(explained), classes
        )
        return KeptAnswers(header, answers, explained, codes)


def merged(kept: Sequence[KeptAnswers]) -> KeptAnswers:
    """Merge the answers of several graphs or releases.

    Raises
    ------
    DriverError
        If two of them answer the same step differently, or are of different revisions.
    """
    revisions = sorted({each.header.revision for each in kept})
    if len(revisions) > 1:
        raise DriverError(f"answers of revisions {' and '.join(revisions)} are kept apart")
    for index, each in enumerate(kept):
        for other in kept[:index]:
            _need_agreement(each, other)
    answers = np.unique(np.concatenate([each.answers for each in kept]))
    classes = sorted({name for each in kept for name in each.header.classes})
    explained = np.concatenate([each.explained for each in kept])
    codes = np.concatenate(
        [
            np.array([classes.index(name) for name in each.header.classes], dtype=np.uint8)[
                each.classes
            ]
            if each.header.classes
            else each.classes
            for each in kept
        ]
    )
    explained, first = np.unique(explained, return_index=True)
    sources: dict[tuple[str, str], Source] = {}
    for each in kept:
        sources |= {(source.release, source.model): source for source in each.header.sources}
    header = Header(
        SCHEMA,
        revisions[0],
        [sources[key] for key in sorted(sources)],
        len(answers),
        len(explained),
        classes,
    )
    return KeptAnswers(header, answers, explained, codes[first].astype(np.uint8))


def _need_agreement(one: KeptAnswers, other: KeptAnswers) -> None:
    inputs = np.intersect1d(one.answers >> _OUTCOME_BITS, other.answers >> _OUTCOME_BITS)
    mine = one.answers[_isin(one.answers >> _OUTCOME_BITS, inputs)]
    theirs = other.answers[_isin(other.answers >> _OUTCOME_BITS, inputs)]
    # Steps with one canonical input may have several outcomes; a graph may have only some of them.
    strangers = np.setxor1d(mine, theirs) >> _OUTCOME_BITS
    both = np.intersect1d(mine, theirs) >> _OUTCOME_BITS
    if wrong := len(np.unique(strangers[~_isin(strangers, both)])):
        first, second = (
            ", ".join(sorted({source.release for source in each.header.sources}))
            for each in (one, other)
        )
        raise DriverError(f"Aeron {first} answers {wrong:,} steps otherwise than Aeron {second}")


def _isin(values: Keys, sorted_values: Keys) -> Any:
    if not len(sorted_values):
        return np.zeros(len(values), dtype=np.bool_)
    place = np.searchsorted(sorted_values, values)
    place[place == len(sorted_values)] = 0
    return sorted_values[place] == values
