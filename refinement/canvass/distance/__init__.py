"""How far a cluster is from a loss: a moment of a run, or disks, as the start of a search."""
