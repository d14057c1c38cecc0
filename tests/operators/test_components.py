"""Connected parts of a sparse matrix, against SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from nonstick.operators import CSROperator, Masked


@pytest.mark.parametrize("n, density, seed", [(0, 0.0, 0), (1, 0.0, 0), (40, 0.01, 1), (40, 0.05, 2), (300, 0.004, 3)])
def test_parts_of_a_random_graph(n, density, seed):
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=density, random_state=rng)
    A = sp.csr_array(A + A.T + sp.eye_array(n))
    A.data[rng.random(A.nnz) < 0.1] = 0.0  # stored zeros are no couplings
    A = sp.csr_array(A.multiply((A != 0).T))  # in both directions
    clean = A.copy()
    clean.eliminate_zeros()
    count, label = CSROperator(A).components()
    expected, names = connected_components(clean, directed=False)
    assert count == expected and np.array_equal(label, names)
    if n:
        free = rng.random(n) < 0.7
        masked = Masked(CSROperator(A), free)
        assert masked.components()[0] == connected_components(masked.matrix(), directed=False)[0]
