"""Real runs of TLC: verdicts, streaming, constants, dumps, and their files."""

from __future__ import annotations

import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canvass.tlc.config import TlcConfig, from_python, given
from canvass.tlc.errors import ConfigError, TlcError
from canvass.tlc.output import DumpEdge, DumpState, Event, InitialStates, read_dump
from canvass.tlc.programs import find_java
from canvass.tlc.results import CheckResult, Outcome
from canvass.tlc.runner import SHORT_RUN, TlcOptions, TlcRun, check
from canvass.tlc.values import ModelValue, Value, format_value, parse_state, parse_value
from support.tlc_cases import CASES, FIXTURES, SHAPES, SIMPLE, SPECS, counter
from support.tlc_reading import EXIT_CODES, interpret, recorded

pytestmark = pytest.mark.tlc

SHORT = TlcOptions(heap_mib=256, jvm_args=SHORT_RUN)


def summary(result: CheckResult) -> list[Any]:
    trace = [{name: format_value(v) for name, v in s.values.items()} for s in result.trace]
    actions = [state.action for state in result.trace]
    loop = result.violations[0].loop if result.violations else None
    numbers = [result.generated, result.distinct, result.queue, result.depth]
    return [result.outcome, result.violated, loop, *numbers, actions, trace]


@pytest.mark.parametrize("name", ["liveness", "safety_symmetric", "stuttering", "semantic"])
def test_a_run_is_read_like_its_recording(name: str) -> None:
    case = CASES[name]
    known = interpret(recorded(name), EXIT_CODES[name], properties=case.config.properties)

    with case.start() as running:
        result = running.wait()

    assert summary(result) == summary(known)
    assert (result.exit_code, result.message) == (known.exit_code, known.message)


def test_one_run_gives_verdict_and_graph_and_touches_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "read only: a folder"
    folder.mkdir()
    for suffix in ("tla", "cfg"):
        (folder / f"Lights.{suffix}").write_bytes((SPECS / f"Lights.{suffix}").read_bytes())
    folder.chmod(0o555)

    options = replace(SHORT, dump=tmp_path / "lights.dot")
    with TlcRun(folder / "Lights.tla", None, options) as running:
        seen: list[Event] = list(running)
    result, argv = running.result, running.argv

    assert (result.outcome, result.distinct, result.depth) == (Outcome.SUCCESS, 63, 6)
    assert result.tlc_version == "2.15"
    assert InitialStates(1) in seen
    assert sorted(file.name for file in folder.iterdir()) == ["Lights.cfg", "Lights.tla"]
    # One polynomial, one specification: the same ids in the same order as when it was recorded.
    assert list(map(graph_line, read_dump(tmp_path / "lights.dot"))) == list(
        map(graph_line, read_dump(FIXTURES / "lights.dot"))
    )
    assert argv[-3:] == ("-config", "model.cfg", "Lights.tla")
    assert not Path(argv[argv.index("-metadir") + 1]).exists()


def graph_line(item: DumpState | DumpEdge) -> tuple[Any, ...]:
    if isinstance(item, DumpEdge):
        return (item.source, item.target, item.action)
    return (item.id, item.text)


def test_values_of_every_kind_are_read_as_they_were_written(tmp_path: Path) -> None:
    m1 = ModelValue("m1")
    thing = from_python(
        {
            "any": {(1, -1): {"x", "y"}, (): set()},
            "deep": [{"a": {m1, ModelValue("m2")}}, {m1: 'q"uo \\ b\n\t@@ :>'}, 1 - 2**31],
            "none": {},
            "sets": {frozenset({1, 2}), frozenset()},
        }
    )

    result = check(
        *given(SPECS / "Shapes.tla", SHAPES, {"Thing": thing}, tmp_path),
        library=(SPECS,),
        dump=tmp_path / "s.dot",
        options=SHORT,
    )

    assert result.ok, result.message
    (state,) = (item for item in read_dump(tmp_path / "s.dot") if isinstance(item, DumpState))
    assert parse_state(state.text)["given"] == from_python((thing, 2**31 - 1, -(2**31), True))


PRINTER = r"""
---- MODULE Printer ----
EXTENDS Integers, TLC, Helper
VARIABLE n
Init == n = 0 /\ \A i \in 1..Count : PrintT(<<"edge", i, [from |-> {i}, to |-> "x"]>>)
Next == n' = n
====
"""


def test_much_output_is_streamed_and_not_kept(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "Helper.tla").write_text("---- MODULE Helper ----\nCount == 10000\n====\n")
    (tmp_path / "Printer.tla").write_text(PRINTER)
    count = 0
    last: Value = 0

    options = replace(SHORT, library=(library,))
    with TlcRun(tmp_path / "Printer.tla", SIMPLE, options) as running:
        tracemalloc.start()
        for value in running.printed_values():
            count, last = count + 1, value
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert running.result.ok
    assert (count, last) == (
        10000,
        parse_value('<<"edge", 10000, [from |-> {10000}, to |-> "x"]>>'),
    )
    # The text alone has 0.5 MB, and its values ten times that; the memory of atoms is bounded.
    assert peak < 5_000_000


@pytest.mark.parametrize("kind", ["folder", "jar"])
def test_the_environment_names_folders_and_jars_of_modules(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A jar has its modules at the top; those of the specification's own folder come first."""
    helper = "---- MODULE Helper ----\nCount == 3\n====\n"
    library = tmp_path / ("library" if kind == "folder" else "library.jar")
    if kind == "folder":
        library.mkdir()
        (library / "Helper.tla").write_text(helper)
    else:
        with zipfile.ZipFile(library, "w") as jar:
            jar.writestr("Helper.tla", helper)
            jar.writestr("inside/Printer.tla", "no module")
    (tmp_path / "Printer.tla").write_text(PRINTER)
    monkeypatch.setenv("CANVASS_TLA_LIBRARY", f"{tmp_path}:{library}")
    with TlcRun(tmp_path / "Printer.tla", SIMPLE, SHORT) as running:
        printed = list(running.printed_values())

    assert running.result.ok
    assert len(printed) == 3


@pytest.mark.parametrize("name", ["no/such", "text.jar"])
def test_a_library_that_is_neither_a_folder_nor_a_jar_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.jar").write_text("no jar")
    (tmp_path / "Printer.tla").write_text(PRINTER)
    monkeypatch.setenv("CANVASS_TLA_LIBRARY", str(tmp_path / name))
    with pytest.raises(TlcError, match=f"CANVASS_TLA_LIBRARY: .*{name}' is neither"):
        TlcRun(tmp_path / "Printer.tla", SIMPLE, SHORT)


def test_a_folder_of_modules_with_a_colon_is_refused(tmp_path: Path) -> None:
    """TLC separates folders by it, and would not find the modules."""
    library = tmp_path / "a:b"
    library.mkdir()
    (tmp_path / "Printer.tla").write_text(PRINTER)
    with pytest.raises(TlcError, match=r"a folder with ':': .*a:b'"):
        TlcRun(tmp_path / "Printer.tla", SIMPLE, TlcOptions(library=(library,)))


def launch_java_by(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Make a script the launcher of Java."""
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(f"#!/bin/sh\n{script}\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(folder))


def test_warnings_of_java_are_not_lines_of_tlc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java warns if it should use large pages and the machine has none."""
    (tmp_path / "Helper.tla").write_text("---- MODULE Helper ----\nCount == 3\n====\n")
    (tmp_path / "Printer.tla").write_text(PRINTER)
    words = "-XX:+UseLargePages -XX:LargePageSizeInBytes=3"
    launch_java_by(tmp_path, monkeypatch, f'exec {find_java().path} {words} "$@"')

    options = SHORT
    with TlcRun(tmp_path / "Printer.tla", SIMPLE, options) as running:
        values = list(running.printed_values())

    assert running.result.ok
    assert len(values) == 3
    assert not running.foreign_lines


def test_another_line_than_the_specification_prints_is_not_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Helper.tla").write_text("---- MODULE Helper ----\nCount == 3\n====\n")
    (tmp_path / "Printer.tla").write_text(PRINTER)
    line = "[0.731s][warning][os,thread] Failed to start thread"
    edited = f"sed '/<<\"edge\", 1,/i {line}'"
    script = f'{find_java().path} "$@" | {edited}\nexit ${{PIPESTATUS:-0}}'
    launch_java_by(tmp_path, monkeypatch, script)

    with TlcRun(tmp_path / "Printer.tla", SIMPLE, SHORT) as running:
        values = list(running.printed_values())

    assert running.result.ok
    assert len(values) == 3
    assert list(running.foreign_lines) == [line]


def test_a_simulation_with_a_seed_is_a_success() -> None:
    case = CASES["simulation"]

    with case.start() as running:
        result = running.wait()

    assert (result.outcome, result.seed, result.distinct) == (Outcome.SUCCESS, 1, None)


def test_a_specification_without_a_behaviour_is_reported(tmp_path: Path) -> None:
    text = "---- MODULE Empty ----\nVARIABLE n\nInit == n \\in {}\nNext == n' = n\n====\n"
    (tmp_path / "Empty.tla").write_text(text)

    result = check(tmp_path / "Empty.tla", SIMPLE, options=SHORT)

    assert (result.outcome, result.distinct) == (Outcome.SUCCESS, 0)
    assert result.warnings == (
        "No state satisfies the initial predicate: no behaviour was checked.",
    )


def test_a_hostile_environment_does_not_reach_java(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.setenv(name, "-Xmx1")
    monkeypatch.setenv("CLASSPATH", "no/such.jar")

    result = check(SPECS / "Counter.tla", heap_mib=256)

    assert result.ok, result.message
    assert result.output == ()


def test_a_jar_with_a_broken_tlc_is_a_system_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "odd.jar", "w") as archive:
        archive.writestr("tlc2/TLC.class", b"\xca\xfe\xba\xbe")

    monkeypatch.setenv("CANVASS_TLA2TOOLS", str(tmp_path / "odd.jar"))
    result = check(SPECS / "Counter.tla", options=SHORT)

    assert result.outcome is Outcome.SYSTEM_ERROR
    assert result.message.startswith("TLC said nothing (exit code 1): ")


@pytest.mark.parametrize(
    ("spec", "config", "reason"),
    [
        ("-deadlock.tla", None, "must not begin with '-'"),
        ("Counter.tla", "-config.cfg", "must not begin with '-'"),
        ("Missing.tla", None, "does not exist"),
        ("Counter.tla", "Missing.cfg", "does not exist"),
        ("Broken.tla", None, "configuration does not exist"),
        ("Counter.cfg", None, "is named Name.tla"),
        ("a b.tla", "Counter.cfg", "is named Name.tla"),
        ("Counter.tla\n", "Counter.cfg", "does not exist"),
    ],
)
def test_invalid_file_names_are_refused(
    tmp_path: Path, spec: str, config: str | None, reason: str
) -> None:
    for name in ("Counter.tla", "Counter.cfg", "Broken.tla"):
        (tmp_path / name).write_bytes((SPECS / name).read_bytes())
    (tmp_path / "a b.tla").write_text("")

    with pytest.raises(TlcError) as caught:
        TlcRun(tmp_path / spec, config and tmp_path / config, SHORT)

    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_program_is_an_error_before_any_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANVASS_TLA2TOOLS", str(tmp_path / "no.jar"))
    with pytest.raises(TlcError):
        TlcRun(SPECS / "Counter.tla", None, SHORT)
    monkeypatch.delenv("CANVASS_TLA2TOOLS")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(TlcError):
        TlcRun(SPECS / "Counter.tla", None, SHORT)


def test_a_result_exists_only_at_the_end() -> None:
    options = SHORT
    with (
        TlcRun(SPECS / "Counter.tla", counter(), options) as running,
        pytest.raises(TlcError, match="not finished"),
    ):
        _ = running.result

    assert running.result.outcome is Outcome.INTERRUPTED
    assert running.result.exit_code is None
    running.close()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Init == x = 0 /\\ x\u2019 = 1", "column 19: unexpected character \u2019 (U+2019)"),
        ('Init == x = "abc', "column 17: unexpected end of the line"),
        ("Init == x = 1 (* open", "possibly open comment starting around line 3"),
        ("Init == x = ) /\\ TRUE", 'Encountered ")" at line 3, column 13'),
        ("Init == x = Unknown", "Unknown operator: `Unknown'"),
    ],
    ids=["lexical", "string", "comment", "syntax", "name"],
)
def test_the_reason_of_a_parse_error_has_file_and_place(
    tmp_path: Path, line: str, reason: str
) -> None:
    spec = tmp_path / "Lex.tla"
    spec.write_text(f"---- MODULE Lex ----\nVARIABLE x\n{line}\n====\n", encoding="utf-8")
    result = check(spec, TlcConfig(init="Init", next="Init"))

    assert result.outcome is Outcome.PARSE_ERROR
    assert result.message.startswith("Lex.tla:")
    assert reason in result.message
    assert "Could not parse" not in result.message


@pytest.mark.parametrize("keyword", ["alias", "postcondition"])
def test_what_the_packaged_tlc_does_not_have_is_refused_by_name(keyword: str) -> None:
    changed: dict[str, Any] = {keyword: "Also"}
    config = replace(TlcConfig(init="Init", next="Next"), **changed)

    with pytest.raises(ConfigError, match=rf"{keyword.upper()} Also.*CANVASS_TLA2TOOLS"):
        check(SPECS / "Counter.tla", config)
