"""The fields of a line of another component, split only when they are asked for.

What the archive did (truncate, replay, extend) helps to explain what the cluster did. Its lines are
evidence, not subject: nothing is required of them, and what is no field is passed over.
"""

from __future__ import annotations

import re
from typing import Final

from canvass.traces.aeron_log.records import ComponentEvent

_LENGTHS: Final = re.compile(r"(?: \[[0-9]{1,10}/[0-9]{1,10}\])?:? ?")
_TRANSITION: Final = re.compile(r"(?:^| )([A-Z][A-Z0-9_]*|null) -> ([A-Z][A-Z0-9_]*)(?= |$)")
_FREE: Final = re.compile(r"(?:^| )(reason|errorMessage|clientInfo)=(.*)", re.DOTALL)


def component_fields(record: ComponentEvent) -> dict[str, str]:
    """Split the text of a component's line into its fields, as text and by the log's names.

    Returns
    -------
    dict
        Values without quotes; the first one of a name. The bare pair ``OLD -> NEW`` is under
        ``oldState`` and ``newState``, as 1.53 names it. A text that may hold anything
        (``reason``, ``errorMessage``, ``clientInfo``) goes to the end of the line.
    """
    lengths = _LENGTHS.match(record.text)
    text = record.text[lengths.end() :] if lengths else record.text
    fields: dict[str, str] = {}
    free = _FREE.search(text)
    rest = text[: free.start()] if free else text
    pair = _TRANSITION.search(rest)
    if pair:
        fields["oldState"], fields["newState"] = pair.groups()
    for word in rest.split(" "):
        name, equals, value = word.partition("=")
        if equals and name:
            fields.setdefault(name, value.strip('"'))
    if free:
        fields.setdefault(free[1], free[2].strip('"'))
    return fields
