"""Deterministic vector operations against NumPy."""

import numpy as np
import pytest

from nonstick.kernels._vector import BLOCK, peak_and_sum


@pytest.mark.parametrize("n", [0, 1, BLOCK, 3 * BLOCK + 17])
def test_peak_and_sum(n):
    x = np.random.default_rng(n).standard_normal(n)
    peak, total = peak_and_sum(x)
    assert peak == np.abs(x).max(initial=0.0)
    assert np.isclose(total, x.sum())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_peak_does_not_hide_what_is_not_a_number(bad):
    x = np.ones(2 * BLOCK)
    x[BLOCK + 5] = bad
    assert np.array_equal(peak_and_sum(x)[0], abs(bad), equal_nan=True)
