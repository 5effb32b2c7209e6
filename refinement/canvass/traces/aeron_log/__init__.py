"""Reading the event logs of real Aeron clusters into typed records.

Each line is read or counted: a damaged, truncated or unknown line is reported, never dropped. Input
that is no log raises `AeronLogError`. The package does not infer steps between lines;
`canvass.traces.alignment` does.

The stages of reading are these:

1. `line` removes what a container or logger has put around a line, and makes a record of the line,
   by the names of its fields.
2. `incarnations` divides the records of one member into process incarnations.
3. `clusters` divides the records into clusters that ran one after the other, and numbers the
   members.

A log may have the lines of several members. It is then read once for each of them
(`logs.read_log`).

`event_types` has the table of events, `records` their classes, `releases` the events that a log can
have. Start with `logs.read_clusters`, or with `parser.LogParser` for bytes from elsewhere.
"""
