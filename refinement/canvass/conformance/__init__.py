"""The checker: steps, causality, safety monitors. Start at `canvass.conformance.check`."""
