"""Pockets without a free surface, against brute force: every active set of a small problem is tried."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick import BoxProblem, PressureProblem, solve_problem
from nonstick.grid.mac import Grid
from nonstick.grid.shapes import Ball
from nonstick.operators.base import row_sums
from nonstick.operators.csr import CSROperator
from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator
from nonstick.registry import entries
from nonstick.solvers.base import Method
from nonstick.solvers.safeguards.pockets import find, without_pockets

METHODS = ["pi-pcg", "psor"]


def neumann(shape, seed=0):
    """Random conductances on a box grid, no row coupled to anything outside."""
    rng = np.random.default_rng(seed)
    rows = Rows.from_mask(np.ones(shape, bool))
    right = rows.neighbours()
    weights = tuple(np.where(right[:, a] >= 0, rng.uniform(0.5, 2, rows.n), 0.0) for a in range(3))
    A = StencilOperator(rows, weights, np.zeros(rows.n))
    A.diagonal = -(A @ np.ones(rows.n))
    return A


def brute(A, b, lower, upper):
    """The solution by trying every policy."""
    choices = [[0] + [-1] * int(np.isfinite(lo)) + [1] * int(np.isfinite(up)) for lo, up in zip(lower, upper)]
    for policy in itertools.product(*choices):
        policy = np.array(policy)
        free = policy == 0
        x = np.where(policy < 0, lower, np.where(policy > 0, upper, 0.0))
        if free.any():
            rhs = (b - A @ x)[free]
            x[free] = np.linalg.lstsq(A[np.ix_(free, free)], rhs, rcond=None)[0]
        g = A @ x - b
        fine = 1e-9
        inside = (x >= lower - fine).all() and (x <= upper + fine).all()
        signs = (g[policy < 0] >= -fine).all() and (g[policy > 0] <= fine).all()
        if inside and signs and (np.abs(g[free]) < fine).all():
            return x
    raise AssertionError("no policy is optimal")


@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("csr", [False, True])
def test_expanding_pockets_are_solved_as_they_are(shape, method, csr):
    A = neumann(shape)
    A = CSROperator(A.matrix()) if csr else A
    rng = np.random.default_rng(1)
    for _ in range(6):
        constrained = rng.random(A.n) < 0.6
        constrained[rng.integers(A.n)] = True
        lower = np.where(constrained, rng.normal(size=A.n), -np.inf)
        b = rng.normal(-0.3, 1, A.n)
        b -= max(0.0, b.sum() + 0.1) / A.n
        solution = solve_problem(BoxProblem(A, b, lower), method, rtol=1e-11)
        assert solution.status == "converged", solution.message
        expected = brute(A.matrix().toarray(), b, lower, np.full(A.n, np.inf))
        np.testing.assert_allclose(solution.x, expected, atol=1e-8)
        assert np.isclose(solution.dual.sum(), -b.sum())


@pytest.mark.parametrize("method", [*METHODS, "newton", "pe-pcg", "fas-mg", "pi-mg"])
def test_compatible_pockets_touch_their_lowest_bound(method):
    A = neumann((4, 5))
    rng = np.random.default_rng(2)
    b = rng.normal(size=A.n)
    b -= b.mean()
    constrained = rng.random(A.n) < 0.5
    solution = solve_problem(BoxProblem(A, b, np.where(constrained, 0.0, -np.inf)), method, rtol=1e-9)
    assert solution.converged, solution.message
    y = np.linalg.lstsq(A.matrix().toarray(), b, rcond=None)[0]
    np.testing.assert_allclose(solution.x, y - y[constrained].min(), atol=1e-6)
    assert abs(solution.x[constrained].min()) < 1e-12


@pytest.mark.parametrize("method", [*METHODS, "no-lcp"])
def test_compressed_pockets_lose_their_mean_and_say_so(method):
    A = neumann((4, 3))
    b = np.random.default_rng(3).normal(0.7, 1, A.n)
    solution = solve_problem(BoxProblem(A, b, 0.0), method, rtol=1e-9)
    assert solution.status == "infeasible" and not solution.converged
    assert "pocket" in solution.message and "mean" in solution.message
    y = np.linalg.lstsq(A.matrix().toarray(), b - b.mean(), rcond=None)[0]
    np.testing.assert_allclose(solution.x, y - y.min(), atol=1e-7)


def test_unconstrained_pockets_have_mean_zero():
    A = neumann((3, 4))
    b = np.random.default_rng(4).normal(size=A.n)
    b -= b.mean()
    solution = solve_problem(BoxProblem(A, b, -np.inf), "pi-pcg", rtol=1e-10)
    assert solution.converged and abs(solution.x.mean()) < 1e-12
    incompatible = solve_problem(BoxProblem(A, b + 1.0, -np.inf), "pi-pcg", rtol=1e-10)
    assert incompatible.status == "infeasible"
    np.testing.assert_allclose(incompatible.x, solution.x, atol=1e-9)


@pytest.mark.parametrize("total", [-2.0, 0.0, 2.0])
@pytest.mark.parametrize("width", [0.3, 50.0])
def test_two_sided_bounds_always_have_a_solution(total, width):
    A = neumann((2, 3))
    rng = np.random.default_rng(5)
    for _ in range(5):
        b = rng.normal(size=A.n)
        b += (total - b.sum()) / A.n
        lower = np.where(rng.random(A.n) < 0.7, rng.normal(size=A.n), -np.inf)
        lower[0] = -0.5
        upper = np.where(rng.random(A.n) < 0.7, np.maximum(lower, -1) + width, np.inf)
        upper[1] = max(lower[1], 1.0)
        solution = solve_problem(BoxProblem(A, b, lower, upper), "psor", rtol=1e-11)
        assert solution.converged, solution.message
        expected = brute(A.matrix().toarray(), b, lower, upper)
        np.testing.assert_allclose(solution.dual, A.matrix() @ expected - b, atol=1e-7)


def test_upper_bounds_mirror_lower_ones():
    A = neumann((3, 3))
    b = np.random.default_rng(6).normal(0.4, 1, A.n)
    low = solve_problem(BoxProblem(A, -b, -1.0), "pi-pcg", rtol=1e-11)
    high = solve_problem(BoxProblem(A, b, -np.inf, 1.0), "pi-pcg", rtol=1e-11)
    assert low.converged == high.converged and low.status == high.status
    np.testing.assert_allclose(high.x, -low.x, atol=1e-9)


@pytest.mark.parametrize("method", [name for name, entry in entries().items() if entry.complete])
@pytest.mark.parametrize("dimension", [2, 3])
def test_pockets_beside_open_liquid(method, dimension):
    """Three closed rooms (compatible, expanding, compressed) and one with a free surface, in one problem."""
    rooms, depth = 4, 4
    shape = (rooms * 4, 5, depth)[:dimension]
    rng = np.random.default_rng(7)
    faces = [tuple(n + (b == a) for b, n in enumerate(shape)) for a in range(dimension)]
    weights = [np.ones(f) for f in faces]
    for axis, w in enumerate(weights):
        np.moveaxis(w, axis, 0)[[0, -1]] = 0
    weights[0][4::4] = 0
    phi = np.full(shape, -1.0)
    phi[12:, 4] = 0.5
    solid = [np.zeros(f) for f in faces]
    solid[0][4] = solid[0][0] = 0.3  # both walls of the first room move: its volume stays
    solid[1][4:8, -1] = 1.0  # the second expands, its ceiling faster than the shared wall comes in
    solid[1][8:12, -1] = -0.2  # the third is compressed
    problem = PressureProblem(
        phi_liquid=phi,
        velocity=tuple(rng.normal(size=f) for f in faces),
        dt=0.01,
        dx=0.1,
        weights=tuple(weights),
        solid_velocity=tuple(solid),
        walls="all",
    )
    count, label = problem.problem.A.components()
    assert count == rooms
    sums = [problem.rhs[label == k].sum() for k in range(rooms)]
    assert abs(sums[0]) < 1e-9 and sums[1] < -1e-3 and sums[2] > 1e-3
    solution = problem.solve(method, rtol=1e-9)
    assert solution.status == "infeasible" and solution.notes["pockets"] == {
        "compatible": 1,
        "expanding": 1,
        "infeasible": 1,
    }
    assert solution.notes["corrected_kkt"] <= 1e-9
    corrected = without_pockets(problem.problem).judge
    assert corrected.kkt(solution.x) <= 1e-9
    for room in (0, 2):
        assert abs(solution.x[label == room].min()) < 1e-9 * np.abs(solution.x).max()


def test_components_of_a_stencil_match_scipy():
    rng = np.random.default_rng(8)
    for shape in [(9, 8), (5, 6, 7), (1, 1), (3, 1, 4)]:
        rows = Rows.from_mask(rng.random(shape) < 0.7)
        right = rows.neighbours()
        weights = tuple(np.where((right[:, a] >= 0) & (rng.random(rows.n) < 0.6), 1.0, 0.0) for a in range(3))
        A = StencilOperator(rows, weights, np.full(rows.n, 6.0))
        count, label = A.components()
        expected = sp.csgraph.connected_components(A.matrix(), directed=False)
        assert count == expected[0]
        np.testing.assert_array_equal(label, expected[1])
        leak = np.where(rng.random(rows.n) < 0.1, 1.0, 0.0)  # some parts are open
        A = StencilOperator(rows, weights, A.diagonal - row_sums(A) + leak)
        found, same = find(A), find(CSROperator(A.matrix()))
        assert [list(rows) for rows in found] == [list(rows) for rows in same]


def test_open_liquid_has_no_pockets():
    assert find(CSROperator(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(9, 9)))) == []


def test_a_method_that_needs_a_definite_matrix_gets_one():
    @dataclass(frozen=True)
    class Dense(Method):
        """Gives up on singular matrices."""

        linear = True

        def solve(self, problem, start, monitor):
            A = problem.A.matrix().toarray()
            if np.linalg.matrix_rank(A, tol=1e-9) < problem.n:
                monitor.stop("diverged")
                start.x[:] = np.nan
                return
            start.x[:] = np.linalg.solve(A, problem.b)
            monitor.check(start.x)

    A = neumann((4, 3))
    b = np.random.default_rng(9).normal(size=A.n)
    solution = solve_problem(BoxProblem(A, b - b.mean(), -np.inf), Dense(), rtol=1e-9)
    assert solution.converged and abs(solution.x.mean()) < 1e-12


@pytest.mark.parametrize("grow", [0.0, 0.2])
def test_multigrid_stays_fast_in_a_full_sphere(grow):
    grid = Grid.unit(16)
    velocity = tuple(np.full(grid.face_shape(a), -0.16 if a == 1 else 0.0) for a in range(3))
    solid = tuple(np.broadcast_to(grow * (grid.faces(a)[a] - 0.5), grid.face_shape(a)) for a in range(3))
    problem = PressureProblem(
        phi_liquid=-np.ones(grid.shape),
        velocity=velocity,
        dt=1 / 60,
        dx=grid.dx,
        phi_solid=(~Ball((0.5, 0.5, 0.5), 0.46)).sample(grid.nodes()),
        solid_velocity=solid,
    )
    solution = problem.solve("fas-mg", rtol=1e-7)
    assert solution.converged and solution.iterations <= 12


def test_pockets_on_a_stencil_assemble_nothing(monkeypatch):
    A = neumann((4, 4, 3))
    b = np.random.default_rng(10).normal(-0.2, 1, A.n)
    monkeypatch.setattr(StencilOperator, "matrix", lambda self: pytest.fail("assembled"))
    assert solve_problem(BoxProblem(A, b - max(0.0, b.sum()) / A.n - 0.1, 0.0), "psor", rtol=1e-8).converged
    assert solve_problem(BoxProblem(A, b - b.mean(), 0.0), "psor", rtol=1e-8).converged
