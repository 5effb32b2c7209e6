"""``canvass browse``: a page on state graphs, runs, reports and counterexamples, and its server.

`opening` makes sources of paths and `sources` keeps them; `app` has the table of routes,
`graph_routes` and `run_routes` say whom each asks. `api` is the only definition of what the server
says, and `limits` of how much. `guard` keeps strangers out. The page is built from ``ui/``.

What flows: requests of one browser in; trees, texts and places to draw them at out. The package
knows all other packages but `canvass.cli`. It must not decide anything about a model or a run, and
must not change a file.
"""
