"""State graphs that TLC generates: built, stored, opened, queried, exported.

`build` makes the graph of one member (`artifact`), `dump_graph` that of any model.
`open.open_view` opens either kind. `predicate` evaluates conditions, `queries` answers questions,
and `export` writes the graph for other tools.

A model comes in. The package keeps its graph as a folder of Parquet tables and arrays. Rows, paths
and documents go out. The package knows `steps`, `spec` and `tlc`. It must not know a run or a
verdict.
"""


class GraphError(Exception):
    """A graph cannot be built or read; the message is one line and names what is wrong."""
