"""A kernel gives the same in plain Python and as machine code, and is compiled where that pays."""

from __future__ import annotations

import copy
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np
import pytest

from canvass.conformance import causality, safety_monitors, verify
from canvass.steps import compiled_loops
from canvass.steps import kernel as step_kernel
from canvass.steps.answers import StepLookup

KERNELS: dict[ModuleType, tuple[str, ...]] = {
    safety_monitors: ("replay_logs",),
    causality: ("match_receipts", "order_steps"),
    step_kernel: ("canonicalise",),
}


def compared(kernel: Callable[..., Any], calls: Counter[str]) -> Callable[..., Any]:
    """A kernel that runs in both forms and compares what they return and write."""
    code = cast(FunctionType, cast(Any, kernel).__wrapped__)

    def both(*args: Any) -> Any:
        calls[code.__name__] += 1
        other = [copy.deepcopy(value) if isinstance(value, np.ndarray) else value for value in args]
        found = compiled_loops.machine_code(code)(*other)
        result = cast(Any, kernel).plain(*args)
        for one, two in zip(args, other, strict=True):
            if isinstance(one, np.ndarray):
                np.testing.assert_array_equal(one, two)
        np.testing.assert_equal(result, found)
        return result

    return both


def test_both_forms_of_a_kernel_agree(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Counter[str]()
    for module, names in KERNELS.items():
        for name in names:
            monkeypatch.setattr(module, name, compared(getattr(module, name), calls))

    allowing = StepLookup(oracle=lambda _, steps: [True] * len(steps))
    verify.check_units([*verify.units_of([corpus])], allowing)

    assert set(calls) == {name for names in KERNELS.values() for name in names}


def test_a_kernel_is_compiled_once_it_has_had_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = list[str]()

    def machine_code(function: FunctionType) -> Callable[..., object]:
        compiled.append(function.__name__)
        return function

    monkeypatch.setattr(compiled_loops, "machine_code", machine_code)
    monkeypatch.setattr(compiled_loops, "ROWS_TO_COMPILE", 10)

    @compiled_loops.kernel("rows")
    def total(factor: int, rows: list[int]) -> int:
        return factor * sum(rows)

    assert [total(2, [1] * 5), total(2, [1] * 5)] == [10, 10]
    assert compiled == []
    assert total(2, [1]) == 2
    assert compiled == ["total"]


def test_without_numba_a_kernel_stays_plain_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(compiled_loops, "ROWS_TO_COMPILE", 10)
    monkeypatch.setattr(compiled_loops, "ROWS_TO_LOAD", 10)
    compiled_loops.has_numba.cache_clear()

    @compiled_loops.kernel("rows")
    def total(rows: list[int]) -> int:
        return sum(rows)

    try:
        assert total([1] * 10) == 10
        with pytest.warns(UserWarning, match="without numba: make setup-test"):
            assert total([1]) == 1
        assert total([1]) == 1
    finally:
        compiled_loops.has_numba.cache_clear()


def test_machine_code_on_disk_is_not_loaded_for_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = list[str]()

    def machine_code(function: FunctionType) -> Callable[..., object]:
        loaded.append(function.__name__)
        return function

    monkeypatch.setattr(compiled_loops, "machine_code", machine_code)
    monkeypatch.setattr(compiled_loops, "is_on_disk", lambda _: True)
    monkeypatch.setattr(compiled_loops, "ROWS_TO_LOAD", 10)

    @compiled_loops.kernel("rows")
    def total(rows: list[int]) -> int:
        return sum(rows)

    assert total([1] * 10) == 10
    assert loaded == []
    assert total([1]) == 1
    assert loaded == ["total"]


def test_plain_python_is_given_lists_of_what_it_only_reads() -> None:
    @compiled_loops.kernel("rows", lists=("rows",))
    def doubled(rows: Any, out: Any) -> str:
        for place in range(len(rows)):
            out[place] = 2 * rows[place]
        return type(rows).__name__

    out = np.zeros(2, np.int64)
    assert doubled(np.array([3, 4]), out) == "list"
    assert out.tolist() == [6, 8]
