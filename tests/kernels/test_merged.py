"""Functions that only kernels call."""

import numpy as np
from numba import config, njit

from nonstick.kernels import merged


@merged
def _power(x, exponent):
    out = 1.0
    for _ in range(exponent):
        out *= x
    return out


@njit  # without a cache, from which it would come without a look at what it calls
def _powers(out, x):
    out[0], out[1], out[2] = _power(x, 0), _power(x, 2), _power(x, exponent=3)


def test_merged_functions_are_compiled_once_for_all_numbers():
    out = np.empty(3)
    _powers(out, 1.5)
    assert np.array_equal(out, [1.0, 2.25, 3.375])
    assert config.DISABLE_JIT or len(_power.signatures) == 1
