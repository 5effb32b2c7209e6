"""A member's archive: the recording of the log, the recording log, node state and snapshots."""
