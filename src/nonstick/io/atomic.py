"""Atomic writing: a file appears complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Write to the path that `with` gives; it replaces `path` only if the block succeeds.

    The temporary file lies beside the target, because only a rename within one file system is atomic.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial{path.suffix}")
    try:
        yield partial
        os.replace(partial, path)
    except OSError as error:
        error.filename = str(path)  # the name the caller knows
        raise
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """`Path.write_text`, atomically."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
