"""How far a cluster is from a loss: a moment of a run, or disks, as the start of a search by TLC.

`moment` is the state of a whole cluster, `of_run` and `of_disks` make one, `search` writes it into
`MCFrom.tla` and lets TLC look for the nearest violation.

What flows: a run or disks in; the number of steps to a violation, and its counterexample, out.
"""
