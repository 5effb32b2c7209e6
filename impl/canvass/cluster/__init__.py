"""The reference implementation of Aeron Cluster's election and log replication.

Start reading at `canvass.cluster.core`: the table of actions, one function for each TLA+ operator.
`messages`, `member` and `effects` are the values; `election*` and `replication` are the rules.
`duty_cycle` decides when which step is taken, and reaches the world through `ports`.

What flows: (rules, member id, state, input) in; the next state and an ordered list of effects out.
The package is pure: no clock, no chance, no input or output, no logging. It knows no other package.
"""
