"""Products with a sparse matrix against NumPy, for rows of every length, and with a matrix that has few zeros."""

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick.kernels._csr import _csr_check_pairs, _dense_apply
from nonstick.operators.csr import CSROperator


@pytest.mark.parametrize("density", [0.05, 0.2, 0.6])
def test_products_against_numpy(density):
    rng = np.random.default_rng(0)
    M = sp.random_array((37, 37), density=density, random_state=rng) + sp.eye_array(37)
    lengths = np.diff(sp.csr_array(M).indptr)
    A, full = CSROperator(M, symmetric=False), sp.csr_array(M).toarray()
    assert lengths.size > len(set(lengths % 4)) > 2  # the four sums, with and without rows left over
    x, b = rng.standard_normal((2, 37))
    np.testing.assert_allclose(A.apply(x, np.empty(37)), full @ x, atol=1e-13)
    np.testing.assert_allclose(A.residual(b, x, np.empty(37)), b - full @ x, atol=1e-13)
    np.testing.assert_allclose(A.magnitude(x, np.empty(37)), abs(full) @ abs(x), atol=1e-13)
    assert (A.full is not None) == (density > 0.3)
    np.testing.assert_allclose(_dense(full, x), full @ x, atol=1e-13)


def _dense(A, x):
    out = np.empty(x.size)
    _dense_apply(out, x, A)
    return out


def test_pairs_of_entries_in_any_pattern():
    rng, where, values = np.random.default_rng(1), np.empty(2, np.int64), np.empty(2)
    found = set()
    for k in range(60):
        M = sp.csr_array(sp.random_array((9, 9), density=0.3, random_state=rng) * 0.1 + 2 * sp.eye_array(9))
        if k % 2:
            M = sp.csr_array(M + M.T)
        if k % 6 == 1:  # an entry without its twin
            M.data[M.indptr[4]] += 0.05
        M.sum_duplicates()
        M.sort_indices()
        full = M.toarray()
        wanted = 0 if np.allclose(full, full.T, atol=1e-9) else 1
        assert _csr_check_pairs(where, values, M.data, M.indices, M.indptr, np.sqrt(M.diagonal()), 1e-8) == wanted
        found.add(wanted)
    assert found == {0, 1}
