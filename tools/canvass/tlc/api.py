"""The simple use: :func:`check` a specification."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from canvass.tlc.config import TlcConfig
from canvass.tlc.events import Event
from canvass.tlc.options import TlcOptions
from canvass.tlc.results import CheckResult
from canvass.tlc.runner import run


def check(
    spec: str | os.PathLike[str],
    config: str | os.PathLike[str] | TlcConfig | None = None,
    *,
    constants: Mapping[str, Any] | None = None,
    on_event: Callable[[Event], object] | None = None,
    options: TlcOptions | None = None,
    **changes: Any,
) -> CheckResult:
    """Check a specification with TLC and return what was found.

    Parameters
    ----------
    spec
        The root module, ``Name.tla``.
    config
        The configuration file, or its contents; ``None`` is ``Name.cfg`` beside the module.
    constants
        Python data or values, by name of the constant, in place of those in the configuration.
    on_event
        Called with each event while TLC runs; an exception from it ends the run.
    options
        Settings; ``None`` is ``TlcOptions()``.
    changes
        Single settings in their place, by name: ``workers``, ``heap_mib``, ``timeout_s``,
        ``check_deadlock``, ``simulate``, ``seed``, ``coverage``; see
        :class:`~canvass.tlc.options.TlcOptions`.

    Returns
    -------
    CheckResult
        Also when the specification is wrong in any way. A time limit is an outcome, too.

    Raises
    ------
    TlcError
        When TLC cannot be run: no Java, no jar, no such file, a refused setting or constant.
    KeyboardInterrupt
        On Ctrl-C, after TLC was killed.
    """
    given = replace(options or TlcOptions(), **changes)
    with run(spec, config, given, constants=constants) as running:
        for event in running:
            if on_event is not None:
                on_event(event)
        return running.result
