"""The files of Aeron members, read without Aeron: whether they are sound, and who can lead.

Start at `verdict`. `files` opens files, for reading only. `layouts`, `small_files` and `log` read
the formats. `soundness` checks one disk, `comparison` compares several, and
`possible_leaders` simulates the elections.

What flows: folders of members in; findings, a verdict and options for the operator out. The package
must not write to a disk, and must not know a trace.
"""
