"""The sparse Cholesky factor against dense algebra."""

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import elasticity, grid, plate, random_couplings

from nonstick.inverse.cholesky import factor as cholesky
from nonstick.inverse.cholesky._symbolic import _largest_stack
from nonstick.inverse.cholesky.factor import CholeskyFactor, Fronts, fronts
from nonstick.inverse.krylov.direct import Direct, Factor
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked


def arrow(n):
    A = sp.lil_array((n, n))
    A.setdiag(np.full(n, float(n)))
    A[0, :], A[:, 0] = -1.0, -1.0
    A[0, 0] = n
    return A


MATRICES = {
    "one": lambda: sp.eye_array(1) * 3.0,
    "diagonal": lambda: sp.diags_array(np.arange(1.0, 8.0)),
    "chain": lambda: sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(50, 50)),
    "arrow": lambda: arrow(40),
    "grid": lambda: grid(13),
    "two parts": lambda: sp.block_diag([grid(5), grid(4)]),
    "plate": lambda: plate(11)[0],
    "elasticity": lambda: elasticity(9, 6)[0] + 1e-3 * sp.eye_array(140),
    "random": lambda: random_couplings(150)[0],
    "dense": lambda: sp.csr_array(np.full((30, 30), 1.0) + 30 * np.eye(30)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_it_solves(name):
    A = CSROperator(MATRICES[name]())
    rng = np.random.default_rng(0)
    b, x = rng.standard_normal(A.n), np.empty(A.n)
    factor = CholeskyFactor(A, 0.0)
    np.testing.assert_allclose(factor.apply(b, x), np.linalg.solve(A.matrix().toarray(), b), rtol=1e-7, atol=1e-9)
    assert factor.replaced == 0
    for free, shift in ((rng.random(A.n) < 0.6, None), (None, rng.random(A.n)), (rng.random(A.n) < 0.3, np.ones(A.n))):
        masked = Masked(A, free, shift)
        factor.refill(masked)
        expected = np.linalg.solve(masked.matrix().toarray(), b)
        np.testing.assert_allclose(factor.apply(b, x), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("part", [0.05, 0.2])
def test_rows_that_may_be_clamped_come_last(name, part, monkeypatch):
    """Another free set then changes the last fronts only, and the answer is the same."""
    monkeypatch.setattr(Fronts, "operations", property(lambda self: 1e6 - self.last))  # whatever it costs
    A = CSROperator(MATRICES[name]())
    rng = np.random.default_rng(1)
    clampable = rng.random(A.n) < part
    masked = Masked(A)
    masked.clampable = clampable
    factor, b, x = CholeskyFactor(masked, 0.0), rng.standard_normal(A.n), np.empty(A.n)
    for chance in (1.0, 0.5, 0.0, 0.7):
        masked.update(~clampable | (rng.random(A.n) < chance))
        assert factor.serves(masked)
        factor.refill(masked)
        expected = np.linalg.solve(masked.matrix().toarray(), b)
        np.testing.assert_allclose(factor.apply(b, x), expected, rtol=1e-7, atol=1e-9)
    if clampable.any() and clampable.sum() < A.n // 4 and name != "dense":  # which is one point
        assert factor._fronts.last > 0
        masked.update(clampable)
        assert not factor.serves(masked)


@pytest.mark.parametrize("name", MATRICES)
def test_every_row_of_the_factor_has_a_place(name):
    """The structure against elimination on a dense pattern."""
    A = CSROperator(MATRICES[name]())
    f = fronts(A)
    P = A.matrix().toarray()[np.ix_(f.order, f.order)] != 0
    for k in range(A.n):
        below = k + 1 + np.flatnonzero(P[k + 1 :, k])
        P[np.ix_(below, below)] = True
    L = np.tril(P)
    for s in range(f.first.size - 1):
        columns, rows = np.arange(f.first[s], f.first[s + 1]), f.rows[f.start[s] : f.start[s + 1]]
        held = np.zeros(A.n, bool)
        held[columns], held[rows] = True, True
        assert not L[:, columns][~held].any() and L[rows][:, columns].any(axis=1).all()
    assert f.entries >= L.sum() - np.diff(f.first).astype(float) @ (np.diff(f.first) - 1) / 2


def test_unknowns_of_a_point_are_eliminated_together():
    f = fronts(CSROperator(elasticity(20, 20)[0]))
    assert (f.first % 2 == 0).all() and (f.order[1::2] - f.order[::2] == 1).all()


def test_a_pattern_that_is_not_symmetric_and_rows_that_are_not_sorted():
    M = sp.csr_array(grid(6))
    extra = sp.coo_array(([1e-18], ([0], [30])), shape=M.shape)
    A = CSROperator(M + extra)
    b = np.arange(36.0)
    x = CholeskyFactor(A, 0.0).apply(b, np.empty(36))
    np.testing.assert_allclose(grid(6) @ x, b, atol=1e-10)


def test_a_pivot_that_vanishes_leaves_its_unknown_zero():
    A, _, _ = elasticity(6, 6)
    factor = CholeskyFactor(CSROperator(A), 0.0, least=1e-10)
    assert factor.replaced == 3  # two translations and a rotation
    b = A @ np.random.default_rng(0).standard_normal(A.shape[0])
    x = factor.apply(b, np.empty(b.size))
    np.testing.assert_allclose(A @ x, b, atol=1e-9)
    assert np.count_nonzero(np.abs(x) < 1e-12) >= 3


def test_nothing_to_solve():
    A = CSROperator(sp.csr_array((0, 0)))
    assert CholeskyFactor(A, 0.0).apply(np.empty(0), np.empty(0)).size == 0


def test_the_memory_of_a_factor_is_used_again():
    A = CSROperator(elasticity(8, 8)[0])
    masked = Masked(A, np.arange(A.n) > 20)
    first = Factor(1e-12).setup(masked)
    masked.update(np.arange(A.n) > 10)
    assert Factor(1e-12).setup(masked, first) is first
    direct = Direct().setup(masked)
    assert Direct().setup(masked, direct).factor is direct.factor


@pytest.fixture
def blas():
    """What asks for and what sets the number of BLAS's threads; the number is restored."""
    functions = cholesky._functions()
    if functions is None:
        pytest.skip("SciPy's BLAS is not OpenBLAS")
    before = functions[0]()
    yield functions
    functions[1](before)


def test_blas_has_one_thread_while_a_factor_is_made(blas):
    ask, tell = blas
    tell(3)
    found = ask()  # fewer where there are fewer cores
    with cholesky.blas_on_one_thread():
        with cholesky.blas_on_one_thread():
            assert ask() == 1
        assert ask() == 1
    assert ask() == found
    with pytest.raises(KeyError), cholesky.blas_on_one_thread():
        raise KeyError
    assert ask() == found


def test_the_factor_does_not_depend_on_the_threads_of_blas(blas):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((300, 300))
    A, r = CSROperator(sp.csr_array(M @ M.T + np.eye(300))), rng.standard_normal(300)
    found = []
    for threads in (1, 4):
        blas[1](threads)
        found.append(CholeskyFactor(A, 0.0).apply(r, np.empty(300)))
    np.testing.assert_array_equal(*found)


def stack_by_sets(tall, parent, last):
    """What waits, as a list: a child is taken out with its parent, but the memory below another is free after that."""
    waiting, most = [], 0
    for s, rows in enumerate(tall):
        most = max(most, sum(size for _, size in waiting) + rows**2)
        for entry in reversed(list(waiting)):
            if entry[0] is not None and parent[entry[0]] == s:
                waiting[waiting.index(entry)] = (None, entry[1])
            elif s < last:
                break
        while waiting and waiting[-1][0] is None:
            waiting.pop()
        if rows:
            waiting.append((s, rows**2))
    return most


@pytest.mark.parametrize("last", [0, 6])
def test_the_stack_holds_every_update_that_waits(last):
    rng = np.random.default_rng(last)
    for _ in range(50):
        parent = np.array([rng.integers(s + 1, 12) if s < 11 else -1 for s in range(12)])
        tall = np.where(parent < 0, 0, rng.integers(0, 9, 12))
        assert _largest_stack(tall, parent, last) == stack_by_sets(tall.tolist(), parent, last)
