"""Execute steps of the spec on Aeron's own Java classes, and compare the outcomes.

`driver` compiles the driver against a release, and sends it requests. `drivable` lays out steps as
requests. `driving` executes the steps of a graph, and `run_steps` those of runs. `comparison`
compares and classifies the outcomes.

Steps come in. Equal and different outcomes go out. The package knows a release only by the class
path that the user names. Outcomes are all that it keeps of Aeron.
"""


class DriverError(Exception):
    """Aeron's classes cannot be driven; the message is one line and names the cause."""
