"""Swim lanes: events of members in lanes, messages as arrows, faults as marks, in causal order.

`model` is a diagram as data. `of_run` makes diagrams of runs, with the events in an order of
causes; `of_counterexample` makes diagrams of counterexamples. `text` draws a diagram in columns.

What flows: runs and counterexamples in; diagrams as data and as text out. The package must not know
TLC or a verdict, and must not print.
"""

from canvass.lanes.model import Diagram, Fate, LaneEvent, LaneMessage, Mark

__all__ = ["Diagram", "Fate", "LaneEvent", "LaneMessage", "Mark"]
