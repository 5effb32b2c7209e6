"""Clients of a cluster: what they say to it, and how they find and follow the leader.

`client` is stepped: messages and times in, messages out. `connection` runs it with `asyncio` for
programs, over `canvass.transport`. Each request is applied exactly once, in order.

What flows: requests in, answers out. The package must not know a member's insides.
"""
