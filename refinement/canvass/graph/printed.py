"""From the lines that ``MCMemberGraph.tla`` prints to rows of integers.

The box above ``PrintLine`` in that module says what the lines are. Nothing here runs TLC or writes
a file. States, inputs and sends are numbered as they come; `canvass.graph.build` gives them an
order that does not depend on TLC.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Final

from canvass.cluster.messages import MESSAGE_TYPES, NULL_VALUE
from canvass.graph.errors import GraphError
from canvass.traces.actions import ACTIONS
from canvass.traces.layout import INPUT_COLUMNS, LOG_COLUMNS, MEMBER_COLUMNS, STATE_COLUMNS

Cells = tuple[int, ...]

NO_TARGET: Final = -1
"""The target of an edge that stands for an input which does not enable the action."""

_INPUT, _STATE, _RESULTS, _DISABLED, _OUTCOME = range(5)
_NOT_ENABLED, _NO_CHANGE, _CHANGE, _NOT_ASKED = range(4)
_NO_BRACKETS: Final = str.maketrans("", "", '<> "')
_MESSAGE_SIZES: Final = tuple(1 + len(kind.__struct_fields__) for kind in MESSAGE_TYPES)


def cells_of(line: str) -> list[int]:
    """Read one printed line: a string that holds a tuple of integers, nested in any way.

    Raises
    ------
    GraphError
        If it is anything else.
    """
    try:
        return [int(cell) for cell in line.translate(_NO_BRACKETS).split(",") if cell]
    except ValueError:
        raise GraphError(f"TLC printed a line that is no edge: {ascii(line)[:60]}") from None


def message_end(cells: Cells | list[int], start: int) -> int:
    """Give the place after the message that begins at ``start``."""
    code = cells[start]
    return start + (1 if code == NULL_VALUE else _MESSAGE_SIZES[code])


@dataclass(slots=True)
class PrintedGraph:
    """A graph as it is being printed.

    Attributes
    ----------
    states
        Number by cells of a state: single fields, records, length of the log, entries.
    sends
        Number by cells of what a step sends: how many, then each as receiver and message.
    inputs
        The action's code and the cells of the input, by number.
    expanded
        Numbers of the states whose steps were tried.
    disabled
        For each of ``expanded``, the mask of the actions that no input enables.
    source, input, target, sent
        One place for each input that was tried: numbers of state, input, state and sends.
        ``NO_TARGET`` if the input does not enable the action.
    """

    member_count: int
    states: dict[Cells, int] = field(default_factory=dict)
    sends: dict[Cells, int] = field(default_factory=lambda: {(0,): 0})
    inputs: list[Cells] = field(default_factory=list)
    expanded: list[int] = field(default_factory=list)
    disabled: list[int] = field(default_factory=list)
    source: array[int] = field(default_factory=lambda: array("i"))
    input: array[int] = field(default_factory=lambda: array("i"))
    target: array[int] = field(default_factory=lambda: array("i"))
    sent: array[int] = field(default_factory=lambda: array("i"))
    _numbers: list[list[int]] = field(default_factory=lambda: [[] for _ in ACTIONS])
    _open: dict[int, int] = field(default_factory=dict)
    """The inputs that still await their outcome, by their place, with the place in ``target``."""

    def feed(self, line: str) -> None:
        """Take one line of the specification's output; lines of other kinds are passed over."""
        if not line.startswith('"<<'):
            return
        cells = cells_of(line)
        kind = cells[0]
        if kind == _OUTCOME:
            self._add_outcome(cells)
        elif kind == _RESULTS:
            self._add_results(cells[1], cells[2:])
        elif kind == _DISABLED:
            self._need_state()
            self.disabled[-1] |= 1 << cells[1]
        elif kind == _STATE:
            self._add_state(cells)
        elif kind == _INPUT:
            self._add_input(cells)
        else:
            raise GraphError(f"TLC printed a line of an unknown kind: {ascii(line)[:60]}")

    def close(self) -> None:
        """Check that nothing is missing at the end."""
        if self._open:
            raise GraphError("TLC printed fewer outcomes than it announced")

    def _need_state(self) -> None:
        if not self.expanded:
            raise GraphError("TLC printed a result before the state that it is of")

    def _add_input(self, cells: list[int]) -> None:
        action, place = cells[1], cells[2]
        if place != len(self._numbers[action]) or len(cells) <= 3 + len(INPUT_COLUMNS):
            raise GraphError("TLC printed the inputs out of order")
        self._numbers[action].append(len(self.inputs))
        self.inputs.append((action, *cells[3:]))

    def _add_state(self, cells: list[int]) -> None:
        self.close()
        end = self._state_end(cells, 1)
        if end != len(cells):
            raise GraphError("TLC printed a state of another size than it should have")
        self.expanded.append(self._number(tuple(cells[1:])))
        self.disabled.append(0)

    def _add_results(self, action: int, results: list[int]) -> None:
        self._need_state()
        self.close()
        numbers = self._numbers[action]
        if len(results) != len(numbers):
            raise GraphError(f"TLC printed {len(results)} results for {len(numbers)} inputs")
        state = self.expanded[-1]
        for place, (number, result) in enumerate(zip(numbers, results, strict=True)):
            if result == _NOT_ASKED:
                continue
            if result == _CHANGE:
                self._open[place] = len(self.target)
            self.source.append(state)
            self.input.append(number)
            self.target.append(state if result == _NO_CHANGE else NO_TARGET)
            self.sent.append(0)

    def _add_outcome(self, cells: list[int]) -> None:
        place = self._open.pop(cells[1], None)
        if place is None:
            raise GraphError("TLC printed an outcome that it did not announce")
        end = self._state_end(cells, 2)
        self.target[place] = self._number(tuple(cells[2:end]))
        sent = tuple(cells[end:])
        self.sent[place] = self.sends.setdefault(sent, len(self.sends))

    def _state_end(self, cells: list[int], start: int) -> int:
        length = start + len(STATE_COLUMNS) + len(MEMBER_COLUMNS) * self.member_count
        if length >= len(cells):
            raise GraphError("TLC printed a state that is cut off")
        return length + 1 + len(LOG_COLUMNS) * cells[length]

    def _number(self, cells: Cells) -> int:
        return self.states.setdefault(cells, len(self.states))
