"""The distance from a moment of a run, or from disks, to the nearest violation of a property.

`moments` reads the state of a whole cluster from a run or from disks: a moment. `search` gives the
moment to `MCFrom.tla`; from there TLC searches breadth first.

In: a run or disks. Out: the number of steps to a violation, and the counterexample.
"""
