"""The assembled stencil against a plain construction."""

import numpy as np
import pytest

from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator


@pytest.mark.parametrize("shape", [(6, 5, 7), (9, 8), (1, 1), (1, 5), (5, 1), (2, 1, 3)])
@pytest.mark.parametrize("fill", [1.0, 0.6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries(shape, fill, dtype):
    rng = np.random.default_rng(len(shape))
    rows = Rows.from_mask(rng.random(shape) < fill)
    right = rows.neighbours()
    w = tuple(np.where((right[:, a] >= 0) & (rng.random(rows.n) < 0.8), rng.random(rows.n), 0.0) for a in range(3))
    d = np.where(rng.random(rows.n) < 0.9, 7.0, 0.0)
    expected = np.diag(d)
    for a in range(3):
        for t in np.flatnonzero(w[a]):
            expected[t, right[t, a]] = expected[right[t, a], t] = -w[a][t]
    A = StencilOperator(rows, w, d).astype(dtype)
    M = A.matrix()
    assert M.dtype == dtype and M.has_sorted_indices and M.has_canonical_format
    np.testing.assert_allclose(M.toarray(), expected, rtol=1e-6)
    x = rng.standard_normal(rows.n).astype(dtype)
    np.testing.assert_allclose(A @ x, expected @ x, rtol=1e-4, atol=1e-5)
