"""Members of a cluster in one thread: virtual time, a faulty network, faulty disks.

`simulator` runs a `cluster` of whole nodes by a queue of `events` that a seed decides; `faults`
strike them, `healing` sees that they recover. `world` has bare protocol cores with their
channels and logs, which the caller drives. The simulation records; the checker says whether the
record is safe. `monitors` find what no record shows.

What flows: options with a seed in; findings, counts and recorded steps out. The package knows
`node` and below. It must not know a file, a socket, a clock or the checker.
"""
