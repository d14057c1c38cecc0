"""Vectors of eight numbers, in kernels and in Python."""

import numpy as np

from nonstick.kernels import serial
from nonstick.kernels._lanes import LANES, choose, load, spread, store


@serial
def _all_of_them(out, a, b, number):
    """Every operation once, each into a place of its own; the first vector begins inside the array."""
    x, y = load(a, np.uintp(1)), load(b, np.uintp(0))
    store(out, np.uintp(0), x + y)
    store(out, np.uintp(8), x - y)
    store(out, np.uintp(16), x * y)
    store(out, np.uintp(24), spread(number))
    store(out, np.uintp(32), choose(x, y, spread(2)))


def test_lanes_are_arrays_of_eight():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=LANES + 1).astype(np.float32) for _ in range(2))
    a[3], a[4] = 0.0, -0.0  # not negative
    out = np.full(5 * LANES + 1, 7.0, np.float32)
    _all_of_them(out, a, b, 0.1)
    x, y = a[1:], b[:LANES]
    expected = [x + y, x - y, x * y, np.full(LANES, 0.1, np.float32), np.where(x < 0.0, y, np.float32(2.0))]
    assert np.array_equal(out[:-1], np.concatenate(expected))
    assert out[-1] == 7.0
