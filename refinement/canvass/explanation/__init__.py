"""Answers for an operator: who led when, why elections took long, who is stuck, what was at risk.

Start with `canvass.explanation.report.explain`. The logs' own records come first: leaderships and
elections need no import and no model. States of steps, where a run has them, add the values that
guards of the spec wait for. Every sentence names its lines; what no line shows is null.

What flows: event logs or runs in; typed sentences with their evidence out. The package does not
print.
"""
