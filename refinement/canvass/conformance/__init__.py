"""The checker: it decides whether a trace is a behaviour of the spec. Start at `check`.

The main path: `check` takes events and answers. `run_arrays` lays out steps, whose keys are looked
up in the answers, and what `causality` and `safety_monitors` read of a whole run. `diagnose` makes
divergences of what is wrong, and explains them; `findings` are the result. `verify` reads runs on
disk, calls `check`, and has TLC asked about open steps. `report` and `documents` show verdicts.
`timing` warns, `tlc_engine` is an independent second engine, `shrink` makes a run small.

What flows: events in; findings and reports (JUnit, HTML) out. The package must not know the rules
of `cluster`: TLC alone decides which steps are allowed.
"""
