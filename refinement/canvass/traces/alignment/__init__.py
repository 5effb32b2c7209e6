"""Import of event logs of real Aeron clusters as one alignment.

A log shows what a member received and how its election went, not the steps in between. An alignment
is a behaviour of the reference core together with a matching of its steps to the lines. The stages
are: replay each member alone (`replay`), find the windows in which each received message can have
been sent (`windows`, `channel_matching`), drive all members together with real numbers
(`driven_cluster`, `schedule`), and write the run (`run_events`). `solving` goes through the stages
until nothing better is found. Start reading at `canvass.traces.alignment.importer`.
"""
