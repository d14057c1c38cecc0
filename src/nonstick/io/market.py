"""Matrix Market files: https://math.nist.gov/MatrixMarket/formats.html.

SciPy's reader is fast but a damaged file can crash it (SciPy 1.17: a letter in place of a number, in some builds). So
the text is read here. NumPy turns it into numbers, and every index is checked before a matrix is made of them.
"""

from __future__ import annotations

import bz2
import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

#: gzip and bzip2 make text at most about this many times smaller
_PACKED = 2000
_OPEN: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
_FIELDS = {"real": 1, "double": 1, "integer": 1, "pattern": 0}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
#: a head, with comments, is no longer than this many lines
_HEAD = 100_000


def is_market(path: Path) -> bool:
    """True if the name says Matrix Market."""
    return path.suffix == ".mtx" or path.name.endswith((".mtx.gz", ".mtx.bz2"))


def read_market(path: Path) -> sp.coo_array | np.ndarray:
    """The matrix of a file: sparse if it lists coordinates, dense if it lists an array. ValueError if it is neither."""
    size = path.stat().st_size * (1 if path.suffix == ".mtx" else _PACKED)
    with _OPEN.get(path.suffix, open)(path, "rb") as file:
        form, field, symmetry, sides = _head(file)
        rows, columns = sides[:2]
        entries = sides[2] if form == "coordinate" else _listed(rows, columns, symmetry)
        if entries > size or (form == "coordinate" and max(rows, columns) > size):
            raise ValueError(f"its head promises {rows} × {columns} with {entries} entries, more than the file has")
        width = _FIELDS[field] + 2 * (form == "coordinate")
        numbers = _numbers(file, entries * width).reshape(entries, width)
    if form == "array":
        return _dense(numbers[:, 0], rows, columns, symmetry)
    i, j = _index(numbers[:, 0], rows, "row"), _index(numbers[:, 1], columns, "column")
    values = numbers[:, 2] if field != "pattern" else np.ones(entries)
    if symmetry != "general":
        off = i != j
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        i, j = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
        values = np.concatenate([values, sign * values[off]])
    return sp.coo_array((np.ascontiguousarray(values), (i, j)), shape=(rows, columns))


def _head(file) -> tuple[str, str, str, list[int]]:
    """Form, field, symmetry and sides; the file is left at its first entry."""
    words = file.readline(1000).decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("its first line must be '%%MatrixMarket matrix FORM FIELD SYMMETRY'")
    form, field, symmetry = words[2:]
    if form not in ("coordinate", "array") or symmetry not in _SYMMETRIES or field not in _FIELDS:
        raise ValueError(
            f"its first line says {form} {field} {symmetry}, and what can be read is coordinate or array, "
            f"{', '.join(_FIELDS)}, {', '.join(_SYMMETRIES)}"
        )
    if form == "array" and field == "pattern":
        raise ValueError("an array cannot be a pattern")
    for _ in range(_HEAD):
        line = file.readline(10_000)
        if line.strip() and not line.startswith(b"%"):
            break
    sides = line.split()
    if len(sides) != (3 if form == "coordinate" else 2) or not all(side.isdigit() and len(side) < 16 for side in sides):
        raise ValueError(f"the sizes are missing: its head ends in {line[:40].decode('latin-1').strip()!r}")
    if symmetry != "general" and sides[0] != sides[1]:
        raise ValueError(f"a {symmetry} matrix cannot be {int(sides[0])} × {int(sides[1])}")
    return form, field, symmetry, [int(side) for side in sides]


def _listed(rows: int, columns: int, symmetry: str) -> int:
    """Entries of a dense matrix that a file lists: the lower triangle is enough for a symmetric one."""
    return {"general": rows * columns, "symmetric": rows * (rows + 1) // 2}.get(symmetry, rows * (rows - 1) // 2)


def _numbers(file, count: int) -> np.ndarray:
    """The numbers of the rest of the file, which must be as many as promised."""
    text = file.read(64 * count + 10_000)  # a number with its spaces is shorter than 64 letters
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy only warns where the text is no number
        try:
            found = np.fromstring(text.decode("latin-1"), sep=" ")
        except (DeprecationWarning, ValueError):
            raise ValueError("there is something among its entries that is not a number") from None
    if found.size != count:
        raise ValueError(f"its head promises {count} numbers and it has {found.size}")
    return found


def _index(numbers: np.ndarray, side: int, name: str) -> np.ndarray:
    """Indices from 0, checked."""
    if numbers.size and not (numbers.min() >= 1 and numbers.max() <= side and np.all(numbers == np.floor(numbers))):
        wrong = numbers[~((numbers >= 1) & (numbers <= side) & (numbers == np.floor(numbers)))][0]
        raise ValueError(f"an entry names {name} {wrong:g} of 1 to {side}")
    return numbers.astype(np.int64) - 1


def _dense(values: np.ndarray, rows: int, columns: int, symmetry: str) -> np.ndarray:
    """The matrix of its entries, column by column."""
    if symmetry == "general":
        return values.reshape(columns, rows).T
    skew = symmetry == "skew-symmetric"
    out = np.zeros((rows, rows))
    j, i = np.triu_indices(rows, int(skew))  # by columns of the lower triangle
    out[i, j] = values
    out[j, i] = -values if skew else values
    return out
