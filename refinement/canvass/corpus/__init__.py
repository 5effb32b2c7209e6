"""Corpora of runs checked on Spark: plan, job, output and report.

What a verdict is, and how it is reached, is not decided here but in `canvass.conformance`: a worker
calls the same checker that ``canvass verify`` does. Nothing here is imported by other parts but the
command line.
"""
