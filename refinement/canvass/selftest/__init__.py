"""The self-test: mutants of the core and corrupted runs, each of which a check must find.

`mutants.toml` lists the mutants; `kill_matrix` holds them against the `edges` of the state graphs,
`member_world` says what the effects of a step come to. `driven_runs` records runs, `corruptions`
spoil them, `runs` checks that each is found and sums up. `simulated_runs` records a simulated run;
`simulation_series` runs, counts and reports many for ``canvass simulate``.

What flows: a seed in; kills, survivors and wrong verdicts out. The package uses the checker as a
user would; no other package but the command line imports it.
"""
