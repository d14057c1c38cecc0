"""The measurements of a long table on disk, so that a table that was stopped can continue.

One JSON line per measurement. A measurement is recognised by its case, size and label and by a checksum of its problem
and its start. A table that runs again simulates the motion again, which gives the same bits, and takes earlier solves
from the journal. If the motion has changed, nothing matches, and every solve is measured again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import NonstickError


def checksum(*arrays: np.ndarray | None) -> int:
    """A checksum that distinguishes problems of one size; None counts as an empty array."""
    value = 0
    for array in arrays:
        value = zlib.crc32(b"" if array is None else np.ascontiguousarray(array).tobytes(), value)
    return value


class Journal:
    """`path` is written from the start or, with `resume`, read and continued. Without a path nothing is stored."""

    def __init__(self, path: Path | None = None, settings: Mapping[str, Any] | None = None, resume: bool = False):
        self.path = path
        self._known: dict[str, Any] = {}
        if path is None:
            return
        head = _line({"settings": dict(settings or {})})
        if resume and path.exists():
            self._read(path, head)
        else:
            path.write_text(head, encoding="utf-8")

    def _read(self, path: Path, head: str) -> None:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if not lines or lines[0] != head:
            raise NonstickError(
                f"{path} was measured with other settings: remove --resume to begin again, or give "
                f"the same --rtol, --maxiter, --time-limit and number of threads"
            )
        whole = 0
        for line in lines:
            try:
                entry = json.loads(line) if line.endswith("\n") else None
            except ValueError:
                entry = None
            if entry is None:  # a kill cut off the last line: the following measurements are new
                break
            whole += len(line.encode())
            if "key" in entry:
                self._known[json.dumps(entry["key"])] = entry["value"]
        with path.open("r+b") as file:
            file.truncate(whole)

    def get(self, *key: Any) -> Any | None:
        """The measurement stored under this key, or None."""
        return self._known.get(json.dumps(key))

    def keep(self, value: Any, *key: Any) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(_line({"key": key, "value": value}))

    def __len__(self) -> int:
        """Number of measurements found by `resume`."""
        return len(self._known)


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"
