"""Swim lanes: events of members in lanes, messages as arrows, faults as marks, in causal order.

`model` is the diagram as data. `of_run` makes diagrams of runs, whose events it puts in an order of
causes; `of_counterexample` makes diagrams of counterexamples.
`text` draws a diagram, in columns or for the tools of others.
"""

from canvass.lanes.model import Diagram, Fate, LaneEvent, LaneMessage, Mark

__all__ = ["Diagram", "Fate", "LaneEvent", "LaneMessage", "Mark"]
