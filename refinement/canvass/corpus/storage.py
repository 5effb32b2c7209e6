"""Folders and files by path or by URL: `pathlib.Path` on this machine, `UrlPath` in a store.

A `UrlPath` has the methods of `Path` that the package uses, for each file system that pyarrow
reads. The client library of each store reads credentials, region and endpoint from the environment.
A URL with credentials or settings is refused, so that no report or log has a secret.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, NamedTuple
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from canvass.traces.errors import file_named_in_errors

_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's names of file systems, and pyarrow's."""
_CONTAINERS: Final = ("abfs", "abfss")
"""Schemes whose URLs have the name of a container before the @."""
_REGION: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_ENDPOINT: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_PIECE: Final = 1 << 22
_KEEP_COPIES_S: Final = 86_400


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
    def root(self) -> UrlPath:
        """The bucket, container or file system."""
        return UrlPath("/".join(self.url.split("/")[:3]))

    @property
    def suffix(self) -> str:
        """The end of the name from its last dot on."""
        return PurePosixPath(self.name).suffix

    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open a file for reading and seeking."""
        assert mode == "rb"
        with storage_errors(self):
            opened: IO[bytes] = self._fs.open_input_file(self._path)
        return opened

    def read_bytes(self) -> bytes:
        """Read a file."""
        with storage_errors(self), self.open() as file:
            return file.read()

    def write_bytes(self, data: bytes) -> int:
        """Write a file; a reader finds it whole or not at all."""
        # By default pyarrow compresses files whose names end in .gz or .zst.
        with (
            storage_errors(self),
            self._fs.open_output_stream(self._path, compression=None) as stream,
        ):
            stream.write(data)
        return len(data)

    def touch(self) -> None:
        """Write an empty file."""
        self.write_bytes(b"")

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:  # noqa: ARG002 - as `Path` has it
        """Make a folder, if the store has folders."""
        if self.url.startswith("hdfs:"):
            with storage_errors(self):
                self._fs.create_dir(self._path, recursive=True)

    def is_dir(self) -> bool:
        """Tell whether it is a folder."""
        return bool(self._info().type == fs.FileType.Directory)

    def is_file(self) -> bool:
        """Tell whether it is a file."""
        return bool(self._info().type == fs.FileType.File)

    def remove(self) -> None:
        """Remove a folder and its contents, if it exists."""
        with storage_errors(self):
            self._fs.delete_dir_contents(self._path, missing_dir_ok=True)

    def entries(self, *, recursive: bool = False) -> list[Entry]:
        """List a folder; names are relative to it. A missing folder has none."""
        selector = fs.FileSelector(self._path, allow_not_found=True, recursive=recursive)
        with storage_errors(self):
            found = self._fs.get_file_info(selector)
        start = len(self._path.strip("/")) + 1
        return [_entry(each, each.path.strip("/")[start:]) for each in found]

    def entry(self) -> Entry | None:
        """Return size and time; None if nothing is there."""
        info = self._info()
        return None if info.type == fs.FileType.NotFound else _entry(info, self.name)

    def _info(self) -> Any:
        with storage_errors(self):
            return self._fs.get_file_info(self._path)

    @property
    def _fs(self) -> Any:
        return _opened(self.url.split("/", 3)[0], self.url.split("/", 3)[2])[0]

    @property
    def _path(self) -> str:
        scheme, _, host, *rest = self.url.split("/", 3)
        return "/".join([_opened(scheme, host)[1].rstrip("/"), *rest])


def _entry(info: Any, name: str) -> Entry:
    return Entry(name, info.size or 0, info.mtime_ns or 0, info.type == fs.FileType.Directory)


Place = Path | UrlPath
"""A file or folder, on this machine or in a store."""


@lru_cache
def _opened(scheme: str, host: str) -> tuple[Any, str]:
    """Open the file system of a URL; return it with the path of its root."""
    scheme = scheme.rstrip(":")
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


def place_of(text: str | Place) -> Place:
    """Return the place of a path or a URL, whether it exists or not.

    Raises
    ------
    StorageError
        If the text is empty, as that of a shell variable that is not set, if the URL has
        credentials or settings, or if pyarrow has no file system for it.
    """
    if not isinstance(text, str):
        return text
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
    place = UrlPath(text.rstrip("/"))
    _opened(f"{scheme}:", host)
    return place


def absolute(place: Place) -> Place:
    """Return a place that does not depend on the current folder."""
    return place.absolute() if isinstance(place, Path) else place


@contextmanager
def storage_errors(place: Place) -> Iterator[None]:
    """Turn the errors of a store into `StorageError`, one line that names the place."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"{place}: {_one_line(error)}") from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


# --- functions for paths and URLs ----------------------------------------------------------------


def entries(folder: Place) -> list[Entry]:
    """List the entries of a folder by name, without hidden ones.

    Raises
    ------
    OSError
        If a folder on this machine cannot be listed.
    """
    if isinstance(folder, UrlPath):
        found = folder.entries()
    else:
        found = [each for path in folder.iterdir() if (each := entry_of(path)) is not None]
    return sorted(each for each in found if not each.name.startswith("."))


def entry_of(place: Place) -> Entry | None:
    """Return size and time of a file or folder; None if nothing is there."""
    if isinstance(place, UrlPath):
        return place.entry()
    try:
        found = place.lstat()
    except FileNotFoundError:
        return None
    folder, link = stat.S_ISDIR(found.st_mode), stat.S_ISLNK(found.st_mode)
    # A copy may have the modification time of its original; its ctime is the time of the copy.
    changed_ns = max(found.st_mtime_ns, found.st_ctime_ns)
    return Entry(place.name, found.st_size, changed_ns, folder, link)


def files_below(folder: Place) -> list[Entry]:
    """List the files in a folder and its subfolders, with names relative to the folder."""
    if isinstance(folder, UrlPath):
        return sorted(each for each in folder.entries(recursive=True) if not each.folder)
    found = []
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            entry = entry_of(path)
            if entry is not None:
                found.append(entry._replace(name=path.relative_to(folder).as_posix()))
    return sorted(found)


def remove_folder(folder: Place) -> None:
    """Remove a folder and its contents, if it exists."""
    if isinstance(folder, UrlPath):
        folder.remove()
    else:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def writing(place: Place) -> Iterator[Path]:
    """Yield a new local file, and put it in place at the end, unless the block raises."""
    if isinstance(place, UrlPath):
        with tempfile.TemporaryDirectory(prefix="canvass-upload-") as folder:
            aside = Path(folder) / "file"
            yield aside
            with storage_errors(place):
                fs.copy_files(
                    str(aside),
                    place._path,
                    source_filesystem=fs.LocalFileSystem(),
                    destination_filesystem=place._fs,
                )
        return
    aside = place.with_name(f".{place.name}.{uuid4().hex}")
    with file_named_in_errors(place):
        yield aside
    aside.replace(place)


def download(place: Place, target: Path) -> None:
    """Copy a file to this machine."""
    with storage_errors(place), place.open("rb") as source, target.open("wb") as file:
        shutil.copyfileobj(source, file, _PIECE)


def local_folder(folder: Place) -> Path:
    """Return a local folder with the same files, for files that are mapped into memory.

    All processes of a user on a machine share one copy of a folder in a store. A new copy removes
    copies that are older than a day.
    """
    if isinstance(folder, Path):
        return folder
    files = files_below(folder)
    if not files:
        raise StorageError(f"{folder}: there is no such folder")
    base = Path(tempfile.gettempdir()) / f"canvass-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    if base.lstat().st_uid != os.getuid():
        raise StorageError(f"{base}: it is another user's")
    copy = base / blake2b(f"{folder}\n{files}".encode(), digest_size=16).hexdigest()
    if not copy.is_dir():
        for old in base.iterdir():
            if time.time() - old.lstat().st_mtime > _KEEP_COPIES_S:
                shutil.rmtree(old, ignore_errors=True)
        aside = Path(tempfile.mkdtemp(dir=base))
        for file in files:
            (aside / file.name).parent.mkdir(parents=True, exist_ok=True)
            download(folder / file.name, aside / file.name)
        try:
            aside.rename(copy)
        except OSError:  # Another process was faster.
            shutil.rmtree(aside)
    return copy
