"""Answers for an operator: leaders, long elections, members that are stuck, entries at risk.

Start with `canvass.explanation.explanation.explain`. All answers come only from the lines of the
logs, without an import and without a model. Every sentence names its lines. A value that no line
shows is null.

What flows: event logs or runs in; typed sentences with their evidence out. The package does not
print.
"""
