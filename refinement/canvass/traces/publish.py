"""Write the published JSON Schemas beside the package: ``python -m canvass.traces.publish``."""

from __future__ import annotations

from pathlib import Path

from canvass.traces.schema import published_schemas

FOLDER = Path(__file__).parent / "schemas"


def main() -> None:
    """Write them."""
    FOLDER.mkdir(exist_ok=True)
    for name, contents in published_schemas().items():
        (FOLDER / name).write_bytes(contents)


if __name__ == "__main__":
    main()
