"""``canvass browse``: a page on state graphs, runs, reports and counterexamples, and its server.

`api` is the only definition of what the server says. `sources` knows what was opened, `app` has the
table of routes, `guard` and `serving` keep strangers out; the page is built from ``ui/``. Nothing
here decides anything about a model or a run.
"""
