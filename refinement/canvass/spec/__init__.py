"""The TLA+ spec as data: its files, and the results that its manifest expects of each model.

`files` finds modules, definitions and their comments; `manifest` reads `manifest.json`.

What flows: a folder with a spec in; paths, and a typed entry for each model, out. The package must
not start TLC, and must not write to the files. It knows no TLA+: it finds modules, definitions and
comments by their text.
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
