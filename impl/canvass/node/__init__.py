"""A member of a running cluster: everything around the duty cycle.

`node` is a whole member; its caller runs each cycle. `consensus_module` admits clients, and appends
and processes log messages; `module_state` has the replicated state, `streams` the log streams
between members. `canvass.runner.member_process` runs a node with sockets and clocks.

What flows: messages and times in; messages, entries and steps for a recorder out. The package uses
no socket, clock or random number. It must not know a trace, a simulation or a client.
"""
