"""The self-test: corrupted runs, each of which a check must find; and simulated runs, checked.

`runs` records runs, corrupts them with `corruptions`, checks all and writes the report.
`simulation_series` runs, records, counts and reports simulated runs for ``canvass simulate``.

What flows: a seed in; wrong verdicts out. The package uses the checker as a user does. Only the
command line and the browser import it.
"""
