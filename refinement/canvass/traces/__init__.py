"""Traces of real runs: their format, recording, reading and writing, and their columns."""
