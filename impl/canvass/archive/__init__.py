"""A member's archive: the recording of the log, the recording log, node state and snapshots.

`archive` is what a member finds again after a restart; `recording` holds the log in frames of
segment files. `storage` is the port to a disk: `files` is a real folder, `memory` a disk that
fails on purpose. `repair` brings back what a disk has lost.

What flows: bytes of entries and small files in, out and back after a crash. The package knows `log`
and the recording log of `cluster`. It must not decide anything about an election.
"""
