"""The self-test: mutants of the core and corrupted runs, each of which a check must find.

`mutants.toml` lists the mutants; `kill_matrix` holds them against the `edges` of the state graphs.
`corruptions` spoil the runs that `runs` records; it checks that each is found and sums up.
`simulation_series` runs, records, counts and reports simulated runs for ``canvass simulate``.

What flows: a seed in; kills, survivors and wrong verdicts out. The package uses the checker as a
user would; no other package but the command line imports it.
"""
