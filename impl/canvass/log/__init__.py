"""The entries of the replicated log, and their form in bytes: the module `entries`.

What flows: entries in, bytes out, and back. The package knows no other package, and does not act on
entries.
"""
