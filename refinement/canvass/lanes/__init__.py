"""Swim lanes: events of members in lanes, messages as arrows, faults as marks, in causal order.

`model` is the diagram as data, `order` puts streams in an order of causes, `of_run` makes diagrams
of runs. Three renderers need the model alone: `text` (terminal), `svg` (pages), `mermaid`.
"""

from canvass.lanes.model import Diagram, Fate, LaneEvent, LaneMessage, Mark

__all__ = ["Diagram", "Fate", "LaneEvent", "LaneMessage", "Mark"]
