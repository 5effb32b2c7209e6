"""The ``canvass`` command: modules of one sub-command or a few related ones, and what they share.

Nothing here decides anything about the protocol, a model or a trace. Results go to stdout, progress
and errors to stderr, and no command ends in a traceback.
"""
