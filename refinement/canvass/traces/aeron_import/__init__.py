"""Import of event logs of real Aeron clusters: from logged lines to a run of the ordinary format.

A log shows what a member received and how its election went, not what it did in between. The
importer drives the reference core with the logged inputs and fills in the steps that the logs do
not show. It only proposes: whether the proposed run is a behaviour of the spec is for the checker.
Start reading at `canvass.traces.aeron_import.importer`.
"""
