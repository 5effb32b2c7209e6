"""TLC from Python: run it as a process, and read its output as typed events, results and values.

`runner` starts TLC: `check` runs to the end and returns the result, `TlcRun` yields the events.
`output` reads TLC's lines as events, and the state graph that it dumps; `results` makes the result
of a run from the events. `values` are those of TLA+, with their text; `counterexample` reads the
text that TLC saves, `config` configurations. `programs` finds TLC and Java.

A specification, a configuration and options come in. Events, results and values go out. The package
must not know any particular specification, nor anything of Aeron. Most verdicts need no run of TLC,
so the checker imports `runner` only when it asks TLC.
"""
