"""A member of a running cluster: everything around the duty cycle.

`node` is a whole member, stepped by its caller. `consensus_module` does the work of each cycle,
`sessions` is the clients' side, `streams` the log streams between members. `process` runs a node on
sockets and clocks.

What flows: messages and times in; messages, entries and steps for a recorder out. Only `process`
touches a socket, a clock or chance. The package must not know a trace, a simulation or a client.
"""
