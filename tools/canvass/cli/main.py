"""The entry point: the list of command modules, and the end of every command.

A command module has ``register(app)``. It imports heavy packages (Spark, numba, pyarrow) only in
its functions, so that ``canvass --help`` stays instant. It raises ``typer.Exit(code)`` for an exit
code, and does not catch other errors: this module turns exceptions of ``canvass`` into one line.
"""

from __future__ import annotations

import inspect
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Final

import typer
from typer.core import TyperGroup

from canvass.cli.output import (
    EXIT_CLOSED_PIPE,
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    STDOUT_NAME,
    complain,
    write_text,
)
from canvass.traces.errors import file_named_in_errors
from canvass.version import VERSION, missing_extra

COMMAND_MODULES = {
    "doctor": "canvass.cli.doctor",
    "check": "canvass.cli.check",
    "distance": "canvass.cli.distance",
    "prove": "canvass.cli.check",
    "import": "canvass.cli.import_",
    "verify": "canvass.cli.verify",
    "explain": "canvass.cli.explain",
    "disks": "canvass.cli.disks",
    "trace": "canvass.cli.trace",
    "browse": "canvass.cli.browse",
    "batch": "canvass.cli.batch",
    "simulate": "canvass.cli.run",
    "run": "canvass.cli.run",
    "graph": "canvass.cli.graph",
    "replay": "canvass.cli.graph",
    "drive": "canvass.cli.drive",
    "selftest": "canvass.cli.doctor",
}
"""The sub-commands, in the order of ``canvass --help``, and the modules that register them."""
MAX_SIZE_DIGITS: Final = 4
"""Most digits of ``COLUMNS`` and ``LINES``: larger values are ignored."""


class _InOrder(TyperGroup):
    """Lists commands and groups of commands in one order; Typer lists groups last."""

    def list_commands(self, _: object) -> list[str]:
        """Give the names in the order of ``COMMAND_MODULES``."""
        return [name for name in COMMAND_MODULES if name in self.commands]


def build_app(first_word: str = "") -> typer.Typer:
    """Assemble the application from ``COMMAND_MODULES``.

    If the first word of the command line is a sub-command, only the module that registers it is
    imported, with what it uses of others.
    """
    app = typer.Typer(
        name="canvass",
        cls=_InOrder,
        help="Check models of Aeron Cluster's election and log replication, and check recorded"
        " runs of clusters against the specification.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def common(
        version: Annotated[
            bool,
            typer.Option(
                "--version", help="Print the version and exit.", is_eager=True, callback=_version
            ),
        ] = False,
    ) -> None:
        assert not version, "its callback has ended the command"

    asked = COMMAND_MODULES.get(first_word)
    for name in [asked] if asked else dict.fromkeys(COMMAND_MODULES.values()):
        import_module(name).register(app)
    _fill_paragraphs(app)
    return app


def _fill_paragraphs(app: typer.Typer) -> None:
    """Join the lines of each docstring's paragraphs, as the terminal breaks lines."""
    for command in app.registered_commands:
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _fill_paragraphs(group.typer_instance)


def _version(asked: bool) -> None:
    if asked:
        write_text(f"canvass {VERSION}\n")
        raise typer.Exit


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Parameters
    ----------
    arguments
        The words after ``canvass``; None for those of this process.

    Returns
    -------
    int
        The exit code. No exception of a command leaves this function.
    """
    _prepare_stdout()
    words = sys.argv[1:] if arguments is None else arguments
    if any(not word or (word.startswith("--") and word.endswith("=")) for word in words):
        # As a path, an empty argument is the current folder: another run could be checked.
        complain("an argument is empty: is a variable of the shell not set?")
        return EXIT_ERROR
    warnings.showwarning = lambda message, *_: complain(f"warning: {message}")
    for name in ("COLUMNS", "LINES"):
        if not (size := os.environ.get(name, "")).isascii() or len(size) > MAX_SIZE_DIGITS:
            del os.environ[name]
    try:
        code = build_app(*words[:1])(args=arguments, prog_name="canvass", standalone_mode=False)
        with file_named_in_errors(STDOUT_NAME):
            sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        complain("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has gone, as `| head` does; the flush at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CLOSED_PIPE
    except SystemExit as ended:
        # Typer exits with 1 if the reader of stdout goes away. A failed check has the same code.
        if ended.code == 1:
            return EXIT_CLOSED_PIPE
        if ended.code == EXIT_TERMINATED:
            complain("terminated")
        return ended.code if isinstance(ended.code, int) else EXIT_ERROR
    except Exception as error:  # noqa: BLE001 - the one place where errors become lines
        return _explain(error)
    if code == EXIT_INTERRUPTED:
        complain("interrupted")  # Typer has set the exit code, but written no line.
    return code if isinstance(code, int) else 0


def _prepare_stdout() -> None:
    if sys.stdout is None:  # The shell closed it, as `>&-` does.
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # A locale may lack the characters of lanes.


def main() -> None:
    """Run the command line of this process and exit with its code.

    SIGTERM ends a command as Ctrl-C does: its temporary files are removed, and its Java ends.
    """
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run())


def _terminate(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # A second one would stop the removal.
    raise SystemExit(EXIT_TERMINATED)


def _explain(error: Exception) -> int:
    if os.environ.get("CANVASS_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    usage = getattr(error, "format_message", None)  # An error of typer: a wrong command line.
    if callable(usage):
        if usage():  # Empty without a command: then typer has shown the help.
            command = getattr(getattr(error, "ctx", None), "command_path", "canvass")
            # Pydantic names the class of an error; it says nothing to a user.
            text = str(usage()).replace(": Value error, ", ": ")
            if getattr(error, "option_name", None) == "--json":
                text = "No such option: --json; write --format json"
            complain(f"{text} (see `{command} --help`)")
    elif type(error).__module__.partition(".")[0] == "canvass":
        complain(str(error))
    elif isinstance(error, ModuleNotFoundError) and missing_extra(error):
        complain(missing_extra(error))
    elif isinstance(error, OSError) and error.strerror:
        # For a copy, both files: it is unknown which one failed.
        places = [str(one) for one in (error.filename, error.filename2) if one is not None]
        complain(": ".join(filter(None, [" -> ".join(places), error.strerror])))
    else:
        complain(
            f"this is a bug in canvass: {type(error).__name__}: {error}"
            " (CANVASS_TRACEBACK=1 prints the traceback)"
        )
    return EXIT_ERROR


if __name__ == "__main__":
    main()
