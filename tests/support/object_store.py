"""An S3 server on the loopback interface, for tests whose files are in an object store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from canvass.corpus import storage
from canvass.corpus.storage import UrlPath, files_below, store

KEY, SECRET = "AKIATESTKEYOFNOBODY7", "s3cr3t-of-nobody-s3cr3t-of-nobody-s3cr3t"
BUCKET = "lake"


@contextmanager
def object_store() -> Iterator[UrlPath]:
    """Start a server with an empty bucket; set its address and credentials in the environment."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    # All servers of a process share their buckets, which are not removed when a server stops.
    with urlopen(Request(f"http://{host}:{port}/moto-api/reset", method="POST")):
        pass
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_REGION", "us-east-1")
        storage._opened.cache_clear()
        try:
            options = "region=us-east-1&allow_bucket_creation=true"
            fs.FileSystem.from_uri(f"s3://{BUCKET}?{options}")[0].create_dir(BUCKET)
            yield UrlPath(f"s3a://{BUCKET}")
        finally:
            storage._opened.cache_clear()
            server.stop()


def upload(folder: Path, target: UrlPath) -> None:
    """Put the files of a folder in a store."""
    for file in files_below(folder):
        (target / file.name).write_bytes((folder / file.name).read_bytes())


def contents(folder: UrlPath) -> dict[str, bytes]:
    """Read all that is in a folder of a store."""
    with store(folder) as (files, path):
        return {
            file.name: files.open_input_file(f"{path}/{file.name}").read()
            for file in files_below(folder)
        }
