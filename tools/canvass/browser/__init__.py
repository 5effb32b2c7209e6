"""``canvass browse``: a page on state graphs, runs, reports and counterexamples, and its server.

`opening` turns paths into sources, `sources` keeps them. `app` has the table of routes. The routes
read the arguments of each question and answer it: `app` those on runs, reports and counterexamples,
`graphs` those on graphs, `what_if` those on steps that are tried. `api` defines the form of
all answers, `questions` that of all questions, and limits for both. `access` refuses requests that
do not come from the page. The page is built from ``ui/``.

Requests of one browser come in; trees, texts and their places in a drawing go out. The package must
not decide anything about a model or a run, and must not change a file. `canvass.cli` starts the
server; this package does not import it.
"""
