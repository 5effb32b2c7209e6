"""The simple use: :func:`check` a specification, or keep settings in a :class:`Tlc`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from canvass.tlc.config import TlcConfig
from canvass.tlc.events import Event
from canvass.tlc.options import TlcOptions
from canvass.tlc.results import CheckResult
from canvass.tlc.runner import TlcRun, run


class Tlc:
    """TLC with settings that several runs share.

    Parameters
    ----------
    options
        Settings of every run; ``None`` is ``TlcOptions()``.
    changes
        Single settings by name, in place of those in ``options``.

    Raises
    ------
    OptionError
        When a setting is refused; see :class:`~canvass.tlc.options.TlcOptions`.
    TypeError
        When there is no setting of a name.
    """

    def __init__(self, options: TlcOptions | None = None, **changes: Any) -> None:
        self.options = replace(options or TlcOptions(), **changes)

    def run(
        self,
        spec: str | os.PathLike[str],
        config: str | os.PathLike[str] | TlcConfig | None = None,
        *,
        constants: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> TlcRun:
        """Prepare a run that streams its events; see :func:`~canvass.tlc.runner.run`."""
        return run(spec, config, replace(self.options, **changes), constants=constants)

    def check(
        self,
        spec: str | os.PathLike[str],
        config: str | os.PathLike[str] | TlcConfig | None = None,
        *,
        constants: Mapping[str, Any] | None = None,
        on_event: Callable[[Event], object] | None = None,
        **changes: Any,
    ) -> CheckResult:
        """Run to the end and return what was found; see :func:`check`."""
        with self.run(spec, config, constants=constants, **changes) as running:
            for event in running:
                if on_event is not None:
                    on_event(event)
            return running.result


def check(
    spec: str | os.PathLike[str],
    config: str | os.PathLike[str] | TlcConfig | None = None,
    *,
    constants: Mapping[str, Any] | None = None,
    on_event: Callable[[Event], object] | None = None,
    **options: Any,
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
        Settings by name: ``workers``, ``heap_mib``, ``timeout_s``, ``check_deadlock``,
        ``simulate``, ``seed``, ``coverage``; see :class:`~canvass.tlc.options.TlcOptions`.

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
    return Tlc(**options).check(spec, config, constants=constants, on_event=on_event)
