"""The checker: steps, causality, safety monitors, explanation. Start at `canvass.conformance.check`."""
