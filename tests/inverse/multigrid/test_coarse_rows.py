"""Coarse rows and interpolation of algebraic multigrid against slow twins."""

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import grid, rotated
from levels import dense, interpolation

from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.multigrid.algebraic import _interpolation as interpolation_rows
from nonstick.inverse.multigrid.algebraic import _interpolation as splitting
from nonstick.inverse.multigrid.algebraic.coarsening import Algebraic
from nonstick.inverse.multigrid.algebraic.near_null import SETTINGS
from nonstick.inverse.multigrid.hierarchy import Multigrid
from nonstick.operators.csr import CSROperator


def solid(n):
    """Seven points in space."""
    T, one = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)), sp.eye_array(n)
    plane = sp.kron(T, one) + sp.kron(one, T)
    return sp.csr_array(sp.kron(plane, one) + sp.kron(sp.eye_array(n * n), T))


def strong_couplings(M, theta=0.25):
    """S[i, j]: row i depends strongly on j."""
    off = np.where(np.eye(len(M), dtype=bool), 0.0, -M)
    top = off.max(axis=1, keepdims=True)
    return (off >= theta * top) & (off > 0.0)


def largest(row, slots, cut):
    """The entries that stay, scaled to the sum 1; None if they cancel. Equal entries: the first found."""
    kept = {}
    for c in sorted(row, key=lambda c: -abs(row[c]))[:slots]:
        if row[c] != 0.0 and abs(row[c]) >= cut * max(map(abs, kept.values()), default=0.0):
            kept[c] = row[c]
    total, top = sum(kept.values()), max(map(abs, kept.values()), default=0.0)
    return {c: v / total for c, v in kept.items()} if kept and total > 0.2 * top else None


def slow_interpolation(M, kind, slots, cuts, sweeps):
    """Extended+i, Gauss–Seidel on P, and one Jacobi step, row by row, in words of the paper."""
    n, S = len(M), strong_couplings(M)
    C = set(np.flatnonzero(kind == splitting.COARSE))
    wide = []
    for i in range(n):
        if i in C:
            wide.append({i: 1.0})
            continue
        strong = np.flatnonzero(S[i])
        near = list(dict.fromkeys(c for j in strong for c in ([j] if j in C else np.flatnonzero(S[j])) if c in C))
        row = dict.fromkeys(near, 0.0)
        for j in np.flatnonzero(M[i]):
            if j == i:
                continue
            if j in row:
                row[j] -= M[i, j]
            elif S[i, j]:
                around = {m: -M[j, m] for m in [*near, i] if M[j, m] < 0.0}
                for m in around:
                    if m != i:
                        row[m] -= M[i, j] * around[m] / sum(around.values())
        wide.append(largest(row, slots[1], cuts[0]) or {})

    def mean(i):
        row = {}
        for j in np.flatnonzero(M[i]) if i not in C else []:
            for c, v in wide[j].items() if j != i else ():
                row[c] = row.get(c, 0.0) - M[i, j] * v
        return row

    for i in list(range(n)) * sweeps:
        row = mean(i)
        if sum(row.values()) > 0.2 * max(map(abs, row.values()), default=0.0):
            wide[i] = largest(row, slots[1], cuts[1]) or {}
    out = np.zeros((n, n))
    for i in range(n):
        row = largest(mean(i), slots[0], cuts[0]) or largest(wide[i], slots[0], cuts[0]) or {}
        for c, v in row.items():
            out[i, c] = v
    return out


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_interpolation_is_that_of_the_slow_twin(seed, mixed):
    """Random couplings, so that no two entries are equal; some of them positive."""
    rng = np.random.default_rng(seed)
    W = sp.random_array((60, 60), density=0.06, random_state=rng)
    W = sp.csr_array(W + W.T)
    W.setdiag(0.0)
    W.data[W.data < (0.5 if mixed else 0.15)] *= -0.5
    W = sp.csr_array(0.5 * (W + W.T))
    total = np.asarray(abs(W).sum(axis=1)).ravel()
    level = Multigrid(Algebraic(), smallest=5).setup(CSROperator(sp.diags_array(1.2 * total + 0.1) - W)).levels[0]
    recipe = Algebraic()
    kind, limit, count = recipe.coarse_rows(level)
    assert level.mixed is mixed
    P = recipe.interpolation(level, kind, limit, count)
    M = dense(level.A)
    kind = np.where(np.diag(M) >= recipe.dominant * (np.abs(M).sum(axis=1) - np.diag(M)), splitting.ALONE, kind)
    coarse = [i for i in level.natural if kind[i] == splitting.COARSE]
    slots = interpolation_rows.BROAD if mixed else interpolation_rows.NARROW
    cuts = [recipe.cut * part for part in (SETTINGS.finer, SETTINGS.finest)] if mixed else [recipe.cut] * 2
    wanted = slow_interpolation(M, kind, slots, cuts, sweeps=int(mixed))[:, coarse]
    chosen = kind != splitting.ALONE
    np.testing.assert_allclose(interpolation(P)[chosen], wanted[chosen], atol=2e-6)


@pytest.mark.parametrize("A", [grid(12), grid(12, 0.01), rotated(12, 0.01, 0.5)], ids=["iso", "aniso", "rotated"])
def test_fine_rows_depend_on_coarse_rows_and_coarse_rows_are_few(A):
    level = Multigrid(Algebraic(), smallest=20).setup(CSROperator(A)).levels[0]
    kind, limit, count = Algebraic().coarse_rows(level)
    S, coarse = strong_couplings(dense(level.A)), kind == splitting.COARSE
    assert count == coarse.sum() <= 0.55 * A.shape[0]
    assert set(kind) == {splitting.COARSE, splitting.FINE}
    assert (S[~coarse] & coarse).any(axis=1).all()


def slow_sparse_rows(S, natural, alone):
    """Greedy: a row is coarse if neither it nor a strong neighbour is next to an earlier coarse row."""
    coarse, near = [], set()
    for i in natural:
        strong = set(np.flatnonzero(S[i])) - alone
        if i not in near and i not in alone and not strong & near:
            coarse.append(i)
            near |= strong | {i}
    return coarse


@pytest.mark.parametrize("seed", range(3))
def test_sparse_coarse_rows_are_those_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    W = sp.random_array((80, 80), density=0.1, random_state=rng)
    W = sp.csr_array(W + W.T)
    W.setdiag(0.0)
    total = np.asarray(W.sum(axis=1)).ravel()
    d = np.where(rng.random(80) < 0.1, 5.0, 1.1) * total + 0.1
    level = Multigrid(Algebraic(), smallest=5).setup(CSROperator(sp.diags_array(d) - W)).levels[0]
    kind, limit, _ = Algebraic().coarse_rows(level)
    alone = set(np.flatnonzero(kind == splitting.ALONE))
    S = strong_couplings(dense(level.A))
    S[list(alone)] = False
    entries = level.A.weights, level.A.indices, level.A.indptr
    count = splitting._thin(kind, limit, level.natural, *entries)
    wanted = slow_sparse_rows(S, level.natural, alone)
    assert count == len(wanted)
    assert set(np.flatnonzero(kind == splitting.COARSE)) == set(wanted)
    assert set(np.flatnonzero(kind == splitting.ALONE)) == alone
    assert splitting._count_strong(limit, level.A.weights, level.A.indptr) == S.sum()


def test_coarse_rows_are_sparse_where_all_directions_are_strong():
    levels = Multigrid(Algebraic(), smallest=20).setup(CSROperator(solid(14))).levels
    assert levels[0].sparse
    assert levels[1].n < 0.2 * levels[0].n
    for A in (grid(40), grid(40, 0.01), rotated(40, 0.01, 0.5)):
        assert not Multigrid(Algebraic(), smallest=20).setup(CSROperator(A)).levels[0].sparse


def test_interpolation_from_sparse_rows_is_that_of_the_slow_twin():
    A = solid(8)
    noise = sp.triu(A, 1)
    noise.data *= np.random.default_rng(0).uniform(0.0, 0.3, noise.nnz)
    A = sp.csr_array(A + noise + noise.T)  # no two couplings are equal
    level = Multigrid(Algebraic(), smallest=5).setup(CSROperator(A)).levels[0]
    recipe = Algebraic()
    kind, limit, count = recipe.coarse_rows(level)
    assert level.sparse
    P = recipe.interpolation(level, kind, limit, count)
    coarse = [i for i in level.natural if kind[i] == splitting.COARSE]
    cuts = recipe.cut, recipe.cut * SETTINGS.finest
    wanted = slow_interpolation(dense(level.A), kind, interpolation_rows.NARROW, cuts, sweeps=1)
    np.testing.assert_allclose(interpolation(P), wanted[:, coarse], atol=2e-6)


def test_counts_in_space_stay_flat():
    counts = []
    for n in (12, 24):
        cg = CG(Multigrid(Algebraic(), smallest=50)).setup(CSROperator(solid(n)))
        counts.append(cg.solve(np.ones(n**3), np.zeros(n**3), rtol=1e-8).iterations)
    assert counts[1] <= counts[0] + 4 and counts[1] < 16
