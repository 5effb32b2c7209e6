"""Members of a cluster in one thread: virtual time, a faulty network, faulty disks.

`simulator` runs a `cluster` of whole nodes while `faults` injects faults, and then checks that the
cluster recovers. A seed decides the `options` and the `events` in the queue. `world` has bare
protocol cores with their channels and logs; its caller chooses every step. The simulation only
records steps, and the checker decides whether the recorded run is safe. The monitors in `events`
check what no recorded run shows.

What flows: options with a seed in; findings, counts and recorded steps out. The package knows
`node` and below. It must not know a file, a socket, a clock or the checker.
"""
