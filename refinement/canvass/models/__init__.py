"""Models of the spec, run by TLC and compared with the manifest; their counterexamples.

`model_run` chooses models of the manifest, or a specification of the user. It configures TLC, runs
it, and compares the result: a mutant must violate the property that the manifest names.
`counterexample` compares the states of a behaviour, and writes it as lines of text, as swim lanes,
or as a document.

An entry of the manifest and settings come in. A `ModelRun` goes out; it gives the record that
``canvass check`` writes. The package must not know the command line, and writes nothing to stdout.
"""

from __future__ import annotations


class ModelError(Exception):
    """There is no such model, or it has no such view; the message is one line."""
