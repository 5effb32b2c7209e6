"""State graphs made by TLC, the oracle, and the canonical form of steps."""
