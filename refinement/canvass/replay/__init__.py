"""Replay: check whether a trace is a behaviour of a state graph, for any specification.

`lines` reads a trace: NDJSON, in which each line has an optional action and a part of the state.
`walk` keeps the set of the states that are possible after each line, as rows of the graph. Its
result is a record, with the steps that were possible instead of the first line that fails.

A graph and lines come in. A verdict with its reason, and the steps that were taken, go out. The
package must not know Aeron, a run or a member.
"""
