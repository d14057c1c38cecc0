"""Wavefront files (`.obj`): a mesh as text, with normals. The format has no place for velocity."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...kernels import merged, serial
from .mesh import TriangleMesh


def write(path: str | Path, mesh: TriangleMesh, name: str = "liquid") -> None:
    """Write a mesh as one object.

    Examples
    --------
    >>> import tempfile
    >>> write(tempfile.mktemp(suffix=".obj"), TriangleMesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]])))
    """
    # eight digits of the largest coordinate: float32 has seven
    largest = float(np.abs(mesh.vertices).max(initial=1e-9))
    decimals = int(np.clip(7 - np.floor(np.log10(largest)), 0, 12))
    with open(path, "wb") as file:
        file.write(f"# metres, y up\no {name}\n".encode())
        file.write(rows("v", mesh.vertices, decimals))
        file.write(rows("vn", mesh.normals(), 4))
        file.write(rows("f", mesh.faces + 1, twice=True))


#: bytes of a number at most: sign, 19 digits, point
LONGEST = 21
#: 00 to 99
PAIRS = np.frombuffer("".join(f"{n:02d}" for n in range(100)).encode("ascii"), np.uint8)
_MINUS, _POINT, _SPACE, _SLASH, _LINE = b"-. /\n"


def rows(word: str, values: np.ndarray, decimals: int = 0, twice: bool = False) -> memoryview:
    r"""Lines with a word and the numbers of a row, rounded to some decimals; `twice` writes every number as `7//7`.

    Examples
    --------
    >>> rows("v", np.array([[0.5, -1.25, 3.0]]), 2).tobytes()
    b'v 0.50 -1.25 3.00\n'
    >>> rows("f", np.array([[1, 2, 3]]), twice=True).tobytes()
    b'f 1//1 2//2 3//3\n'
    """
    begin = np.frombuffer(word.encode("ascii"), np.uint8)
    n, m = values.shape
    largest = float(np.abs(values).max(initial=0.0)) * 10.0**decimals + 1.0
    longest = min(LONGEST, max(len(str(int(largest))), decimals + 1) + 2)
    out = np.empty(n * (begin.size + 1 + m * ((longest + 1) * (1 + twice) + 1)), np.uint8)
    return out[: _rows(out, begin, values, 10.0**decimals, decimals, twice, PAIRS)].data


@merged
def _digits(out, end, value, length, pairs):
    """The last digits of a whole number, before `end`; two at a time, from a table."""
    q, hundred = end, np.uint64(100)
    for _ in range(length >> 1):
        high = value // hundred
        two = np.uintp(2) * (value - high * hundred)
        q -= np.uintp(2)
        out[q], out[q + np.uintp(1)] = pairs[two], pairs[two + np.uintp(1)]
        value = high
    if length & 1:
        out[q - np.uintp(1)] = pairs[np.uintp(2) * (value % np.uint64(10)) + np.uintp(1)]


@merged
def _number(out, at, value, unit, decimals, pairs):
    """Write a whole number, in parts of 10^decimals = unit, with as many decimals; returns where it ends."""
    out[at] = _MINUS  # overwritten if it is not; a branch here would be guessed wrong half of the time
    at += np.uintp(value < 0)
    rest, length, power = np.uint64(abs(value)), 1, np.uint64(10)
    whole = rest // unit if decimals else rest
    while power <= whole and length < 19:
        power *= np.uint64(10)
        length += 1
    at += np.uintp(length)
    _digits(out, at, whole, length, pairs)
    if decimals:
        out[at] = _POINT
        at += np.uintp(1 + decimals)
        _digits(out, at, rest - whole * unit, decimals, pairs)
    return at


@serial
def _rows(out, word, values, scale, decimals, twice, pairs):
    """All lines, of whole numbers `values` times `scale`; returns the number of bytes."""
    at, one, unit = np.uintp(0), np.uintp(1), np.uint64(scale)
    for row in range(len(values)):
        for c in word:
            out[at] = c
            at += one
        for column in range(values.shape[1]):
            out[at] = _SPACE
            at += one
            begin = at
            at = _number(out, at, np.int64(np.floor(values[row, column] * scale + 0.5)), unit, decimals, pairs)
            if twice:
                length = at - begin
                out[at] = _SLASH
                out[at + one] = _SLASH
                for q in range(length):
                    out[at + np.uintp(2) + q] = out[begin + q]
                at += np.uintp(2) + length
        out[at] = _LINE
        at += one
    return at
