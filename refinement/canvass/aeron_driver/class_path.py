"""The class path of an Aeron release: its entries, and the bytes of its classes."""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from canvass.aeron_driver import DriverError

REVISION_149: Final = "1.49"
REVISION_150: Final = "1.50"

_AGENT: Final = "io/aeron/cluster/ConsensusModuleAgent.class"
_VERSION: Final = "io/aeron/AeronVersion.class"
_MANIFEST: Final = "META-INF/MANIFEST.MF"
_RELEASE: Final = re.compile(rb"[\x00-\xff]{2}(\d+\.\d+\.\d+(?:-SNAPSHOT)?)")
_TITLE: Final = re.compile(r"^Implementation-Version: (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class ClassPath:
    """Folders and jars, in order.

    Parameters
    ----------
    entries
        Each exists.
    """

    entries: tuple[Path, ...]

    @classmethod
    def parse(cls, text: str) -> ClassPath:
        """Read a class path as ``java -cp`` does; ``folder/*`` stands for the jars of a folder.

        Raises
        ------
        DriverError
            If an entry does not exist, or no entry holds Aeron Cluster.
        """
        entries: list[Path] = []
        for part in filter(None, text.split(os.pathsep)):
            path = Path(part)
            if path.name == "*":
                jars = sorted(path.parent.glob("*.jar"))
                if not jars:
                    raise DriverError(f"--classpath: {path.parent} holds no jar")
                entries += jars
            elif not path.exists():
                raise DriverError(f"--classpath: {path} does not exist")
            else:
                entries.append(path)
        found = cls(tuple(path.absolute() for path in entries))
        if found.content(_AGENT) is None:
            raise DriverError(
                "--classpath holds no Aeron Cluster: none of its entries has"
                f" {_AGENT.removesuffix('.class').replace('/', '.')}"
            )
        return found

    @property
    def text(self) -> str:
        """The class path for ``java -cp``."""
        return os.pathsep.join(map(str, self.entries))

    def content(self, name: str) -> bytes | None:
        """Return the first file of a name, none if there is none.

        Raises
        ------
        DriverError
            If a jar cannot be read.
        """
        return next(self._contents(name), None)

    def _contents(self, name: str) -> Iterator[bytes]:
        for entry in self.entries:
            if entry.is_dir():
                path = entry / name
                if path.is_file():
                    yield path.read_bytes()
                continue
            try:
                with zipfile.ZipFile(entry) as jar:
                    yield jar.read(name)
            except KeyError:
                continue
            except (OSError, zipfile.BadZipFile) as error:
                raise DriverError(f"--classpath: {entry} is not a jar: {error}") from None

    @cached_property
    def release(self) -> str:
        """The release, as Aeron's own class or the jar's manifest names it; ``unknown`` else."""
        constant = _RELEASE.search(self.content(_VERSION) or b"")
        if constant:
            return constant[1].decode()
        for manifest in self._contents(_MANIFEST):
            title = _TITLE.search(manifest.decode(errors="replace"))
            if title:
                return title[1]
        return "unknown"

    @cached_property
    def revision(self) -> str:
        """The revision of the protocol that the release should follow."""
        codec = self.content("io/aeron/cluster/codecs/NewLeadershipTermDecoder.class") or b""
        return REVISION_150 if b"commitPositionEncodingOffset" in codec else REVISION_149

    @cached_property
    def digest(self) -> str:
        """A digest of the names, sizes and times of the entries, and of Aeron Cluster's agent."""
        found = hashlib.sha256(self.content(_AGENT) or b"")
        for entry in self.entries:
            status = entry.stat()
            found.update(f"{entry} {status.st_size} {status.st_mtime_ns}\n".encode())
        return found.hexdigest()
