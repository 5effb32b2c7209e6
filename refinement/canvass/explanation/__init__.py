"""Answers for an operator: who led when, why elections took long, who is stuck, what was at risk.

The logs' own records come first: leaderships and elections need no import and no model. States of
steps, where a run has them, add the values that guards of the spec wait for. Every sentence names
the lines that it rests on, and what no line shows is null. Nothing here prints.

Start with `canvass.explanation.report.explain`.
"""
