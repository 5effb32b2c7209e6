"""The checker: it decides whether a trace is a behaviour of the spec. Start at `check`.

The main path: `check` takes events and answers. `batch` lays out steps, whose keys are looked up in
the answers. `whole_run` calls `causality` and `safety_monitors`, `diagnose` makes divergences of
what is wrong, `findings` are the result. `verify` reads runs on disk, calls `check`, and has
`step_lookup` ask TLC about open steps. For reports `refused_step` names the outcomes that the spec
allows instead. `timing` warns, `tlc_engine` is an independent second engine, `shrink` makes a run
small.

What flows: events in; findings and reports (JUnit, HTML) out. The
package must not know the rules of `cluster`: TLC alone decides which steps are allowed.
"""
