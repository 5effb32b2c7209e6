"""Traces: their format, recording, reading and writing, and their columns.

A trace comes from event logs of Aeron, from an implementation that records its steps, or from the
simulation.

`schema` is the format; its messages and states are the values of `canvass.cluster`. `recorder` is
the port for an implementation, `run` reads folders and data sets, `columns` has events as arrays.
`aeron_log` reads the event logs of Aeron, and `alignment` makes runs of them.

What flows: steps in; files, events and columns out. A reader gives events or raises one
`TraceError`. The package must not decide whether a step is allowed.
"""
