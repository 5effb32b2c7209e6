"""``canvass browse``: a page on state graphs, runs, reports and counterexamples, and its server.

`opening` turns paths into sources, `sources` keeps them. The content of a source answers the
questions about it: `verdicts` those on runs, `graphs`, `reports` and `counterexamples` the others,
`what_if` those on steps that are tried. The decorator `questions.at` marks the methods that answer,
and their parameters are the arguments of a question; `app` makes the table of routes of them.
`api` defines the form of all answers, `questions` has the limits of both. `access` refuses requests
that do not come from the page. The page is built from ``ui/``.

Requests of one browser come in; trees, texts and their places in a drawing go out. The package must
not decide anything about a model or a run, and must not change a file. `canvass.cli` starts the
server; this package does not import it.
"""
