"""The deflated preconditioner: symmetric, positive, and blind to how light a body is."""

import numpy as np
import pytest

from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.multigrid.cycles import W
from nonstick.inverse.multigrid.grid.blocks import Blocks
from nonstick.inverse.multigrid.hierarchy import Multigrid
from nonstick.inverse.precond.deflation import Deflated, DeflatedInverse
from nonstick.inverse.precond.incomplete import MIC
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import LowRank, Masked

CYCLE = Multigrid(Blocks(), cycle=W(1, 1))


def dense(inverse, n):
    return np.stack([inverse.apply(e, np.empty(n)) for e in np.eye(n)], axis=1)


@pytest.mark.parametrize("recipe, tolerance", [(MIC(), 1e-5), (CYCLE, 1e-5)], ids=["mic", "blocks"])
@pytest.mark.parametrize("base", ["stencil", "csr"])
def test_symmetric_and_positive(make_tank, recipe, tolerance, base):
    A = make_tank(n=12).problem.A
    if base == "csr":
        if recipe == CYCLE:
            recipe = MIC()
        A = LowRank(CSROperator(A.base.matrix()), A.touched, A.U, A.S, A.light)
    rng = np.random.default_rng(0)
    masked = Masked(A, rng.random(A.n) < 0.8)
    for operator in (A, masked):
        inverse = Deflated(recipe).setup(operator)
        assert isinstance(inverse, DeflatedInverse)
        P = dense(inverse, A.n)
        assert np.abs(P - P.T).max() < tolerance * np.abs(P).max()
        free = np.ones(A.n, bool) if operator is A else operator.free
        assert np.linalg.eigvalsh(0.5 * (P + P.T)[np.ix_(free, free)]).min() > 0
    # what is refreshed solves as well as what is made anew
    again = rng.random(A.n) < 0.8
    kept = Deflated(recipe).setup(masked.update(again), inverse)
    assert kept is inverse
    b = rng.normal(size=A.n) * again
    counts = []
    for reuse in (kept, None):
        x = np.zeros(A.n)
        solver = CG(Deflated(recipe)).setup(masked)
        solver.M = reuse or solver.M
        result = solver.solve(b, x, rtol=1e-8)
        assert result.converged
        counts.append(result.iterations)
    assert counts[0] <= counts[1] + 3


@pytest.mark.parametrize("d", [2, 3])
def test_light_bodies_cost_no_iterations(make_tank, d):
    """With the plain cycle a density ratio of 0.01 doubles the count (2D, 3D: 28 and 25 against 10 and 11)."""
    n = 48 if d == 2 else 20
    counts = {}
    for ratio in (1e-3, 1e-2, 0.3, 10.0):
        problem = make_tank(d, n, ratio).problem
        result = CG(Deflated(CYCLE)).setup(problem.A).solve(problem.b, np.zeros(problem.n), rtol=1e-6)
        assert result.converged
        counts[ratio] = result.iterations
    bare = CG(Deflated(CYCLE)).setup(problem.A.base).solve(problem.b, np.zeros(problem.n), rtol=1e-6).iterations
    assert max(counts.values()) <= 1.6 * bare


def test_heavy_bodies_are_left_to_the_iteration(make_tank):
    A = make_tank(ratio=20.0).problem.A
    assert Deflated(CYCLE).setup(A).around is None


def test_operators_without_bodies_pass_through(make_stencil):
    A = make_stencil((5, 6))
    assert not isinstance(Deflated(MIC()).setup(A), DeflatedInverse)
    none = LowRank(A, np.empty(0, int), np.zeros((0, 3)), np.eye(3))
    b = np.ones(A.n)
    one, two = np.zeros(A.n), np.zeros(A.n)
    CG(Deflated(MIC())).setup(A).solve(b, one)
    CG(Deflated(MIC())).setup(none).solve(b, two)
    assert np.array_equal(one, two)
