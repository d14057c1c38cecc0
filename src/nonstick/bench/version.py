"""The version that stands in rows: of the package, and a hash of its source, so that every change can be told."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from .. import __version__


@cache
def version() -> str:
    """The version of the package and of its source.

    Examples
    --------
    >>> from nonstick.bench.version import version
    >>> version().count("+")
    1
    """
    root = Path(__file__).parents[1]
    text = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        text.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return f"{__version__}+{text.hexdigest()[:7]}"
