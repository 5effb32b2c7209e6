"""Members of a cluster in one thread: virtual time, a faulty network, faulty disks.

`simulator` runs whole nodes in a queue of events that a seed decides; `faults` and `network`
strike them, `safety_monitor` checks each step, `healing` sees that the cluster recovers.
`scenario` drives bare protocol cores by golden dialogues.

What flows: options with a seed in; findings, counts and recorded steps out. The package knows
`node` and below. It must not know a file, a socket, a clock or the checker.
"""
