"""The naming rule of traces, which is that of the core: `canvass.cluster.names` has it."""

from __future__ import annotations

from canvass.cluster.names import wire_name

__all__ = ["wire_name"]
