"""Files and folders that appear complete or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from canvass.traces.errors import file_named_in_errors


@contextmanager
def written_aside(out: Path) -> Iterator[Path]:
    """Yield the path of a new folder or file, which becomes ``out`` unless the block raises.

    Parameters
    ----------
    out
        The path of the result. If it is an empty folder, it stays and gets the files.

    Raises
    ------
    OSError
        As the file system says; it names ``out`` or a file in it.
    """
    is_there = out.is_dir()
    if not is_there:
        out.parent.mkdir(parents=True, exist_ok=True)
    place = out if is_there else out.parent
    try:
        # With the name of ``out`` the name could be too long.
        made = tempfile.TemporaryDirectory(prefix=".canvass-", dir=place)
    except OSError as error:
        error.filename = str(out)
        raise
    with made as aside:
        folder = Path(aside) / "run"
        try:
            with file_named_in_errors(folder):
                yield folder
        except OSError as error:
            if error.filename is not None:
                error.filename = str(error.filename).replace(str(folder), str(out))
            raise
        if is_there:
            for path in sorted(folder.iterdir()):
                shutil.move(path, out)
        else:
            folder.replace(out)
