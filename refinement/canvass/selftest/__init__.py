"""The self-test: mutants of the core and corrupted runs, each of which a check must find.

`election_edits` and `log_edits` are the mutants; `edges`, `driven` and `simulated` try to kill
them. `corruptions` spoil recorded runs, `runs` checks that each is found. `report` sums up.

What flows: a seed in; kills, survivors and wrong verdicts out. The package uses the checker as a
user would; no other package but the command line imports it.
"""
