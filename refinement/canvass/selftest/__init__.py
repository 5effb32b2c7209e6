"""The self-test: mutants of the core and corrupted runs, each of which a check must find.

`mutants.toml` lists the mutants. `kill_matrix` runs each mutant on the `edges` of the state graphs.
`runs` records runs, corrupts them with `corruptions`, checks all and writes the report.
`simulation_series` runs, records, counts and reports simulated runs for ``canvass simulate``.

In: a seed. Out: killed and surviving mutants, and wrong verdicts. The package uses the checker as a
user does. Only the command line and the browser import it.
"""
