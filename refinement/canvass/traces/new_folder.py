"""A folder of runs that is written aside, and is in its place only when it is complete."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_aside(out: Path) -> Iterator[Path]:
    """Give the path of a folder to make, which becomes ``out`` if all goes well.

    Parameters
    ----------
    out
        What is not there yet, or an empty folder: that one stays, and gets the files.

    Raises
    ------
    OSError
        As the file system says.
    """
    is_there = out.is_dir()
    if not is_there:
        out.parent.mkdir(parents=True, exist_ok=True)
    place = out if is_there else out.parent
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=place) as aside:
        folder = Path(aside) / "run"
        yield folder
        if is_there:
            for path in sorted(folder.iterdir()):
                shutil.move(path, out)
        else:
            folder.rename(out)
