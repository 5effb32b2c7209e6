"""Clients of a cluster: they find and follow the leader, and offer requests.

`client` has no sockets and no clock: messages and times go in, messages come out. `connection` runs
it with `asyncio` for programs, over `canvass.transport`. Each request is applied once, in order.

What flows: requests in, answers out. The package must not know the inside of a member.
"""
