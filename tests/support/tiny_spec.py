"""A spec folder with a manifest that TLC checks in a second, for tests of the command.

Each of two members may nominate itself and send that to the other one; a message may be lost. The
variables are those of the real spec: ``member`` by member, ``channel`` by sender and receiver.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any


def model(name: str, /, **changes: Any) -> dict[str, Any]:
    """One entry of the manifest, of a model that is expected to succeed, with changes."""
    entry = {"name": name, "module": "Tiny", "set": "ci", "expected": "success", "takes": "seconds"}
    return entry | changes


def write_tiny_spec(folder: Path) -> Path:
    """Write the modules, configurations and manifest into a folder and return it."""
    shutil.copytree(Path(__file__).with_name("tiny"), folder, dirs_exist_ok=True)
    return folder


def write_manifest(folder: Path, *models: dict[str, Any]) -> None:
    """Write a manifest of these entries."""
    (folder / "manifest.json").write_text(json.dumps({"models": models}))
