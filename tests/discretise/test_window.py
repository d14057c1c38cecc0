"""The box of cells around the liquid: the same problem and the same solution as on the whole grid."""

import numpy as np
import pytest

from nonstick import ViscosityProblem
from nonstick.discretise.fields import ALIGNED, MARGIN, liquid_volumes, window_around

rng = np.random.default_rng(5)


def ball(cells, centre, radius):
    x = np.meshgrid(*(np.arange(n) + 0.5 for n in cells), indexing="ij")
    return np.sqrt(sum((a - c) ** 2 for a, c in zip(x, centre))) - radius


def faces(cells):
    return [rng.standard_normal([n + (axis == a) for axis, n in enumerate(cells)]) for a in range(len(cells))]


def problem(cells, phi, whole, velocity, viscosity, **keys):
    return ViscosityProblem(
        velocity=velocity, viscosity=viscosity, dt=1.0, dx=1.0, rho=1.0, phi_liquid=phi, whole=whole, **keys
    )


@pytest.mark.parametrize("shift", [(0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 1)])
def test_a_window_holds_every_value_that_is_not_zero(shift):
    cells = (40, 70, 80)
    field = np.zeros([n + s for n, s in zip(cells, shift)])
    for at in rng.integers(0, [n + s for n, s in zip(cells, shift)], size=(3, 3)):
        field[tuple(at)] = 1.0
    window = window_around([field], cells)
    assert window.part(field, cells).sum() == field.sum()
    np.testing.assert_array_equal(window.back(window.part(field, cells).copy(), cells), field)
    where = np.argwhere(field)
    for axis in range(3):
        assert window.low[axis] % ALIGNED == 0
        assert window.low[axis] <= max(0, where[:, axis].min() - MARGIN)
        assert window.high[axis] == min(cells[axis], where[:, axis].max() + 1 + MARGIN)


def test_no_liquid_leaves_one_cell():
    window = window_around([np.zeros((9, 8))], (9, 8))
    assert window.shape == (1, 1)
    phi = np.ones((9, 8))
    step = problem((9, 8), phi, False, faces((9, 8)), 1.0)
    assert step.problem.n == 0
    for u, v in zip(step.solve().velocity, step.velocity):
        np.testing.assert_array_equal(u, v)


@pytest.mark.parametrize(
    "cells, centre, radius",
    [((70, 50, 60), (48, 40, 44), 7.0), ((120, 80), (80, 50), 12.0),
     ((64, 70), (60, 5), 9.0), ((50, 40, 44), (49, 20, 43), 8.0)],
)  # fmt: skip
@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize("walls", [False, True])
def test_the_window_has_the_problem_of_the_whole_grid(cells, centre, radius, varies, walls):
    phi, velocity = ball(cells, centre, radius), faces(cells)
    mu = 1.0 + rng.random(cells) if varies else 5.0
    keys = {}
    if walls:
        x = np.meshgrid(*(np.arange(n + 1.0) for n in cells), indexing="ij")
        keys = {"phi_solid": x[1] - centre[1] + 0.3 * radius + 0.2 * (x[0] - centre[0])}
    some, every = (problem(cells, phi, whole, velocity, mu, **keys) for whole in (False, True))
    assert np.prod(some.window.shape) < 0.7 * np.prod(cells)
    np.testing.assert_array_equal(some.faces, every.faces)
    np.testing.assert_array_equal(some.problem.b, every.problem.b)
    assert (some.operator.matrix() != every.operator.matrix()).nnz == 0
    found, right = (step.solve(rtol=1e-10) for step in (some, every))
    for u, v in zip(found.velocity, right.velocity):
        np.testing.assert_allclose(u, v, atol=1e-8)
    for step in (some, every):
        step.correct_walls(right.velocity)
    np.testing.assert_array_equal(some.problem.b, every.problem.b)


def test_volumes_in_a_window_are_those_of_the_whole_grid():
    cells = (50, 70)
    phi = ball(cells, (40, 50), 6.0)
    given = liquid_volumes(phi)
    step = ViscosityProblem(velocity=faces(cells), viscosity=1.0, dt=1.0, dx=1.0, rho=1.0, volumes=given, whole=True)
    other = problem(cells, phi, True, step.velocity, 1.0)
    np.testing.assert_array_equal(step.system.m, other.system.m)
    np.testing.assert_array_equal(step.system.k, other.system.k)


@pytest.mark.parametrize("cells", [(40, 50), (40, 36, 42)])
def test_a_surface_beyond_the_side_counts(cells):
    """No cell is liquid, but φ, continued beyond the last corner of the grid, is negative there."""
    x = np.meshgrid(*(np.arange(n) + 0.5 for n in cells), indexing="ij")
    phi = sum(n - 0.1 - a for a, n in zip(x, cells))
    assert (phi > 0.0).all()
    velocity = faces(cells)
    fluid = [np.ones(u.shape, bool) for u in velocity]
    some, every = (problem(cells, phi, whole, velocity, 2.0, fluid=fluid) for whole in (False, True))
    assert every.problem.n > 0
    np.testing.assert_array_equal(some.faces, every.faces)
    np.testing.assert_array_equal(some.problem.b, every.problem.b)
