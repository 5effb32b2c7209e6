"""Import of event logs of real Aeron clusters as one alignment.

A log shows which messages a member received and how its elections went. It does not show the steps
in between. An alignment is a behaviour of the reference core with a matching of its steps to the
lines of the logs. It is made in four stages:

1. `replay` replays each member alone.
2. `send_windows` and `channel_matching` find, for each received message, the steps at which its
   sender can have sent it.
3. `schedule` drives all members together with real numbers.
4. `run_events` writes the run.

`segment_search` repeats stages 1 to 3 with other choices, and keeps the best result. Start reading
at `canvass.traces.alignment.importer`.

All modules use these words. A step *meets* a line if it prints the line. A *trajectory* is the
steps of one member. A message is *silent* if the logs do not print its receipt; an *inferred
receipt* is the receipt of a silent message. A member is *closed* while it is in no election.
"""
