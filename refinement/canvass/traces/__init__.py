"""Traces of real runs: their format, how they are recorded, read, written and brought into columns."""
