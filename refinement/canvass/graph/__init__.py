"""State graphs that TLC generates: built, stored, opened, queried, exported.

`build` makes the graph of one member (`artifact`), `dump_import` that of any model (`dump_folder`).
`open.open_view` opens either kind. `predicate` is the condition language; `walks`, `project`,
`diff` and `export` are the questions.

What flows: a model in; a folder of Parquet tables and arrays; rows, paths and documents out. The
package knows `steps`, `spec` and `tlc`. It must not know a run or a verdict.
"""


class GraphError(Exception):
    """A graph cannot be built or read; the message is one line and names what is wrong."""
