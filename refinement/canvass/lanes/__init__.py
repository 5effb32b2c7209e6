"""Swim lanes: events of members in lanes, messages as arrows, faults as marks, in causal order.

`model` is the diagram as data, `of_run` makes diagrams of runs: their events in an order of causes.
`text` (terminal), `svg` (pages) and `interchange` (Mermaid) draw a diagram.
"""

from canvass.lanes.model import Diagram, Fate, LaneEvent, LaneMessage, Mark

__all__ = ["Diagram", "Fate", "LaneEvent", "LaneMessage", "Mark"]
