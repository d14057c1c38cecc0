"""Bounded diffusion: the matrix entry by entry, conservation, exact equilibria, bounds against projected sweeps."""

import numpy as np
import pytest

import nonstick
from nonstick.discretise.diffusion import DiffusionProblem


def random_body(shape, seed=0):
    rng = np.random.default_rng(seed)
    inside = rng.random(shape) < 0.8
    fixed = inside & (rng.random(shape) < 0.1)
    return inside, fixed, rng.uniform(0.0, 100.0, shape)


@pytest.mark.parametrize("shape", [(7, 9), (4, 5, 6), (1, 8), (1, 1)], ids=str)
@pytest.mark.parametrize("alpha", [0.7, 300.0])
def test_entries(shape, alpha):
    inside, fixed, q = random_body(shape)
    problem = DiffusionProblem(temperature=q, alpha=alpha, inside=inside, fixed=fixed)
    A, b = problem.matrix.toarray(), problem.rhs
    number = {tuple(c): i for i, c in enumerate(problem.cells)}
    assert len(number) == (inside & ~fixed).sum()
    for cell, i in number.items():
        diagonal, right = 1.0, q[cell]
        for axis in range(len(shape)):
            for step in (-1, 1):
                other = tuple(c + step * (a == axis) for a, c in enumerate(cell))
                if not all(0 <= c < n for c, n in zip(other, shape)) or not inside[other]:
                    continue
                diagonal += alpha
                if fixed[other]:
                    right += alpha * q[other]
                else:
                    assert A[i, number[other]] == pytest.approx(-alpha)
        assert A[i, i] == pytest.approx(diagonal) and b[i] == pytest.approx(right)


def test_heat_is_conserved_without_bands():
    inside, _, q = random_body((9, 10))
    s = DiffusionProblem(temperature=q, alpha=5.0, inside=inside).solve("ipm-pd", rtol=1e-11)
    assert s.temperature[inside].sum() == pytest.approx(q[inside].sum(), rel=1e-9)
    assert np.array_equal(s.temperature[~inside], q[~inside])


def test_a_bar_between_two_bands_is_linear():
    q = np.full((21, 3), 50.0)
    fixed = np.zeros_like(q, bool)
    fixed[0], fixed[-1] = True, True
    q[0], q[-1] = 0.0, 100.0
    s = DiffusionProblem(temperature=q, alpha=np.inf, fixed=fixed).solve("ipm-pd", rtol=1e-11)
    np.testing.assert_allclose(s.temperature, np.linspace(0, 100, 21)[:, None] * np.ones(3), atol=1e-7)
    # with bounds the middle is a straight line between the two places where it leaves them
    s = DiffusionProblem(temperature=q, alpha=np.inf, fixed=fixed, lower=20, upper=80).solve("ipm-pd", rtol=1e-11)
    inner = s.temperature[1:-1, 0]
    assert inner.min() == 20.0 and inner.max() == 80.0
    assert np.all(np.diff(inner) >= -1e-9)
    interior = (inner > 20.0 + 1e-6) & (inner < 80.0 - 1e-6)
    assert np.abs(np.diff(inner[interior], 2)).max() < 1e-6


@pytest.mark.parametrize("method", ["ipm-pd", "ipm-pd+mic-cg", "mehrotra", "tagiaamg-mprgp", "mic-mprgp"])
@pytest.mark.parametrize("alpha", [2.0, np.inf])
def test_bounds_as_projected_sweeps_find_them(method, alpha):
    rng = np.random.default_rng(3)
    inside = np.ones((12, 9, 7), bool)
    inside[4:7, 3:6] = False
    fixed = np.zeros_like(inside)
    fixed[:2], fixed[-2:] = True, True
    q = np.where(fixed, 0.0, rng.uniform(0.0, 100.0, inside.shape))
    q[-2:] = 100.0
    problem = DiffusionProblem(temperature=q, alpha=alpha, inside=inside, fixed=fixed & inside, lower=20, upper=80)
    s = problem.solve(method, rtol=1e-10)
    assert s.converged
    free = inside & ~fixed
    assert s.temperature[free].min() >= 20 - 1e-10 and s.temperature[free].max() <= 80 + 1e-10
    reference = problem.solve("pgs", rtol=1e-12, maxiter=20_000)
    np.testing.assert_allclose(s.temperature, reference.temperature, atol=1e-6)
    unbounded = DiffusionProblem(temperature=q, alpha=alpha, inside=inside, fixed=fixed & inside).solve(method)
    assert np.abs(unbounded.temperature - s.temperature)[free].max() > 1.0


def test_mistakes():
    q = np.zeros((4, 4))
    for bad in (
        {"alpha": 0.0},
        {"alpha": 1.0, "inside": np.ones((3, 3), bool)},
        {"alpha": 1.0, "lower": 2.0, "upper": 1.0},
        {"alpha": 1.0, "lower": np.nan},
        {"alpha": 1.0, "lower": np.inf},
        {"alpha": 1.0, "upper": -np.inf},
        {"alpha": np.inf},
        {"alpha": 1.0, "phi": q, "inside": q < 1},
    ):
        with pytest.raises(nonstick.NonstickError):
            DiffusionProblem(temperature=q, **bad)
    with pytest.raises(nonstick.NonstickError):
        DiffusionProblem(temperature=q * np.nan, alpha=1.0)
    empty = DiffusionProblem(temperature=q, alpha=1.0, inside=np.zeros((4, 4), bool))
    assert empty.solve("ipm-pd").temperature.shape == (4, 4)
