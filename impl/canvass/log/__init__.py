"""The entries of the replicated log, and how they are written in bytes."""
