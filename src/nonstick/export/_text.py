"""Numbers as text, many at a time: rows of a Wavefront file."""

from __future__ import annotations

import numpy as np

from ..kernels import merged, serial

#: bytes of a number at most: sign, 19 digits, point
LONGEST = 21
_ZERO, _MINUS, _POINT, _SPACE, _SLASH, _LINE = b"0-. /\n"


def rows(word: str, values: np.ndarray, decimals: int = 0, twice: bool = False) -> bytes:
    r"""Lines with a word and the numbers of a row, rounded to some decimals; `twice` writes every number as `7//7`.

    Examples
    --------
    >>> rows("v", np.array([[0.5, -1.25, 3.0]]), 2)
    b'v 0.50 -1.25 3.00\n'
    >>> rows("f", np.array([[1, 2, 3]]), twice=True)
    b'f 1//1 2//2 3//3\n'
    """
    whole = np.rint(values * 10.0**decimals).astype(np.int64) if decimals else values.astype(np.int64)
    begin = np.frombuffer(word.encode("ascii"), np.uint8)
    n, m = whole.shape
    longest = min(LONGEST, len(str(int(np.abs(whole).max(initial=0)))) + decimals + 3)
    out = np.empty(n * (begin.size + 1 + m * (longest + 3) * (1 + twice)), np.uint8)
    return out[: _rows(out, begin, whole, decimals, twice)].tobytes()


@merged
def _number(out, at, value, decimals):
    """Write a whole number with a point before its last `decimals` digits; returns where it ends."""
    if value < 0:
        out[at] = _MINUS
        at += 1
        value = -value
    length, rest = 1, value
    while rest >= 10:
        rest //= 10
        length += 1
    length = max(length, decimals + 1)
    end = at + length + (decimals > 0)
    q = end
    for digit in range(length):
        if digit == decimals and decimals > 0:
            q -= 1
            out[q] = _POINT
        q -= 1
        out[q] = _ZERO + value % 10
        value //= 10
    return end


@serial
def _rows(out, word, values, decimals, twice):
    """All lines; returns the number of bytes."""
    at = 0
    for row in range(len(values)):
        for c in word:
            out[at] = c
            at += 1
        for column in range(values.shape[1]):
            out[at] = _SPACE
            at = _number(out, at + 1, values[row, column], decimals)
            if twice:
                out[at] = _SLASH
                out[at + 1] = _SLASH
                at = _number(out, at + 2, values[row, column], decimals)
        out[at] = _LINE
        at += 1
    return at
