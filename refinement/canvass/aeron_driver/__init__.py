"""Steps of the spec executed on Aeron's own Java classes, and their outcomes compared.

`compilation` builds the driver against a release, `stream` is the protocol between Python and Java,
`driving` takes the steps of a graph or of runs, `comparison` sorts what differs.

What flows: steps in; outcomes of Aeron, equal or different, out. The package must not know a
release beyond the class path that the user names, and nothing of Aeron is kept but outcomes.
"""


class DriverError(Exception):
    """Aeron's classes cannot be driven; the message is one line and names what is wrong."""
