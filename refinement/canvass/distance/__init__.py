"""How far a cluster is from a loss: a moment of a run, or disks, as the start of a search by TLC.

`search` writes a moment, the state of a whole cluster, into `MCFrom.tla` and lets TLC look for the
nearest violation. `moments` finds the moments of a run, and that of disks.

What flows: a run or disks in; the number of steps to a violation, and its counterexample, out.
"""
