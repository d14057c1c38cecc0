import numpy as np
import pytest

import nonstick
from nonstick import NonstickError, cases
from nonstick.inverse.multigrid.grid import level
from nonstick.mpi import rows


def shares(comm, n, seed=0):
    """The rows of each rank: any rows, in any order."""
    order = np.random.default_rng(seed).permutation(n)
    cuts = [n * r * (r + 1) // (comm.size * (comm.size + 1)) for r in range(comm.size + 1)]
    return order, slice(cuts[comm.rank], cuts[comm.rank + 1])


@pytest.mark.parametrize("name, n", [("circle2d", 24), ("sphere3d", 14), ("obstacle2d", 24)])
def test_rows_may_be_spread_in_any_way(comm, monkeypatch, name, n):
    monkeypatch.setattr(level, "GATHERED", 60)
    problem = cases.build(name, n).problem
    order, mine = shares(comm, problem.n)
    A = problem.A.matrix()[order][:, order][mine]
    b, lower, upper = (v[order][mine] for v in (problem.b, problem.box.lower, problem.box.upper))
    answer = rows.solve(A, b, lower, upper, cells=problem.A.cells[order][mine] + 5)
    reference = nonstick.solve_problem(problem)
    assert answer.converged and answer.problem.A.unknowns == problem.n and answer.path
    assert np.abs(answer.x - reference.x[order][mine]).max(initial=0.0) < 1e-5 * np.abs(reference.x).max()
    assert np.abs(answer.dual - reference.dual[order][mine]).max(initial=0.0) < 1e-5 * problem.scale
    assert answer.kkt() <= 1e-6 and answer.row_error() <= 1e-5


def test_mistakes_on_one_rank_are_answered_by_all(comm):
    problem = cases.build("circle2d", 12).problem
    order, mine = shares(comm, problem.n)
    A, cells = problem.A.matrix()[order][:, order][mine], problem.A.cells[order][mine]
    b = problem.b[order][mine]
    last = comm.rank == comm.size - 1
    with pytest.raises(NonstickError, match="rows of 2 or 3 whole numbers"):
        rows.solve(A, b, cells=cells[1:] if last else cells)
    with pytest.raises(NonstickError, match="columns"):
        rows.solve(A[:, :-1] if last else A, b, cells=cells)
    crooked = A.copy()
    if last:
        crooked.data[np.flatnonzero(crooked.data < 0)[0]] *= 0.5
    with pytest.raises(NonstickError, match="not symmetric"):
        rows.solve(crooked, b, cells=cells)
    positive = A.copy()
    if last:
        positive.data[np.flatnonzero(positive.data < 0)[0]] *= -1.0
    with pytest.raises(NonstickError, match="non-positive couplings"):
        rows.solve(positive, b, cells=cells)


def test_a_line_without_a_free_end_is_solved_across_ranks(comm):
    import scipy.sparse as sp

    n = 24
    line = sp.diags_array([-np.ones(n - 1), np.r_[1.0, np.full(n - 2, 2.0), 1.0], -np.ones(n - 1)], offsets=[-1, 0, 1])
    mine = slice(*(n * r // comm.size for r in (comm.rank, comm.rank + 1)))
    cells = np.stack([np.arange(n), np.zeros(n, int)], axis=1)
    b = np.random.default_rng(3).normal(-0.1, 1.0, n)
    true = nonstick.solve(line, b, cells=cells, rtol=1e-10)
    found = rows.solve(line.tocsr()[mine], b[mine], cells=cells[mine], rtol=1e-10)
    assert found.converged and true.converged and b.sum() < 0
    np.testing.assert_allclose(found.x, true.x[mine], atol=1e-8)
