"""A member of a running cluster: everything around the duty cycle.

Nothing but `canvass.node.process` touches a socket, a clock or chance; the rest is stepped.
"""
