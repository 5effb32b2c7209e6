"""The checker: it decides whether a trace is a behaviour of the spec. Start at `check`.

The main path: `screen` reads batches, `steps` canonicalises, `step_lookup` decides each distinct
step by tables of TLC's answers or by TLC, `causality` and `safety_monitors` check whole runs,
`verdict` is the result. The second pass, for diverging runs only: `diagnose` finds the divergence,
`refused_step` names the outcomes that the spec allows instead. `timing` warns, `tlc_engine` is an
independent second engine, `shrink` makes a run small.

What flows: columns of events in; verdicts, divergences and reports (JUnit, HTML) out. The
package must not know the rules of `cluster`: TLC alone decides which steps are allowed.
"""
