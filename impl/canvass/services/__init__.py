"""Clustered services: the interface of an application, and the agent that delivers the log.

`service` is the interface, with a service that applies each request once, and a counter. `agent`
runs one service on one member.

What flows: committed entries in; answers, timers and snapshots out. The package must not know an
election.
"""
