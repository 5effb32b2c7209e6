"""Reading the event logs of real Aeron clusters into typed records.

Each line is read or counted: a damaged, truncated or unknown line is reported, never dropped. Input
that is no log raises `AeronLogError`. The package does not infer steps between lines;
`canvass.traces.alignment` does.

Start with `logs.read_cluster`, or with `parser.LogParser` for bytes from elsewhere.
"""
