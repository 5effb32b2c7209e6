"""The distance from a moment of a run, or from disks, to the nearest violation of a property.

A moment is the state of a whole cluster. `moments` reads moments from a run or from disks. `search`
starts `MCFrom.tla` from a moment, and TLC searches breadth first. `report` is the JSON document.

In: a run or disks. Out: the number of steps to a violation, and the counterexample.
"""
