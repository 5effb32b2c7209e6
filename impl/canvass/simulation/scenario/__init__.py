"""Scenarios: dialogues that drive several protocol cores by hand and print what happens.

`Dialogue` runs one, `blocks` reads one. There is no time here: that a deadline has passed, that a
message is due or lost, that the archive has recorded something, each is said by a line of the
scenario.
"""

from canvass.simulation.scenario.dialogue import Dialogue, replay
from canvass.simulation.scenario.language import Block, ScenarioError, blocks
from canvass.simulation.scenario.world import World

__all__ = ["Block", "Dialogue", "ScenarioError", "World", "blocks", "replay"]
