"""Observed order: the pressure converges with second order at a smooth free surface that cuts the cells."""

import numpy as np
import pytest

from nonstick import PressureProblem, solve_problem
from nonstick.grid.mac import Grid
from nonstick.grid.shapes import Ball


def error(n, dimension, radius=0.37):
    """A drop whose divergence asks for p = R² - r², known in closed form.

    The velocity u* = dt/rho grad p is given at faces, so p is what makes it divergence-free.
    """
    grid = Grid.unit(n, dimension)
    centre = (0.5, 0.47, 0.52)[:dimension]
    dt, rho = 0.02, 900.0
    wave = lambda d: np.sin(3 * d[0] + 1) * np.exp(d[1])  # noqa: E731

    def pressure(x):
        d = [a - c for a, c in zip(x, centre)]
        return (radius**2 - sum(a * a for a in d)) * (2 + wave(d))

    # Face velocities from pressure differences of a fine step: the gradient at the face centre, by formula.
    velocity = []
    h = 1e-5
    for axis in range(dimension):
        x = grid.faces(axis)
        ahead, behind = ([c + s * h * (a == axis) for a, c in enumerate(x)] for s in (1, -1))
        velocity.append(dt / rho * (pressure(ahead) - pressure(behind)) / (2 * h))
    problem = PressureProblem(
        phi_liquid=Ball(centre, radius).sample(grid.cells()),
        velocity=tuple(np.broadcast_to(u, grid.face_shape(a)) for a, u in enumerate(velocity)),
        dt=dt,
        dx=grid.dx,
        rho=rho,
        walls="none",
    )
    solution = solve_problem(problem.problem, "pi-pcg", rtol=1e-11)
    exact = problem.rows.from_grid(np.broadcast_to(pressure(grid.cells()), grid.shape))
    gap = solution.x - exact
    return np.abs(gap).max(), np.sqrt(np.mean(gap**2))


@pytest.mark.parametrize(("dimension", "sizes"), [(2, (16, 32, 64, 128)), (3, (12, 24, 48))])
def test_pressure_is_second_order(dimension, sizes):
    largest, mean = np.array([error(n, dimension) for n in sizes]).T
    for errors, least in ((largest, 1.8), (mean, 1.9)):
        order = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
        assert order > least, (order, errors)
