"""Reading the event logs of real Aeron clusters into typed records, strictly, losing no line.

Here the logs are read; what the members did between the lines is none of this package's business.
Any input either parses or raises `AeronLogError`; a line that is damaged, cut or unknown is counted
and reported, never passed over.

Start with `logs.read_cluster`, or with `parser.LogParser` for bytes from elsewhere.
"""
