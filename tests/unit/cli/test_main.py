"""However a command ends, it ends in an exit code and at most one line."""

from __future__ import annotations

import inspect
import os
import re
import signal
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

from canvass.cli import main
from canvass.cli.output import complain
from canvass.spec.files import SpecError
from canvass.tlc.errors import TlcError
from support.aeron_runs import SAMPLES
from support.interrupting import heed_interrupts


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Make ``canvass fail`` raise an exception."""

    def install(error: BaseException) -> None:
        module = types.ModuleType("failing_command")

        def register(app: typer.Typer) -> None:
            @app.command("fail")
            def fail() -> None:
                raise error

        module.register = register  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "failing_command", module)
        monkeypatch.setattr(main, "COMMAND_MODULES", {"fail": "failing_command"})

    return install


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (SpecError("the manifest\nis wrong"), 2, "canvass: the manifest is wrong"),
        (TlcError("no Java: install it"), 2, "canvass: no Java: install it"),
        (FileNotFoundError(2, "No such file", "absent.json"), 2, "absent.json: No such file"),
        (OSError(28, "No space left on device"), 2, "canvass: No space left on device"),
        (OSError(28, "No space left", "a", None, "b"), 2, "canvass: a -> b: No space left"),
        (ZeroDivisionError("by zero"), 2, "this is a bug in canvass: ZeroDivisionError"),
        (KeyboardInterrupt(), 130, "canvass: interrupted"),
        (typer.Exit(3), 3, ""),
    ],
)
def test_an_exception_becomes_a_line_and_a_code(
    raising: Callable[[BaseException], None],
    command: Callable[..., tuple[int, str, str]],
    error: BaseException,
    code: int,
    line: str,
) -> None:
    raising(error)
    ended, out, err = command("fail")

    assert (ended, out) == (code, "")
    assert line in err
    assert err.count("\n") == (1 if line else 0)


def test_a_traceback_is_shown_only_when_asked_for(
    raising: Callable[[BaseException], None],
    command: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raising(ZeroDivisionError("by zero"))
    monkeypatch.setenv("CANVASS_TRACEBACK", "1")

    assert "Traceback" in command("fail")[2]


def test_a_module_of_an_extra_that_is_not_installed_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy.sparse")

    monkeypatch.setattr(main, "build_app", without)

    assert main.run(["graph"]) == 2
    assert capsys.readouterr().err == ("canvass: scipy is not installed: make setup-test\n")


@pytest.mark.parametrize(
    ("own", "typed"),
    [("env/bin/canvass", "env/bin/canvass"), ("on/canvass", "canvass"), ("pytest", "canvass")],
)
def test_a_hint_has_the_word_that_was_typed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    own: str,
    typed: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"/bin:{tmp_path / 'on'}")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / own)])
    complain("say `canvass check`")

    assert capsys.readouterr().err == f"canvass: say `{typed} check`\n"


def test_the_help_lists_the_commands_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == 0

    listed = re.findall(r"^│ (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert [name for name in listed if name in main.COMMAND_MODULES] == [*main.COMMAND_MODULES]


def test_a_closed_stdout_changes_no_exit_code() -> None:
    command = [sys.executable, "-m", "canvass.cli.main", "check", "--list"]
    shell = ["sh", "-c", '"$@" >&-', "sh", *command]
    done = subprocess.run(shell, stderr=subprocess.PIPE, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("words", [["--help"], ["check", "--list"]])
def test_a_reader_that_has_gone_is_not_complained_of(words: list[str]) -> None:
    """As with `| head`: neither here nor when Python ends, and not as if a check had failed."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "canvass.cli.main", *words],
            check=False,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(writing)

    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    ("module", "ending"),
    [
        pytest.param("typer", (-signal.SIGINT, ""), id="of the command line"),
        pytest.param("canvass.cli.doctor", (130, "canvass: interrupted\n"), id="of a command"),
    ],
)
def test_an_interrupt_while_modules_are_imported_ends_the_process(
    module: str, ending: tuple[int, str]
) -> None:
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from aeron_canvass import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=heed_interrupts,
    )

    assert ((done.returncode, done.stderr), done.stdout) == (ending, "")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["explain", str(SAMPLES[0])], "standard output"),
        (["explain", str(SAMPLES[0]), "--format", "json"], "standard output"),
        (["check", "--list"], "standard output"),
        (["--version"], "standard output"),
        (["verify", str(SAMPLES[0]), "--html", "/dev/full"], "/dev/full"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(words: list[str], name: str) -> None:
    full = "/dev/full" if name == "standard output" else os.devnull
    with Path(full).open("w") as target:
        done = subprocess.run(
            [sys.executable, "-m", "canvass.cli.main", *words],
            stdout=target,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert (done.returncode, done.stderr) == (2, f"canvass: {name}: No space left on device\n")


def test_a_termination_leaves_nothing_beside_the_result(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from canvass.traces.alignment import importer;"
        "importer._import = lambda *_: os.kill(os.getpid(), signal.SIGTERM);"
        f"sys.argv[1:] = ['import', 'aeron', {str(SAMPLES[0])!r}, '--out', 'new'];"
        "from canvass.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=False, capture_output=True, text=True
    )

    assert (done.returncode, done.stdout) == (143, "")
    assert done.stderr.splitlines()[-1] == "canvass: terminated"
    assert list(tmp_path.iterdir()) == []


def test_help_imports_nothing_heavy() -> None:
    """A module that takes long to import is imported by the command that needs it."""
    code = (
        "import sys; from canvass.cli.main import run; run(['--help']);"
        "heavy = {'pyspark', 'pandas', 'numba', 'numpy', 'pyarrow', 'networkx', 'starlette'};"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert "doctor" in done.stdout


def test_a_path_that_is_not_there_is_refused_before_what_would_read_it_is_imported(
    tmp_path: Path,
) -> None:
    lines = (
        *("explain none", "verify none", "import aeron none --out new", "disks none"),
        *("browse none", "graph stats none", "graph find none", "replay none none"),
        *("trace show none", "trace shrink none --out new"),
    )
    code = (
        "import sys; from canvass.cli.main import run\n"
        f"for line in {lines}:\n"
        "    code = run(line.split())\n"
        "    heavy = {'numba', 'numpy', 'pyarrow', 'rich', 'starlette'} & set(sys.modules)\n"
        "    print(line, code, *sorted(heavy), sep='; ')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=False, capture_output=True, text=True
    )

    assert done.stderr == "canvass: none: there is no such file or folder\n" * len(lines)
    assert done.stdout.splitlines() == [f"{line}; 2" for line in lines]


def test_each_sub_command_is_registered_by_the_module_that_the_table_names() -> None:
    for command, module in main.COMMAND_MODULES.items():
        alone = typer.main.get_command(main.build_app(command))
        assert command in alone.list_commands(None), module  # type: ignore[attr-defined]
    every = typer.main.get_command(main.build_app())
    assert set(every.list_commands(None)) == set(main.COMMAND_MODULES)  # type: ignore[attr-defined]


def test_a_command_imports_no_other_command() -> None:
    code = (
        "from canvass.cli.main import run; run(['verify', '-h']); import sys; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.splitlines()[-1].split())
    assert "canvass.cli.verify" in loaded
    assert not loaded & {"canvass.cli.check", "asyncio", "http.server", "numpy", "pyarrow"}


def documented(app: typer.Typer, *path: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each command with the docstring of its function."""
    for command in app.registered_commands:
        yield (*path, command.name or ""), inspect.getdoc(command.callback) or ""
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from documented(group.typer_instance, *path, str(group.name))


def test_help_has_each_word_of_a_command_in_lines_as_wide_as_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text in brackets is not taken for a style."""
    monkeypatch.setenv("COLUMNS", "300")
    commands = list(documented(main.build_app()))
    assert len(commands) >= 20
    for words, text in commands:
        assert main.run([*words, "--help"]) == 0
        shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
        whole = " ".join(shown)
        for paragraph in text.split("\n\n"):
            assert " ".join(paragraph.split()) in (shown if len(paragraph) < 290 else whole)


def test_help_on_a_narrow_terminal_breaks_no_list_of_choices_and_names_arguments_alike(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words, _ in documented(main.build_app()):
        assert main.run([*words, "--help"]) == 0
        shown = capsys.readouterr().out
        usage = re.split(r"\n *\n", shown.split("[OPTIONS]", 1)[1])[0]
        assert not re.search(r"\[\[|[a-z]", usage), words
        assert not re.search(r"<[^<> ]*\|[^<> ]* ", shown), words
