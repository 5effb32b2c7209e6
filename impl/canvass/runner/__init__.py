"""A cluster of real processes on this machine: started, broken, put under load, compared.

`supervisor` starts one `member_process` for each member and carries out commands of a fault script
or of another terminal (`control_socket`). `load` offers requests and keeps a book of the answers.
`cluster_run` is the course of one run, from the first start to the comparison of what the members
hold in the end, and the report.

What flows: options in; commands to member processes by stdin, status lines back by stdout; a
`ClusterReport` out. The package knows `node`, `client`, `archive` and the recorder of
`canvass.traces`. It must not know the command line or the terminal: a view is passed in.
"""


class RunnerError(Exception):
    """A cluster cannot be run, or a command to it is none; the message is one line."""
