"""Take steps of the spec on Aeron's own Java classes, and compare the outcomes.

`compilation` compiles the driver against a release. `stream` is the protocol between Python and
Java. `driving` takes the steps of a graph, and `run_steps` those of runs. `comparison` compares and
classifies the outcomes.

In: steps. Out: equal and different outcomes. The package knows a release only by the class path
that the user names, and keeps nothing of Aeron but outcomes.
"""


class DriverError(Exception):
    """Aeron's classes cannot be driven; the message is one line and names the cause."""
