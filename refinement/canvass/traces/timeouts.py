"""The timeouts of a cluster: Aeron's properties, their notation, and the timeouts of a run.

``source.timeouts`` of ``run.json`` may have the timeouts of the members, each property with its
duration. Other timeouts have Aeron's defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import msgspec

from canvass.cluster.clocks import Timing
from canvass.traces.schema import Run, encode

ELECTION: Final = "aeron.cluster.election.timeout"
STATUS: Final = "aeron.cluster.election.status.interval"
STARTUP_CANVASS: Final = "aeron.cluster.startup.canvass.timeout"
HEARTBEAT_TIMEOUT: Final = "aeron.cluster.leader.heartbeat.timeout"
HEARTBEAT_INTERVAL: Final = "aeron.cluster.leader.heartbeat.interval"
TERMINATION: Final = "aeron.cluster.termination.timeout"

_FIELDS: Final = {
    ELECTION: "election_timeout_ns",
    STATUS: "election_status_interval_ns",
    STARTUP_CANVASS: "startup_canvass_timeout_ns",
    HEARTBEAT_TIMEOUT: "leader_heartbeat_timeout_ns",
    HEARTBEAT_INTERVAL: "leader_heartbeat_interval_ns",
    TERMINATION: "termination_timeout_ns",
}
DEFAULTS: Final = {name: int(getattr(Timing(), field)) for name, field in _FIELDS.items()}
"""Aeron's defaults, from ``ConsensusModule.Configuration``."""

_UNITS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_DURATION: Final = re.compile(r"([0-9]{1,12})(ns|us|ms|s)")
_KEY: Final = "timeouts"
CONFIG_FILE: Final = "config.json"
"""A file beside event logs: ``{"properties": {...}}``, the system properties of the members."""


class SettingFault(ValueError):
    """A timeout from the user is not valid."""


def parse_setting(text: str) -> tuple[str, int]:
    """Parse ``PROPERTY=DURATION``; the duration has a unit, as Aeron writes it.

    Raises
    ------
    SettingFault
        If the property is not a timeout, or the duration has no unit.
    """
    name, _, value = text.partition("=")
    if name not in DEFAULTS:
        near = get_close_matches(name, DEFAULTS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the timeouts are {', '.join(DEFAULTS)}"
        raise SettingFault(f"{name!r} is not a timeout; {hint}")
    return name, _duration_ns(value)


def _duration_ns(value: object) -> int:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise SettingFault(f"{value!r} is not a duration such as 500ms or 2s")
    return int(found[1]) * _UNITS[found[2]]


def duration_text(value_ns: int) -> str:
    """Return a duration as Aeron writes it, in the largest unit without a fraction."""
    unit = next(unit for unit in reversed(_UNITS) if value_ns % _UNITS[unit] == 0)
    return f"{value_ns // _UNITS[unit]}{unit}"


def settings_of(timing: Timing) -> dict[str, str]:
    """Return all timeouts as ``run.json`` has them."""
    return {name: duration_text(getattr(timing, field)) for name, field in _FIELDS.items()}


def named_in(properties: object) -> dict[str, int]:
    """Return the timeouts in a mapping of properties.

    Raises
    ------
    SettingFault
        If ``properties`` is not a mapping, or a timeout is not a duration.
    """
    if not isinstance(properties, Mapping):
        raise SettingFault("there are no properties")
    return {name: _duration_ns(properties[name]) for name in DEFAULTS if name in properties}


def timeouts_of(run: Run) -> dict[str, int]:
    """Return the timeouts of a run.

    Raises
    ------
    SettingFault
        If ``source.timeouts`` is no mapping, or has a timeout that is no duration.
    """
    return named_in(run.source.get(_KEY, {}))


def beside(logs: Path) -> dict[str, int]:
    """Return the timeouts in the ``config.json`` of a folder of event logs; none without that file.

    Raises
    ------
    SettingFault
        If a timeout is not a duration, or the file cannot be read or has another form.
    """
    path = logs / CONFIG_FILE
    try:
        found: Any = msgspec.json.decode(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise SettingFault(f"{path}: {error}") from None
    try:
        return named_in(found.get("properties", {}) if isinstance(found, dict) else found)
    except SettingFault as fault:
        raise SettingFault(f"{path}: {fault}") from None


def note_timeouts(run_file: Path, timeouts: Mapping[str, int]) -> None:
    """Write timeouts into a ``run.json``."""
    run = msgspec.json.decode(run_file.read_bytes(), type=Run)
    named = {name: duration_text(value_ns) for name, value_ns in timeouts.items()}
    run = msgspec.structs.replace(run, source={**run.source, _KEY: named})
    run_file.write_bytes(encode(run) + b"\n")
