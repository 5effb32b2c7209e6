"""Steps of one member as the checker sees them: canonical form, frames, keys, oracle.

`step` is a step and its row of integers. `frames` lists the fields that each action reads and
writes. `kernel` computes the key of the canonical form of steps in columns; `question` is what TLC
is asked about a key. `distinct` numbers keys and finds them in a table. `answers` keeps TLC's
answers in files; `oracle` asks TLC. `core_answer` is the Python core's answer, for words.

What flows: events as columns in; canonical steps, their keys and TLC's answers out. The package
knows `cluster`, `traces` and `tlc`. It must not know a state graph, a run or a verdict.
"""
