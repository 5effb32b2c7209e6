"""Reading the event logs of real Aeron clusters into typed records.

Each line is read or counted: a damaged, truncated or unknown line is reported, never dropped. Input
that is no log raises `AeronLogError`. The package does not infer steps between lines;
`canvass.traces.alignment` does.

A line goes through four stages. `framing` takes off what a container or logger put around it.
`line` makes a record of it by the names of its fields. `incarnations` puts the records of one
member into process incarnations. A log may have the lines of several members: it is read once for
each of them (`logs.read_log`) and divided into clusters that ran one after the other (`clusters`).
`membership` numbers the members.

Start with `logs.read_clusters`, or with `parser.LogParser` for bytes from elsewhere.
"""
