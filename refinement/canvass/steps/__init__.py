"""Steps of one member as the checker sees them: canonical form, fields, keys, oracle.

`step` defines a step: as values, as rows of integers, and as a question to TLC. `action_fields`
lists the fields that each action reads and writes. `kernel` computes the key of the canonical form
of steps in columns. `answers` has the tables of TLC's answers, in which keys are looked up, and the
files of these tables; `oracle` asks TLC.

What flows: events as columns in; canonical steps, their keys and TLC's answers out. The package
knows `cluster`, `traces` and `tlc`. It must not know a state graph, a run or a verdict.
"""
