"""The entries of the replicated log, and their form in bytes.

`entries` has the six entries with Aeron's fields, `layout` the codec of SBE-like blocks.

What flows: entries in, bytes out, and back. The package knows no other package, and does not act on
entries.
"""
