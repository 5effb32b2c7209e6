"""JSON documents that a user opens: one line of error if one cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec


@contextmanager
def reading(file: Path, error: type[Exception], unlike: str) -> Iterator[None]:
    """Raise ``error`` with one line if ``file`` cannot be read or decoded.

    Parameters
    ----------
    file
        The file that is read within the context.
    error
        The class of the error.
    unlike
        The text for JSON of another form, such as "not a counterexample".
    """
    try:
        yield
    except OSError as problem:
        raise error(f"{file}: {problem.strerror}") from None
    except msgspec.ValidationError as problem:
        raise error(f"{file}: {unlike}: {problem}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise error(f"{file}: not JSON: {problem}") from None
