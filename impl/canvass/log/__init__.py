"""The entries of the replicated log, and how they are written in bytes.

`messages` has the six entries with Aeron's fields, `layout` the codec of SBE-like blocks.

What flows: entries in, bytes out, and back. The package knows no other, and no meaning of an entry.
"""
