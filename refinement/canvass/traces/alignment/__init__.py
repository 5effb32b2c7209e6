"""Import of event logs of real Aeron clusters as one alignment.

A log shows which messages a member received and how its elections went. It does not show the steps
in between. An alignment is a behaviour of the reference core together with a matching of its steps
to the lines of the logs. An import makes it in four stages:

1. `replay` replays each member alone.
2. `send_windows` and `channel_matching` find, for each received message, the steps at which its
   sender can have sent it.
3. `schedule` drives all members together: positions that were open until then get their values.
4. `run_events` writes the run.

Where a line cannot be matched, `repairs` decides by costs whether lines are missing or the line is
false. `unmatched` decides it for a receipt whose message nobody can have sent. `segment_search`
repeats stages 1 to 3 with other choices, and keeps the best result. Start reading at
`canvass.traces.alignment.importer`.

All modules use these words:

* A line is *matched* if a step of the alignment prints it.
* A *trajectory* is the sequence of steps of one member.
* A *receipt* is a message that a member receives in a step of its trajectory.
* A message is *silent* if the logs do not print its receipt. An *inferred receipt* is the receipt
  of a silent message.
* A position is *open* if the lines only bound it.
* A member is *closed* if its election state is CLOSED: it is in no election.
"""
