"""The reference implementation of Aeron Cluster's election and log replication.

The protocol core (messages, member, election, replication, quorum, recording log) is pure: no
clock, no chance, no input or output, no logging. What a member does with the outside world belongs
to other modules of this package. Start reading at `canvass.cluster.core`.
"""
