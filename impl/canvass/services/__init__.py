"""Clustered services: what an application is, and the agent that feeds it the log.

`service` is the interface, `agent` one service on one member, `applications` applies each request
once, and has a counter and a store of keys and values.

What flows: committed entries in; answers, timers and snapshots out. The package must not know an
election.
"""
