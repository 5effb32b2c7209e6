"""A cluster of real processes on this machine, with faults and load.

`configuration` has the settings. `supervisor` starts one `member_process` for each member, which is
a node with sockets and real clocks, and carries out `commands` of a fault script or of the
terminal. `load` offers requests and keeps account of the answers.
`cluster_run` runs a cluster from its start to the comparison of its members, and reports.

What flows: options in; commands to member processes by stdin, their status back by mark files; a
`ClusterReport` out. The package knows `node`, `client`, `archive`, `transport` and the recorder of
`canvass.traces`. It must not know the command line, and prints nothing: a view is passed in.
"""


class RunnerError(Exception):
    """A cluster cannot be run, or a command is unknown; the message is one line."""
