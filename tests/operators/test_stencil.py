"""The stencil operator against its assembled matrix, in both precisions and dimensions; rows against a slow twin."""

import numpy as np
import pytest

from nonstick.kernels._stencil import _stencil_relax
from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator

SHAPES = [(7, 9), (5, 6, 7), (1, 11), (1, 1), (1, 1, 1), (2, 1, 9)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_and_residuals(make_stencil, shape, dtype):
    A = make_stencil(shape, 2, fill=0.9)
    M = A.matrix().toarray()
    rng = np.random.default_rng(0)
    x, b = rng.standard_normal((2, A.n)).astype(dtype)
    B = A.astype(dtype)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    assert np.allclose(B @ x, M @ x, atol=tolerance)
    assert np.allclose(B.residual(b, x, np.empty_like(x)), b - M @ x, atol=tolerance)
    assert B.apply(x, np.empty_like(x)).dtype == dtype


@pytest.mark.parametrize("shape", SHAPES)
def test_a_matrix_with_cells_becomes_the_same_stencil(make_stencil, shape):
    A = make_stencil(shape, 4, fill=0.9)
    B = StencilOperator.from_matrix(A.matrix(), A.cells)
    assert B is not None and np.array_equal(B.matrix().toarray(), A.matrix().toarray())


def test_couplings_across_corners_are_no_stencil(make_stencil):
    A = make_stencil((4, 4), 0, fill=1.0)
    M = A.matrix().tolil()
    M[0, 5] = M[5, 0] = -0.1
    assert StencilOperator.from_matrix(M.tocsr(), A.cells) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_segments_know_every_neighbour(shape):
    """Offsets lead to the neighbouring unknown wherever there is one; along z at the ends of runs they may not."""
    mask = np.random.default_rng(5).random(shape) < 0.7
    rows = Rows.from_mask(mask)
    number = {tuple(c): t for t, c in enumerate(rows.coordinates())}
    assert rows.start[-1] == rows.n and rows.n == mask.sum()
    for s in range(rows.start.size - 1):
        for t in range(rows.start[s], rows.start[s + 1]):
            cell = rows.coordinates()[t]
            assert (cell.sum() % 2) == (rows.parity[s] + t - rows.start[s]) % 2
            for axis in range(len(shape)):
                for side in (0, 1):
                    other = cell.copy()
                    other[axis] += 2 * side - 1
                    offset = rows.offset[s, 2 * (axis + 3 - len(shape)) + side]
                    if tuple(other) in number:
                        assert t + offset == number[tuple(other)]
                    elif axis < len(shape) - 1:
                        assert offset == 0
                    assert 0 <= t + offset < rows.n


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_red_black_relaxation_against_its_twin(make_stencil, shape, projected):
    A = make_stencil(shape, 3, fill=0.9)
    rng = np.random.default_rng(3)
    x, b = rng.standard_normal((2, A.n))
    lower, upper = np.full(A.n, -0.2), np.full(A.n, 0.3)
    M, twin = A.matrix().toarray(), x.copy()
    for colour in (0, 1):
        rows = A.rows.coordinates().sum(axis=1) % 2 == colour
        step = 1.3 * ((b - M @ twin) / A.diagonal)[rows]
        twin[rows] += step
        if projected:
            twin[rows] = np.clip(twin[rows], lower[rows], upper[rows])
        table = (A.rows.start, A.rows.offset, A.rows.parity)
        _stencil_relax(x, b, lower, upper, *A.weights, A.diagonal, *table, colour, 1.3, projected)
    assert np.allclose(x, twin)
