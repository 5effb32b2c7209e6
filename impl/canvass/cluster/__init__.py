"""The reference implementation of Aeron Cluster's election and log replication.

Start reading at `canvass.cluster.core`: the table of actions, one function for each TLA+ operator.
`messages`, `member` and `effects` define the values. `election_messages` has the handlers of
messages, such as who gets a vote; `election`, `election_leader` and `election_follower` have the
duty cycles of the election states; `replication` has the rules of the log. `duty_cycle` decides
when the member takes which step. It reaches everything outside by its `Port`.

What flows: (rules, member id, state, input) in; the next state and an ordered list of effects out.
The package is pure: it reads no clock, draws no random number, does no I/O and writes no log. It
imports no other package of canvass.
"""
