"""The cluster of cores driven at random, under the name that tests import."""

from __future__ import annotations

from canvass.selftest.driven import DrivenCluster, record_run

__all__ = ["DrivenCluster", "record_run"]
