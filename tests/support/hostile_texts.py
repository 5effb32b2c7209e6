"""Texts that attack whoever shows them: markup, scripts, control characters, endless ones."""

from __future__ import annotations

from typing import Final

ENDLESS: Final = "A" * 100_000

PAYLOADS: Final = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'><b>bold</b>",
    "<!--",
    "-->",
    "]]>",
    "<style>*{display:none}</style>",
    "<iframe src=javascript:alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content=0>",
    "<math><mi xlink:href=javascript:alert(1)>",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "&lt;b&gt;&amp;&#60;&#x3c;",
    "{{7*7}}${7*7}<%=7*7%>#{7*7}",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "\\u003cscript\\u003e",
    "'; DROP TABLE runs; --",
    "$(touch x)`id`|id;id",
    "../../../../etc/passwd",
    "..\\..\\windows",
    "file:///etc/passwd",
    "http://evil.example/",
    "\x00\x01\x02\x1f\x7f",
    "\x1b[31mred\x1b]0;title\x07",
    "line\none\r\ntwo\u2028three\u2029four\x85five",
    "\u202eright to left\u202c",
    "zero\u200bwidth\ufeffjoin\u200d",
    "e" + "\u0301" * 500,
    "\ufffe\uffff",
    "\U0001f600" * 50,
    " \t \n ",
    "NaN",
    ENDLESS,
)
"""Forty of them."""
