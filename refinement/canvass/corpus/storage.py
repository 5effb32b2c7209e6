"""A folder on any file system that pyarrow reads, named by a path or a URL.

Credentials come from the environment, as the client library of each store reads them. A URL with
credentials in it is refused, so that no report or log can hold them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's names of file systems, and pyarrow's."""


class StorageError(Exception):
    """A store cannot be read or written; the message is one line."""


def is_url(text: str) -> bool:
    """Tell whether a place is named by a URL, not by a path."""
    return "://" in text


class Storage:
    """A folder; names below are relative to it, with ``/`` between their parts.

    Parameters
    ----------
    filesystem
        Whose it is.
    root
        The folder, as that file system names it.
    """

    def __init__(self, filesystem: Any, root: str) -> None:
        self._fs = filesystem
        self._root = root.rstrip("/")

    @classmethod
    def of(cls, place: str) -> Storage:
        """Open a folder by its path or URL; it need not exist.

        Raises
        ------
        StorageError
            If the URL has credentials in it, or pyarrow has no such file system.
        """
        if not is_url(place):
            return cls(fs.LocalFileSystem(), str(Path(place).absolute()))
        found = urlsplit(place)
        shown = f"{found.scheme}://{found.hostname or ''}{found.path}"
        if found.username or found.password or "_key=" in found.query:
            reason = "credentials come from the environment, not from a URL"
            raise StorageError(f"{shown}: {reason}")
        scheme = _SCHEMES.get(found.scheme, found.scheme)
        try:
            filesystem, root = fs.FileSystem.from_uri(place.replace(found.scheme, scheme, 1))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise StorageError(f"{shown}: {_one_line(error)}") from None
        return cls(filesystem, root)

    @property
    def local(self) -> Path | None:
        """The folder as a path, if it is on this machine."""
        return Path(self._root) if isinstance(self._fs, fs.LocalFileSystem) else None

    def files(self, folder: str) -> list[str]:
        """List the files in a folder and its subfolders, sorted; a missing folder has none."""
        selector = fs.FileSelector(self._path(folder), allow_not_found=True, recursive=True)
        start = len(self._root) + 1
        with self._errors(folder):
            found = self._fs.get_file_info(selector)
        return sorted(each.path[start:] for each in found if each.type == fs.FileType.File)

    def write_table(self, name: str, table: Any) -> None:
        """Write a table as a Parquet file; its folders are made."""
        with self._errors(name):
            self._make_folder_of(name)
            pq.write_table(table, self._path(name), filesystem=self._fs, compression="zstd")

    def mark(self, name: str) -> None:
        """Write an empty file: it exists from one moment to the next."""
        with self._errors(name):
            self._make_folder_of(name)
            self._fs.open_output_stream(self._path(name)).close()

    def move(self, name: str, target: str) -> None:
        """Move a file; one that stands there is replaced."""
        with self._errors(target):
            self._make_folder_of(target)
            self._fs.move(self._path(name), self._path(target))

    def remove(self, name: str) -> None:
        """Remove a file."""
        with self._errors(name):
            self._fs.delete_file(self._path(name))

    def remove_folder(self, folder: str) -> None:
        """Remove a folder and all that is in it; a missing folder stays missing."""
        with self._errors(folder):
            self._fs.delete_dir_contents(self._path(folder), missing_dir_ok=True)

    def batches(self, folder: str, columns: list[str], where: Any = None) -> Iterator[Any]:
        """Read the Parquet files in a folder with Hive's partitions; a missing folder has none."""
        import pyarrow.dataset as ds

        paths = [self._path(name) for name in self.files(folder) if name.endswith(".parquet")]
        if paths:
            base = self._path(folder)
            options = {"partition_base_dir": base, "partitioning": "hive"}
            with self._errors(folder):
                dataset = ds.dataset(paths, filesystem=self._fs, format="parquet", **options)
                yield from dataset.to_batches(columns=columns, filter=where)

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        """Turn what a store says into one line that names the file."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise StorageError(f"{self._path(name)}: {_one_line(error)}") from None

    def _make_folder_of(self, name: str) -> None:
        if self.local is not None:  # Object stores have no folders.
            self._fs.create_dir(self._path(name).rpartition("/")[0], recursive=True)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
