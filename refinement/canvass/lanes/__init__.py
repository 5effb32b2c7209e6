"""Swim lanes: events of members in lanes, messages as arrows, faults as marks, in causal order.

`diagram` is a diagram as data, and draws it as text. `drawing` makes diagrams of runs, with the
events in an order of causes, and of counterexamples.

What flows: runs and counterexamples in; diagrams as data and as text out. The package must not know
TLC or a verdict, and must not print.
"""
