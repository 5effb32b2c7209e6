"""The TLA+ spec as data: its files, and the results that its manifest expects of each model.

`files` finds modules, definitions and their comments; `manifest` reads `manifest.json`.

What flows: a folder with a spec in; paths, and a typed entry for each model, out. The package must
not start TLC, and must not write to the files. It knows no TLA+: it finds modules, definitions and
comments by their text.
"""
