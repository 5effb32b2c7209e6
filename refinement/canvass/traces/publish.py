"""Write the published schemas beside the package: ``python -m canvass.traces.publish``."""

from __future__ import annotations

from pathlib import Path

from canvass.traces.arrow import arrow_schema
from canvass.traces.schema import EVENTS_SCHEMA, published_schemas

FOLDER = Path(__file__).parent / "schemas"


def arrow_columns(member_count: int) -> str:
    """Return the Arrow columns of a data set of clusters of a size, one in each line."""
    return "".join(
        f"{field.name}: {field.type}{'' if field.nullable else ' not null'}\n"
        for field in arrow_schema(member_count)
    )


def published() -> dict[str, bytes]:
    """Return all published schemas by file name. The columns are those of three members."""
    name = f"{EVENTS_SCHEMA.replace('/', '-')}.arrow.txt"
    return published_schemas() | {name: arrow_columns(3).encode()}


def main() -> None:
    """Write them."""
    FOLDER.mkdir(exist_ok=True)
    for name, contents in published().items():
        (FOLDER / name).write_bytes(contents)


if __name__ == "__main__":
    main()
