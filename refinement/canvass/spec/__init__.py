"""The TLA+ spec as data: its files, and the results that its manifest expects of each model.

Nothing here starts TLC or reads TLA+ beyond the comment box of a definition. The files are never
written.
"""

from canvass.spec.files import SpecError, find_file, module_folders, spec_root
from canvass.spec.manifest import (
    Expected,
    Manifest,
    Mode,
    ModelEntry,
    ModelSet,
    Takes,
    load_manifest,
)

__all__ = [
    "Expected",
    "Manifest",
    "Mode",
    "ModelEntry",
    "ModelSet",
    "SpecError",
    "Takes",
    "find_file",
    "load_manifest",
    "module_folders",
    "spec_root",
]
