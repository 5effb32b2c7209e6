"""The files of Aeron members, read without Aeron: are they sound, who can lead. Start at `verdict`.

`files` opens, for reading only; `layouts`, `small_files`, `frames` and `log` read formats.
`soundness` looks at one disk, `comparison` at several, `possible_leaders` plays the elections.

What flows: folders of members in; findings, a verdict and options for the operator out. The package
must not write to a disk, and must not know a trace.
"""
