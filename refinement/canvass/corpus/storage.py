"""Folders and files by path or by URL: `pathlib.Path` on this machine, `UrlPath` in a store.

A store is any file system that pyarrow reads. Its client library takes credentials, region and
endpoint from the environment. A URL with credentials or settings is refused, so that no report or
log has a secret.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's names of file systems, and pyarrow's."""
_CONTAINERS: Final = ("abfs", "abfss")
"""Schemes whose URLs have the name of a container before the @."""
_REGION: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_ENDPOINT: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_PART: Final = "part-00000.parquet"


class StorageError(Exception):
    """A store cannot be read or written; the message is one line."""


class Entry(NamedTuple):
    """A file or folder in a folder."""

    name: str
    size: int
    modified_ns: int
    """Time of the last change of its contents; on this machine also of its name or owner."""
    folder: bool
    link: bool = False
    """Whether it is a symbolic link, which is not followed."""


@dataclass(frozen=True, order=True)
class UrlPath:
    """A file or folder in a store; each method raises `StorageError` if the store refuses it.

    Parameters
    ----------
    url
        Its URL, without a slash at the end. Names in it are as the store has them, not quoted.
    """

    url: str

    def __str__(self) -> str:
        """Give the URL."""
        return self.url

    def __truediv__(self, name: str) -> UrlPath:
        """Return the entry of this folder with a name."""
        return UrlPath(f"{self.url}/{name}")

    @property
    def name(self) -> str:
        """The last part."""
        return self.url.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The end of the name from its last dot on."""
        return PurePosixPath(self.name).suffix

    def write_bytes(self, data: bytes) -> int:
        """Write a file; a reader finds it whole or not at all."""
        # By default pyarrow compresses files whose names end in .gz or .zst.
        with store(self) as (files, path), files.open_output_stream(path, compression=None) as out:
            out.write(data)
        return len(data)

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a store makes the folders of a file when the file is written."""

    def is_file(self) -> bool:
        """Tell whether it is a file."""
        with store(self) as (files, path):
            return bool(files.get_file_info(path).is_file)


Place = Path | UrlPath
"""A file or folder, on this machine or in a store."""


@lru_cache
def _opened(scheme: str, host: str) -> tuple[Any, str]:
    """Open the file system of a URL; return it with the path of its root."""
    scheme = _SCHEMES.get(scheme, scheme)
    url = f"{scheme}://{host}/"
    try:
        filesystem, root = fs.FileSystem.from_uri(url + (_region() if scheme == "s3" else ""))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StorageError(f"{url}: {_one_line(error)}") from None
    return filesystem, root


def _region() -> str:
    """Return the region of S3 as a query: pyarrow does not read it from the environment."""
    named = next(filter(None, map(os.environ.get, _REGION)), "")
    if not named and any(map(os.environ.get, _ENDPOINT)):
        named = "us-east-1"  # Without a region pyarrow asks Amazon.
    return f"?region={named}" if named else ""


@contextmanager
def store(place: Place) -> Iterator[tuple[Any, str]]:
    """Yield the file system of a place and the path in it.

    Errors become `StorageError`, one line that names the place.
    """
    try:
        if isinstance(place, Path):
            yield fs.LocalFileSystem(), str(place)
        else:
            scheme, _, host, *rest = place.url.split("/", 3)
            files, root = _opened(scheme.rstrip(":"), host)
            yield files, "/".join([root.rstrip("/"), *rest])
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"{place}: {_one_line(error)}") from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def place_of(text: str) -> Place:
    """Return the place of a path or a URL, whether it exists or not.

    Raises
    ------
    StorageError
        If the text is empty, as that of a shell variable that is not set, if the URL has
        credentials or settings, or if pyarrow has no file system for it.
    """
    if not text:
        raise StorageError("the path is empty")
    text = text.removeprefix("file://") if text.startswith("file:///") else text
    scheme, separator, rest = text.partition("://")
    if not separator:
        return Path(text)
    host, _, path = rest.partition("/")
    user, at, server = host.rpartition("@")
    settings = "?" in rest or "#" in rest
    if settings or (at and (scheme not in _CONTAINERS or ":" in user)):
        shown = f"{scheme}://{server}/{path}".partition("?")[0].partition("#")[0]
        reason = "credentials and settings come from the environment, not from a URL"
        raise StorageError(f"{shown}: {reason}")
    _opened(scheme, host)
    return UrlPath(text.rstrip("/"))


def absolute(place: Place) -> Place:
    """Return a place that does not depend on the current folder."""
    return place.absolute() if isinstance(place, Path) else place


def tree(root: Place) -> Mapping[str, list[Entry]]:
    """List a folder and all below it: the entries of each folder by name.

    Folders are named from the root, which is empty. Hidden entries are left out. A folder on this
    machine that cannot be listed has no entries, unless it is the root.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    OSError
        If the root cannot be listed.
    """
    found = defaultdict[str, dict[str, Entry]](dict)
    for entry in _walked(root) if isinstance(root, Path) else files_below(root):
        # The store may list folders without their parents.
        *folders, name = parts = entry.name.split("/")
        if any(part.startswith(".") for part in parts):
            continue
        for depth, folder in enumerate(folders):
            inner = Entry(folder, 0, 0, folder=True)
            found["/".join(folders[:depth])].setdefault(folder, inner)
        found["/".join(folders)][name] = entry._replace(name=name)
    if not found and not isinstance(root, Path):
        raise FileNotFoundError
    listed = {folder: sorted(entries.values()) for folder, entries in found.items()}
    return defaultdict(list, listed)


def _walked(root: Path) -> Iterator[Entry]:
    """Yield the files and folders below a folder, with names relative to it."""
    os.scandir(root).close()  # Raises what `os.walk` does not.
    for folder, folders, files in os.walk(root):
        for path in (Path(folder, name) for name in (*folders, *files)):
            yield entry_of(path)._replace(name=str(path.relative_to(root)))


def entry_of(place: Place) -> Entry:
    """Return size and time of a file or folder on this machine, or of a file in a store."""
    if isinstance(place, UrlPath):
        with store(place) as (files, path):
            info = files.get_file_info(path)
        return Entry(place.name, info.size or 0, info.mtime_ns or 0, folder=False)
    found = place.lstat()
    # A copy may have the modification time of its original; its ctime is the time of the copy.
    changed_ns = max(found.st_mtime_ns, found.st_ctime_ns)
    link = place.is_symlink()
    return Entry(place.name, found.st_size, changed_ns, place.is_dir() and not link, link)


def files_below(folder: Place) -> list[Entry]:
    """List the files below a folder, with names relative to it; none if it does not exist."""
    with store(folder) as (files, path):
        selector = fs.FileSelector(path, allow_not_found=True, recursive=True)
        found = files.get_file_info(selector)
    start = len(path.strip("/")) + 1
    return sorted(
        Entry(each.path.strip("/")[start:], each.size, each.mtime_ns or 0, folder=False)
        for each in found
        if each.is_file
    )


@contextmanager
def on_this_machine(place: Place) -> Iterator[Path]:
    """Yield a path with the contents of a place; for the block, those of a URL are copied.

    If there is nothing at the URL, the copy is an empty folder.
    """
    if isinstance(place, Path):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="canvass-copy-") as scratch:
        copy = Path(scratch, place.name)
        with store(place) as (files, path):
            kind = files.get_file_info(path).type
            if kind != fs.FileType.File:
                copy.mkdir()
            if kind != fs.FileType.NotFound:
                fs.copy_files(path, str(copy), source_filesystem=files)
        yield copy


# --- tables ---------------------------------------------------------------------------------------


def clear(folder: Place) -> None:
    """Remove the contents of a folder, if it exists."""
    with store(folder) as (files, path):
        files.delete_dir_contents(path, missing_dir_ok=True)


def write_table(table: Any, folder: Place, constants: Mapping[str, Any]) -> None:
    """Replace the table in a folder, with further columns of one value each.

    A reader finds each file whole.
    """
    for name, value in constants.items():
        table = table.append_column(name, pa.repeat(pa.scalar(value), len(table)))
    clear(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with store(folder) as (files, path):
        pq.write_table(table, f"{path}/.{_PART}", filesystem=files, compression="zstd")
        files.move(f"{path}/.{_PART}", f"{path}/{_PART}")


def read_table(folder: Place) -> Any:
    """Open a table as a `pyarrow.dataset.Dataset`, with the columns of its partitions."""
    import pyarrow.dataset as ds  # Loads pandas, which workers do not need.

    with store(folder) as (files, path):
        return ds.dataset(path, filesystem=files, partitioning="hive", format="parquet")
