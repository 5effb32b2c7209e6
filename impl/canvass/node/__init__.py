"""A member of a running cluster: everything around the duty cycle.

`node` is a whole member; its caller runs each cycle. `consensus_module` appends and processes log
messages, `module_state` has the replicated state, `ingress` handles the clients, `streams` the log
streams between members. `process` runs a node with sockets and clocks.

What flows: messages and times in; messages, entries and steps for a recorder out. Only `process`
uses sockets, clocks and randomness. The package must not know a trace, a simulation or a client.
"""
