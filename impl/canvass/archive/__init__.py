"""A member's archive: the recording of the log, the recording log, node state and snapshots.

`archive` has the data that a member finds after a restart; `recording` has the log in frames of
segment files. `storage` is the port to a disk, with a folder of the file system behind it; `memory`
is a disk that fails on purpose.

What flows: bytes of entries and small files in, out and back after a crash. The package knows `log`
and the recording log of `cluster`. It must not decide anything about an election.
"""
