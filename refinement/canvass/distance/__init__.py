"""The distance from a moment of a run to the nearest violation of a property.

A moment is the state of a whole cluster. `moments` reads moments from a run. `search`
starts `MCFrom.tla` from a moment, TLC searches breadth first, and a report says what it found.

What flows: a run in; the number of steps to a violation, and the counterexample, out. The
package must not know event logs, and must not print.
"""
