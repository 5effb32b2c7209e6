"""TLC from Python: run it as a process, and read its output as typed events, results and values.

:func:`check` runs to the end and returns the result; :func:`run` yields the events. `parse` reads
values, `dump` reads state graphs, `config` reads and writes configurations.

What flows: a specification, a configuration and options in; events, results and values out. The
package must not know any particular specification, nor anything of Aeron.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from canvass.tlc.config import TlcConfig, parse_config
    from canvass.tlc.convert import to_itf_trace
    from canvass.tlc.dump import Dump, DumpEdge, DumpState, read_dump
    from canvass.tlc.errors import (
        ConfigError,
        DumpError,
        JarError,
        JavaError,
        OptionError,
        RunError,
        TlaValueError,
        TlcError,
        ValueSyntaxError,
    )
    from canvass.tlc.events import Event, TraceState, UserOutput
    from canvass.tlc.parse import join_values, parse_state, parse_value
    from canvass.tlc.programs import Jar, Java, find_jar, find_java
    from canvass.tlc.results import CheckResult, Outcome, Violation
    from canvass.tlc.runner import TlcRun, check, run
    from canvass.tlc.values import (
        Function,
        ModelValue,
        Value,
        format_value,
        function,
        ordered,
        sort_key,
    )
    from canvass.tlc.workspace import SHORT_RUN, TlcOptions

__all__ = [
    "SHORT_RUN",
    "CheckResult",
    "ConfigError",
    "Dump",
    "DumpEdge",
    "DumpError",
    "DumpState",
    "Event",
    "Function",
    "Jar",
    "JarError",
    "Java",
    "JavaError",
    "ModelValue",
    "OptionError",
    "Outcome",
    "RunError",
    "TlaValueError",
    "TlcConfig",
    "TlcError",
    "TlcOptions",
    "TlcRun",
    "TraceState",
    "UserOutput",
    "Value",
    "ValueSyntaxError",
    "Violation",
    "check",
    "find_jar",
    "find_java",
    "format_value",
    "function",
    "join_values",
    "ordered",
    "parse_config",
    "parse_state",
    "parse_value",
    "read_dump",
    "run",
    "sort_key",
    "to_itf_trace",
]

_MODULES: Final = "errors values config convert dump events parse programs results runner workspace"


def __getattr__(name: str) -> Any:
    """Load modules when a name of theirs is used: most verdicts need no TLC."""
    for module in _MODULES.split() if name in __all__ else ():
        if name in (found := vars(import_module(f"{__name__}.{module}"))):
            return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
