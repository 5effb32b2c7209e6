"""State graphs that TLC generates: built, stored, opened, queried, exported.

`build` makes the graph of one member (`artifact`), `dump_build` that of any model (`dump_folder`).
`view.open_view` opens either kind. `predicate` is the condition language; `paths`, `components`,
`project`, `diff`, `around` and `export` are the questions.

What flows: a model in; a folder of Parquet tables and arrays; rows, paths and documents out. The
package knows `steps`, `spec` and `tlc`. It must not know a run or a verdict.
"""
