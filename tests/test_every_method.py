"""Every registered method on the same small problems: it reaches the solution, or says in a sentence why it cannot."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import registry
from nonstick.errors import NonstickError

RTOL = 1e-7
# Methods for viscosity and for Stokes steps solve other kinds of systems and have tests of their own.
METHODS = [name for name, entry in registry.entries().items() if entry.kind in ("box", "linear")]


def liquid(shape, seed):
    """A random ragged domain: conductances on faces, a free surface here and there, cells in random order."""
    rng = np.random.default_rng(seed)
    cells = np.argwhere(rng.random(shape) < 0.85)
    cells = cells[rng.permutation(len(cells))]
    number = {tuple(cell): i for i, cell in enumerate(cells)}
    n = len(cells)
    A = sp.lil_array((n, n))
    for i, cell in enumerate(cells):
        A[i, i] += rng.choice([0.0, 1.0], p=[0.8, 0.2]) + 1e-3
        for axis in range(len(shape)):
            j = number.get(tuple(cell + np.eye(len(shape), dtype=int)[axis]))
            if j is not None:
                w = rng.uniform(0.3, 1.0)
                A[i, i] += w
                A[j, j] += w
                A[i, j] = A[j, i] = -w
    return sp.csr_array(A), cells, rng


def bounds(kind, n, rng):
    low, high = np.zeros(n), np.full(n, np.inf)
    if kind == "subset":
        low[rng.random(n) < 0.6] = -np.inf
    elif kind == "two-sided":
        low = np.where(rng.random(n) < 0.3, -np.inf, rng.uniform(-0.5, 0.0, n))
        high = np.where(rng.random(n) < 0.3, np.inf, rng.uniform(0.1, 0.6, n))
    elif kind == "none":
        low[:] = -np.inf
    return low, high


def residual(A, b, low, high, x):
    g, d = A @ x - b, A.diagonal()
    return np.abs(d * (x - np.clip(x - g / d, low, high))).max() / np.abs(b).max()


PROBLEMS = {
    "2D": ((9, 7), "lower"),
    "2D subset": ((13, 6), "subset"),
    "3D": ((5, 7, 4), "lower"),
    "3D two-sided": ((6, 5, 5), "two-sided"),
    "3D linear": ((5, 5, 5), "none"),
    "thin": ((1, 17), "lower"),
}


@pytest.mark.parametrize("what", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
def test_with_cells(method, what):
    shape, kind = PROBLEMS[what]
    A, cells, rng = liquid(shape, seed=len(what))
    low, high = bounds(kind, len(cells), rng)
    b = rng.normal(size=len(cells))
    judge(method, A, b, low, high, cells)


@pytest.mark.parametrize("method", METHODS)
def test_bare_matrix(method):
    A, cells, rng = liquid((6, 6), seed=1)
    low, high = bounds("two-sided", len(cells), rng)
    judge(method, A, rng.normal(size=len(cells)), low, high, None)


@pytest.mark.parametrize("method", METHODS)
def test_a_thousand_unknowns_on_a_grid(method):
    """Some methods solve a coarser problem first if there are more than a thousand unknowns."""
    problem = nonstick.cases.build("circle2d", 56).problem
    solution = nonstick.solve_problem(problem, method)
    assert problem.n > 1000
    if registry.entries()[method].converges:
        assert solution.converged, solution
        assert registry.get(method).linear or solution.kkt() <= 1e-6


def judge(method, A, b, low, high, cells):
    refusal = expected_refusal(method, cells)
    if refusal:
        with pytest.raises(NonstickError, match=refusal) as caught:
            nonstick.solve(A, b, low, high, method=method, rtol=RTOL, cells=cells)
        assert "\n" not in str(caught.value)
        return
    solution = nonstick.solve(A, b, low, high, method=method, rtol=RTOL, cells=cells)
    np.testing.assert_allclose(solution.kkt(), residual(A, b, low, high, solution.x), rtol=1e-3, atol=1e-12)
    if registry.get(method).linear:  # a baseline that ignores bounds is judged, and says so, as a linear solver
        low, high = -np.inf, np.inf
    assert solution.converged == (residual(A, b, low, high, solution.x) <= RTOL)
    if registry.entries()[method].converges:
        assert solution.converged, solution


def expected_refusal(method: str, cells) -> str:
    """What a method says that cannot treat the problem; nothing where it must solve it."""
    if method == "auto-array":  # it solves bare matrices on their rows
        return ""
    if method.endswith("-array"):
        return "pass the cells" if cells is None else ""
    if method.startswith("fmg") or method == "fas-mg+direct":
        return "PressureProblem"
    if cells is None and method.startswith(("pi-mg", "pe-mg", "fas-mg")):
        return r"pass cells=\(n, d\)"
    return ""


def star(n, rng):
    """One unknown is coupled with all others: no grid has that."""
    A = sp.lil_array(np.eye(n))
    A[0, 1:] = A[1:, 0] = -0.9 / np.sqrt(n)
    return A


def dense(n, rng):
    B = rng.standard_normal((n, n))
    return sp.csr_array(B @ B.T + n * np.eye(n))


def far(n, rng):
    """Couplings with a neighbour and with an unknown far away."""
    if n < 8:
        return sp.eye_array(n)
    order = rng.permutation(n)
    return sp.csr_array(sp.diags_array([4.5, -1.0, -1.0, -1.0, -1.0], offsets=[0, 1, -1, 7, -7], shape=(n, n)))[order][
        :, order
    ]


WITHOUT_A_GRID = {"star": star, "dense": dense, "far": far, "alone": lambda n, rng: sp.eye_array(n)}
CELLS = {
    "a line": lambda n: np.stack([np.arange(n), 0 * np.arange(n)], axis=1),
    "one axis": np.arange,
    "a box": lambda n: np.stack(np.unravel_index(np.arange(n), (3, 4, 12)), axis=1),
    "apart": lambda n: 5 * np.stack([np.arange(n) % 6, np.arange(n) // 6], axis=1),
    "none": lambda n: None,
}


@pytest.mark.parametrize("couplings", WITHOUT_A_GRID)
@pytest.mark.parametrize("method", METHODS)
def test_solvers_with_cells_that_do_not_fit_the_matrix(method, couplings):
    """A Solver keeps its set-ups: they must fit the second solve and an updated matrix too."""
    for n, where in ((1, "a line"), (8, "a line"), (40, "one axis"), (40, "a box"), (17, "apart"), (23, "none")):
        rng = np.random.default_rng(n)
        A, cells = sp.csr_array(WITHOUT_A_GRID[couplings](n, rng)), CELLS[where](n)
        try:
            solver = nonstick.Solver(A, cells=cells, method=method)
            for factor in (1.0, 1.0, 3.0):
                solver.update(factor * A)
                b = rng.normal(size=n)
                solution = solver.solve(b, -0.2, 0.3, rtol=RTOL)
                off = residual(factor * A, b, -0.2, 0.3, solution.x)
                linear = registry.get(method).linear
                assert solution.converged == (off <= RTOL) or linear, (n, where, solution.status, off)
                assert solution.converged or not registry.entries()[method].converges, (n, where, solution)
        except NonstickError as error:
            assert "\n" not in str(error) and len(str(error)) < 400
