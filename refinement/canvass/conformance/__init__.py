"""The checker: is a trace a behaviour of the spec. Start at `canvass.conformance.check`.

The main path: `screen` reads batches, `steps` canonicalises, `step_lookup` decides each distinct
step from `known_steps`, state graphs, a cache and TLC, `causality` and `safety_monitors` check
whole runs, `verdict` is the result. The second pass, for diverging runs only: `diagnose` finds the
divergence, `refused_step` says what the spec allows instead. `timing` warns, `tlc_engine` is an
independent second engine, `shrink` makes a run small.

What flows: columns of events in; verdicts, divergences and reports (JUnit, SARIF, HTML) out. The
package must not know `cluster`'s rules: what is allowed, TLC says.
"""
