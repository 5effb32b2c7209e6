"""``canvass browse``: a page on state graphs, runs, reports and counterexamples, and its server.

`opening` turns paths into sources, `sources` keeps them. `app` has the table of routes;
`graph_routes` and `run_routes` read the arguments of each question and answer it. `api` defines the
form of all answers, `limits` their size. `access` refuses requests that do not come from the page.
The page is built from ``ui/``.

Requests of one browser come in; trees, texts and their places in a drawing go out. The package must
not decide anything about a model or a run, and must not change a file. `canvass.cli` starts the
server; this package does not import it.
"""
