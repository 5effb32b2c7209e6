"""The TLA+ spec as data: its files, and the results that its manifest expects of each model.

`files` finds modules, definitions and their comments; `manifest` reads `manifest.json`.

A folder with a spec comes in. Paths, and a typed entry for each model, go out. The package must not
start TLC, and must not write to the files. It does not parse TLA+: it finds modules, definitions
and comments by their text.
"""
