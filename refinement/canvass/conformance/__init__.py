"""The checker: it decides whether a trace is a behaviour of the spec. Start at `check`.

The main path: `check` takes events and TLC's answers, and looks up the key of each step in the
answers. `run_arrays` lays out the steps, and the fields that `causality` and `safety_monitors` read
of a whole run. `diagnose` turns what is wrong into divergences, and explains them. `findings` holds
the result: verdicts, divergences and open steps. `verify` reads runs on disk, calls `check`, and
asks TLC about open steps. `report` shows verdicts. `timing` gives warnings, `tlc_engine` is an
independent second engine, and `shrink` finds a smaller run with the same divergence.

What flows: events in; findings and reports (JUnit, HTML) out. The package must not know the rules
of `cluster`: TLC alone decides which steps are allowed.
"""
