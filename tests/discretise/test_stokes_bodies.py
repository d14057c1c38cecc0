"""Rigid bodies in the Stokes step: momentum, rigid motions, and buoyancy as the pressure equation has it."""

import numpy as np
import pytest
from test_stokes import UNITS, at_faces, centres, noise

from nonstick.discretise import Body, PressureProblem, StokesProblem


def ball(shape, centre, radius, density, velocity, spin=0.0):
    nodes = np.stack(np.meshgrid(*(np.arange(n + 1.0) for n in shape), indexing="ij"))
    phi = np.sqrt(((nodes.T - centre).T ** 2).sum(axis=0)) - radius
    spin = spin if len(shape) == 2 else np.full(3, spin)
    return Body(phi, np.array(centre, float), np.array(velocity, float), spin, density=density)


def drop(shape, centre, radius):
    return np.sqrt(((centres(shape).T - np.array(centre)).T ** 2).sum(axis=0)) - radius


@pytest.mark.parametrize(
    ("shape", "centre", "radius"), [((28, 26), (13.3, 13.8), 9.0), ((13, 14, 12), (6.2, 6.8, 6.0), 5.0)]
)
@pytest.mark.parametrize("density", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_liquid_and_body_keep_their_momentum(shape, centre, radius, density, mu):
    star, d = noise(shape), len(shape)
    body = ball(shape, np.array(centre) + 0.2, 0.4 * radius, density, [0.3] * d, 0.1)
    problem = StokesProblem(
        phi_liquid=drop(shape, centre, radius), velocity=star, viscosity=mu, bodies=[body], slip=mu == 0.0, **UNITS
    )
    direct, solution = (problem.solve(method, rtol=1e-9) for method in ("stokes-direct", "stokes-auto"))
    assert direct.converged and solution.converged and solution.iterations <= 30
    for one, other in zip(direct.velocity, solution.velocity):
        np.testing.assert_allclose(one, other, atol=1e-6)
    M = problem.bodies.coupling.covered[0].mass
    moved = direct.bodies[0]
    V, before = np.append(moved.velocity, moved.spin), body.motion(d)
    mass = [m + c for m, c in zip(problem.mass, problem.carried)]
    change = [(m * (u - v)).sum() for m, u, v in zip(mass, direct.velocity, star)] + (M @ (V - before))[:d]
    np.testing.assert_allclose(change, 0.0, atol=1e-7)
    np.testing.assert_allclose(moved.impulse, (M @ (V - before))[:d], atol=1e-9)


@pytest.mark.parametrize("mu", [0.01, 1e3])
def test_a_drop_that_turns_with_its_body_goes_on_turning(mu):
    shape, centre, speed, spin = (28, 28), np.array([13.3, 13.8]), (0.3, 0.2), 0.1
    star = at_faces(shape, lambda a, x, y: speed[a] + spin * (-(y - centre[1]) if a == 0 else x - centre[0]))
    body = ball(shape, centre, 4.0, 3.0, speed, spin)
    problem = StokesProblem(phi_liquid=drop(shape, centre, 10.0), velocity=star, viscosity=mu, bodies=[body], **UNITS)
    solution = problem.solve("stokes-direct", rtol=1e-9)
    np.testing.assert_allclose(solution.bodies[0].velocity, speed, atol=1e-8)
    assert solution.bodies[0].spin == pytest.approx(spin)
    for new, old, free in zip(solution.velocity, star, problem.unknown):
        np.testing.assert_allclose(new[free], old[free], atol=1e-7)


@pytest.mark.parametrize("density", [0.1, 1.0, 2.0])
def test_without_viscosity_a_submerged_body_rises_as_in_a_pressure_problem(density):
    shape = (32, 32)
    star = at_faces(shape, lambda a, *x: -1.0 * (a == 1))
    fields = {"phi_liquid": centres(shape)[1] - 27.2, "velocity": star, **UNITS}
    body = ball(shape, (16.1, 13.2), 4.3, density, (0.0, -1.0))
    found = StokesProblem(viscosity=0.0, bodies=[body], slip=True, **fields).solve(rtol=1e-9).bodies[0]
    known = PressureProblem(bodies=[body], walls="none", **fields).solve(rtol=1e-9).bodies[0]
    np.testing.assert_allclose(found.velocity, known.velocity, atol=1e-4)


@pytest.mark.parametrize("mu", [1e-3, 1.0, 1e3])
def test_a_body_as_dense_as_viscous_liquid_hovers(mu):
    """The liquid on the faces that a body holds weighs on it; without that weight it would rise."""
    shape = (24, 24)
    star = at_faces(shape, lambda a, *x: -1.0 * (a == 1))
    body = ball(shape, (12.1, 10.2), 3.3, 1.0, (0.0, -1.0))
    problem = StokesProblem(phi_liquid=centres(shape)[1] - 19.2, velocity=star, viscosity=mu, bodies=[body], **UNITS)
    found = problem.solve("stokes-direct", rtol=1e-9)
    np.testing.assert_allclose(found.bodies[0].velocity, 0.0, atol=1e-8)
    assert max(np.abs(u[f]).max() for u, f in zip(found.velocity, problem.unknown)) < 1e-8
