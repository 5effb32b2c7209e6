"""The parts of report formats that canvass uses: SARIF 2.1.0 as a JSON Schema.

Written from the standard's property tables: required properties, types, enumerations and lower
bounds, and no property that an object of the standard does not have. Parts of SARIF that canvass
does not write are left out, so that writing one of them fails here and is added.
"""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string", "minLength": 1}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_BAG = {"type": "object"}


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": properties | {"properties": _BAG},
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


_MESSAGE = _object(("text",), text=_TEXT, markdown=_TEXT)
_LINE = {"type": "integer", "minimum": 1}
_REGION = _object(startLine=_LINE, startColumn=_LINE, endLine=_LINE, endColumn=_LINE)
_ARTIFACT = _object(
    uri={"type": "string", "format": "uri-reference"},
    uriBaseId={"type": "string"},
    index={"type": "integer", "minimum": 0},
    description=_MESSAGE,
)
_PHYSICAL = _object(("artifactLocation",), artifactLocation=_ARTIFACT, region=_REGION)
_LOGICAL = _object(name=_TEXT, fullyQualifiedName=_TEXT, kind=_TEXT)
_LOCATION = _object(
    id={"type": "integer", "minimum": 0},
    physicalLocation=_PHYSICAL,
    logicalLocations=_list(_LOGICAL),
    message=_MESSAGE,
)
_RULE = _object(
    ("id",),
    id=_TEXT,
    name=_TEXT,
    shortDescription=_MESSAGE,
    fullDescription=_MESSAGE,
    help=_MESSAGE,
    helpUri={"type": "string", "format": "uri"},
    defaultConfiguration=_object(level=_LEVEL, enabled={"type": "boolean"}),
)
_DRIVER = _object(("name",), name=_TEXT, version=_TEXT, semanticVersion=_TEXT, rules=_list(_RULE))
_RESULT = _object(
    ("message",),
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=_LEVEL,
    kind={"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
    message=_MESSAGE,
    locations=_list(_LOCATION),
    relatedLocations=_list(_LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
)
_RUN = _object(
    ("tool",),
    tool=_object(("driver",), driver=_DRIVER),
    invocations=_list(
        _object(
            ("executionSuccessful",),
            executionSuccessful={"type": "boolean"},
            exitCode={"type": "integer"},
        )
    ),
    originalUriBaseIds={"type": "object", "additionalProperties": _ARTIFACT},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=_list(_RESULT),
)
SARIF: dict[str, Any] = _object(
    ("version", "runs"),
    version={"const": "2.1.0"},
    runs=_list(_RUN),
) | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
SARIF["properties"]["$schema"] = {"type": "string", "format": "uri"}

JUNIT_ATTRIBUTES: dict[str, set[str]] = {
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname"},
    "properties": set(),
    "property": {"name", "value"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
}
"""The elements of a JUnit file and their attributes; CI servers read no others of ours."""
