"""Replay: is a trace a behaviour of a state graph? For any specification that TLC can search.

`lines` reads a trace: NDJSON, each line an optional action and a part of the state. `walk` keeps
the set of the states that are possible after each line, as rows of the graph. `report` has the
result as records, and finds out what was possible instead of the first line that fails.

What flows: a graph and lines in; a verdict with its reason, and the steps that were taken, out. The
package must not know Aeron, a run or a member.
"""
