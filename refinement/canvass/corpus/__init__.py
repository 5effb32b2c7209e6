"""Corpora of runs checked on Spark or by one process: units in, tables of verdicts out.

A `plan.Unit` is a run folder, a file of a data set or a folder of Aeron's logs. `check` reads and
checks units, and asks TLC about open steps: functions from Arrow batches to Arrow batches.
`job` runs the stages in order: check, ask TLC about the distinct open steps, check the units with
refused steps again, write the tables. Its engine applies the functions to Arrow tables in one
process, `spark_engine` to DataFrames by ``mapInArrow``; `spark_session` chooses, and opens the
session. A task is a partition of Spark: `check.check_units` checks it. `job.History` compares a
corpus with the tables that earlier verifications wrote, and `report` makes summary, text and page.
`data_source` and `dataframe` are for programs that have a Spark session of their own.

What flows: paths in; rows of verdicts, divergences, counts and open steps between the stages;
tables out. Events stay in the process that reads them. Nothing is decided here:
`canvass.conformance` decides verdicts, and a worker calls the same functions as ``canvass verify``.
Only the command line, the browser and the self-test import this package.
"""
