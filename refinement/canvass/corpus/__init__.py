"""Corpora of runs checked on Spark or by one process: plan, job, output and report.

`plan` and `split` make tasks, `job` runs the stages, and `task_checker` is what a task does on a
worker. `parts` joins runs that are split between tasks. `task_files` and `summary` are the output.

What flows: paths in; tables of verdicts, divergences and coverage out. `canvass.conformance`
decides verdicts: a worker calls the same functions as ``canvass verify``. Only the command line,
the browser and the self-test import this package.
"""
