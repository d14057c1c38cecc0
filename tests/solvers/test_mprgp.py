"""MPRGP: face problems, expansion and proportioning, one and two bounds, every preconditioner."""

import numpy as np
import pytest

import nonstick
from nonstick.problem.box import BoxProblem
from nonstick.solvers.takahashi_batty.mprgp import MPRGP

NAMES = ["mic-mprgp", "saamg-mprgp", "tagiaamg-mprgp"]


def box(kind, n, rng):
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    if kind in ("lower", "both"):
        lower[:] = -0.05
    if kind in ("upper", "both"):
        upper[:] = 0.08
    if kind == "some":
        lower[rng.random(n) < 0.4] = 0.0
        upper[rng.random(n) < 0.2] = 0.5
    return lower, upper


def reference(A, b, lower, upper):
    return nonstick.solve(A, b, lower, upper, method="psor", rtol=1e-12, maxiter=20_000).x


@pytest.mark.parametrize("kind", ["lower", "upper", "both", "some", "free"])
@pytest.mark.parametrize("method", NAMES)
def test_agrees_with_projected_sweeps(make_stencil, method, kind):
    rng = np.random.default_rng(1)
    for shape in ((15, 13), (7, 6, 8)):
        A = make_stencil(shape)
        b = rng.standard_normal(A.n) * 0.3
        lower, upper = box(kind, A.n, rng)
        solution = nonstick.solve(A, b, lower, upper, method=method, rtol=1e-9)
        assert solution.converged and solution.kkt() <= 1e-9
        np.testing.assert_allclose(solution.x, reference(A, b, lower, upper), atol=1e-7)


def bumps(A):
    """A smooth right-hand side of changing sign: contact regions of some size."""
    x, y = (A.cells / A.cells.max(axis=0)).T
    return np.sin(7.0 * x) * np.cos(5.0 * y) - 0.2


def test_steps_are_counted_by_kind(make_stencil):
    A = make_stencil((30, 30), fill=1.0)
    s = nonstick.solve(A, bumps(A), -1.0, 1.0, method="tagiaamg-mprgp", rtol=1e-8)
    kinds = [s.notes[f"{kind}_steps"] for kind in ("cg", "expansion", "proportioning")]
    assert sum(kinds) == s.iterations and kinds[1] > 0 and kinds[0] > 0
    assert s.outer_iterations == kinds[1] + kinds[2]


def test_the_objective_never_rises(make_stencil):
    A = make_stencil((12, 12))
    b = np.random.default_rng(3).standard_normal(A.n)
    problem = BoxProblem(A, b, -0.1, 0.2)
    for fast in (True, False):
        values, x = [], np.zeros(A.n)
        for k in range(1, 40):
            s = nonstick.solve_problem(problem, MPRGP(fast_expansion=fast), maxiter=k, rtol=1e-10)
            values.append(problem.objective(s.x))
            assert np.all(s.x >= -0.1) and np.all(s.x <= 0.2)
            if s.converged:
                break
        assert np.all(np.diff(values) <= 1e-12), x


def test_fast_expansion_saves_steps(make_stencil):
    A = make_stencil((40, 40), fill=1.0)
    counts = {}
    for fast in (True, False):
        s = nonstick.solve(A, bumps(A), 0.0, method=MPRGP(fast_expansion=fast, literal=True), rtol=1e-8)
        assert s.converged
        counts[fast] = s.iterations
    assert counts[True] <= 1.1 * counts[False], counts


def test_ties_are_released_together():
    """Gravity alone: b = 0 inside the liquid. As printed one layer of cells is released a step; ours flat in size."""
    counts = {}
    for n in (32, 64):
        problem = nonstick.cases.build("box-dam3d", n).problem
        zero = np.abs(problem.b) <= 1e-12 * problem.scale
        assert zero.mean() > 0.5
        for name in ("saamg-mprgp", "saamg-mprgp+literal"):
            s = nonstick.solve_problem(problem, name)
            assert s.converged
            counts[name, n] = s.notes["proportioning_steps"]
    assert counts["saamg-mprgp", 64] <= counts["saamg-mprgp", 32] + 1 <= 3, counts
    assert counts["saamg-mprgp+literal", 32] > counts["saamg-mprgp", 32], counts


@pytest.mark.parametrize("scale_A, scale_b", [(1e6, 1e-3), (1e-5, 1e4)])
def test_units_change_nothing(make_stencil, scale_A, scale_b):
    A = make_stencil((12, 14))
    b = np.random.default_rng(5).standard_normal(A.n)
    plain = nonstick.solve(A, b, 0.0, method="mic-mprgp", rtol=1e-9)
    scaled = nonstick.solve(A.matrix() * scale_A, b * scale_b, 0.0, method="mic-mprgp", rtol=1e-9, cells=A.cells)
    assert abs(scaled.iterations - plain.iterations) <= 2
    np.testing.assert_allclose(scaled.x * scale_A / scale_b, plain.x, atol=1e-7)


def test_no_minimum_is_said(make_stencil):
    """A Neumann pocket with a source and no upper bound: the objective falls for ever."""
    A = make_stencil((1, 7), neumann=True, fill=1.0)
    s = nonstick.solve(A, np.full(A.n, 1.0), 0.0, method="mic-mprgp", rtol=1e-8)
    assert not s.converged
