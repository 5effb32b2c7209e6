"""Clustered services: the interface of an application, and the agent that delivers the log.

`service` is the interface, `agent` runs one service on one member, `applications` applies each
request once, and has a counter.

What flows: committed entries in; answers, timers and snapshots out. The package must not know an
election.
"""
