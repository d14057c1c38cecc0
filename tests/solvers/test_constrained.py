"""Linear constraints beside bounds: against a general optimiser, its optimality conditions, and by hand."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick.errors import NonstickError
from nonstick.problem import Bounds, LinearConstraints


def laplacian(n: int) -> sp.csr_array:
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sp.csr_array(sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line))


def conditions(A, b, low, high, C, lo, hi, solution) -> float:
    """The worst optimality condition, written down anew: stationarity, bounds, constraints, signs of multipliers."""
    x, y = solution.x, solution.multipliers
    g, d = A @ x - b - C.T @ y, A.diagonal()
    box = np.abs(d * (x - np.clip(x - g / d, low, high))).max() / np.abs(b + C.T @ y).max()
    values, size = C @ x, np.abs(C) @ np.abs(x)
    outside = (np.maximum(lo - values, values - hi) / size).max()
    at = np.where(y > 0, np.abs(values - lo), np.where(y < 0, np.abs(values - hi), 0.0)) / size
    return max(box, outside, np.minimum(at, np.abs(y)).max())


def random_problem(seed, symmetric=True):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(5, 30)), int(rng.integers(1, 5))
    B, K = rng.normal(size=(2, n, n))
    A = B @ B.T / n + 0.1 * np.eye(n) + (0.0 if symmetric else 0.3) * (K - K.T)
    low = np.where(rng.random(n) < 0.3, -np.inf, -rng.random(n))
    high = np.where(rng.random(n) < 0.3, np.inf, rng.random(n))
    C = rng.normal(size=(m, n))
    values, equal = C @ np.clip(rng.normal(size=n), low, high), rng.random(m) < 0.5
    width = np.where(equal, 0.0, 0.2 * rng.random(m))
    lo = np.where(~equal & (rng.random(m) < 0.3), -np.inf, values - width)
    return A, rng.normal(size=n), low, high, C, lo, values + width


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_optimality_conditions(seed, symmetric):
    A, b, low, high, C, lo, hi = random_problem(seed, symmetric)
    solution = nonstick.solve(A, b, low, high, constraints=(C, lo, hi))
    assert solution.converged, solution
    assert conditions(A, b, low, high, C, lo, hi, solution) <= 1.1e-6


def test_more_constraints_than_unknowns():
    """Solves on the free rows are then made for each unknown, not for each constraint."""
    rng = np.random.default_rng(3)
    B, C, b = rng.normal(size=(12, 12)), rng.normal(size=(150, 12)), rng.normal(size=12)
    A = B @ B.T + np.eye(12)
    solution = nonstick.solve(A, b, -1.0, 1.0, constraints=(C, -0.1, 0.1))
    assert solution.converged
    assert np.count_nonzero(solution.multipliers) > 2
    assert conditions(A, b, -1.0, 1.0, C, -0.1, 0.1, solution) <= 1.1e-6


@pytest.mark.parametrize("method", ["auto", "psor", "pi-pcg", "ipm-pd"])
def test_any_method_and_prescribed_total(method):
    """A membrane that holds a given volume over a table; the multiplier is the pressure under it."""
    A, total = laplacian(12), 40.0
    b = np.full(144, -0.05)
    solution = nonstick.solve(A, b, 0.0, constraints=(np.ones(144), total, total), method=method)
    assert solution.converged and abs(solution.x.sum() - total) <= 1e-6 * total
    assert solution.multipliers.shape == (1,) and solution.multipliers[0] > 0.05
    again = nonstick.solve(A, b + solution.multipliers[0], 0.0, rtol=1e-8)
    np.testing.assert_allclose(solution.x, again.x, atol=1e-4)
    np.testing.assert_allclose(solution.dual, A @ solution.x - b - solution.multipliers[0], atol=1e-12)


def test_an_inequality_that_does_not_bind_changes_nothing():
    A, b = laplacian(8), np.linspace(-1.0, 1.0, 64)
    free = nonstick.solve(A, b)
    held = nonstick.solve(A, b, constraints=(np.ones((1, 64)), None, free.x.sum() + 1.0))
    assert held.converged and held.multipliers[0] == 0.0
    np.testing.assert_allclose(held.x, free.x, atol=1e-5)
    pressed = nonstick.solve(A, b, constraints=(np.ones((1, 64)), None, 0.5 * free.x.sum()))
    assert pressed.converged and pressed.multipliers[0] < 0.0


def test_none_inside_a_list_is_no_bound():
    A, b, C = 2.0 * np.eye(3), np.ones(3), [[1.0, 1.0, 1.0], [1.0, 0.0, -1.0]]
    given = nonstick.solve(A, b, constraints=(C, [2.0, None], [2.0, -0.25]))
    assert given.converged
    np.testing.assert_array_equal(given.x, nonstick.solve(A, b, constraints=(C, [2.0, -np.inf], [2.0, -0.25])).x)


def test_order_of_the_cells_does_not_matter():
    A, b, rng = laplacian(9), np.full(81, -0.1), np.random.default_rng(2)
    C, order = rng.random((2, 81)), rng.permutation(81)
    cells = np.argwhere(np.ones((9, 9)))
    plain = nonstick.solve(A, b, 0.0, 1.0, constraints=(C, [9.0, 8.0], [9.0, np.inf]), cells=cells)
    mixed = nonstick.solve(
        A[order][:, order], b, 0.0, 1.0, constraints=(sp.csr_array(C[:, order]), [9.0, 8.0], [9.0, np.inf]),
        cells=cells[order],
    )  # fmt: skip
    assert plain.converged and mixed.converged and mixed.kkt() <= 1e-6
    np.testing.assert_allclose(mixed.x, plain.x[order], atol=1e-5)


def test_lcp_takes_constraints():
    solution = nonstick.lcp(np.eye(3), [1.0, 1.0, 1.0], constraints=([[1.0, 1.0, 1.0]], 3.0, 3.0))
    assert solution.converged
    np.testing.assert_allclose(solution.x, 1.0, atol=1e-6)
    np.testing.assert_allclose(solution.multipliers, [2.0], atol=1e-6)


@pytest.mark.parametrize(
    "C, lo, hi, words",
    [
        (np.ones((1, 4)), 5.0, 5.0, "constraint 0 cannot be met: .* at most 4, and at least 5"),
        (np.ones((1, 4)), None, -1.0, "at least 0, and at most -1"),
        ([[1.0, 1.0, 0, 0], [0, 0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]], [1.5, 1.5, 0.0], [2.0, 2.0, 2.0], "together"),
    ],
)
def test_infeasible_constraints_are_said(C, lo, hi, words):
    solution = nonstick.solve(laplacian(2), np.ones(4), 0.0, 1.0, constraints=(C, lo, hi))
    assert solution.status == "infeasible" and not solution.converged
    assert re.search(words, solution.message), solution.message
    assert "\n" not in solution.message


@pytest.mark.parametrize(
    "given, words",
    [
        (np.ones(4), r"\(C, lower, upper\)"),
        ((np.ones((1, 3)), 0.0, 1.0), "one column for each of 4 unknowns"),
        ((np.ones((1, 4)), 2.0, 1.0), "constraint 0 asks for a value from 2 to 1"),
        ((np.full((1, 4), np.nan), 0.0, 1.0), "not finite"),
        ((np.ones((2, 4)), np.zeros(3), 1.0), "lower of constraints"),
        ((np.ones((1, 4)) * 1j, 0.0, 1.0), "complex"),
    ],
)
def test_mistakes_get_one_sentence(given, words):
    with pytest.raises(NonstickError, match=words) as caught:
        nonstick.solve(laplacian(2), np.ones(4), constraints=given)
    assert "\n" not in str(caught.value)


def test_a_limit_is_passed_on():
    A, b = laplacian(20), np.full(400, -0.05)
    solution = nonstick.solve(A, b, constraints=(np.ones(400), 90.0, 90.0), method="pgs", maxiter=3)
    assert not solution.converged and solution.status == "maxiter"


def test_reach_and_one_sided_rows():
    C = sp.csr_array([[1.0, -2.0], [0.0, 3.0]])
    limits = LinearConstraints(C, np.array([1.0, -np.inf]), np.array([1.0, 4.0]))
    least, most = limits.reach(Bounds(np.array([0.0, -1.0]), np.array([np.inf, 1.0])))
    assert least.tolist() == [-2.0, -3.0] and most.tolist() == [np.inf, 3.0]
    E, e, equation = limits.one_sided()
    assert E.toarray().tolist() == [[1.0, -2.0], [0.0, -3.0]] and e.tolist() == [1.0, -4.0]
    assert equation.tolist() == [True, False] and limits.multipliers(np.array([5.0, 2.0])).tolist() == [5.0, -2.0]


@pytest.mark.parametrize("unit", [1e-250, 1e250])
def test_units_whose_squares_overflow_are_no_trouble(unit):
    A = unit * np.array([[2.0, -1.0], [-1.0, 2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = nonstick.solve(A, unit * np.array([1.0, 1.0]), constraints=([[1.0, 1.0]], 1.0, 1.0))
    assert solution.converged
    np.testing.assert_allclose(solution.x, 0.5, rtol=1e-6)
