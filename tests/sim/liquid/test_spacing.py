"""Evening out particles: the kernels against slow twins, and crowded particles that move apart."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.sim.liquid.particles._spacing import _crowding, _displace
from nonstick.sim.liquid.particles.spacing import displacement
from nonstick.sim.liquid.settings import SPACING

SHAPES = [(1, 7, 6), (5, 4, 6)]


def steps(shape):
    return [(a, s) for a in range(3) if shape[a] > 1 for s in (-1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_crowding_matches_the_twin(shape):
    rng = np.random.default_rng(4)
    density, room = 8.0 * rng.random(shape), rng.random(shape)
    phi, pressure = rng.normal(-1.0, 0.7, shape), np.maximum(rng.normal(size=shape), 0.0)
    out = np.empty(shape)
    _crowding(out, density, 4.0, room, phi, pressure, 0.1, 0.5, 0.15, 1.2)
    expected = np.zeros(shape)
    for c in itertools.product(*map(range, shape)):
        if phi[c] >= 0.0 or room[c] <= 0.3:
            continue
        inside = pressure[c] > 0.1
        for axis, step in steps(shape):
            n = tuple(x + step * (a == axis) for a, x in enumerate(c))
            if 0 <= n[axis] < shape[axis]:
                inside &= phi[n] < 0.0 or room[n] < 0.3
        value = density[c] / 4.0 - room[c]
        value = value if inside else max(value - 0.15, 0.0)
        expected[c] = 0.5 * min(max(value, -0.5), 1.2)
    np.testing.assert_allclose(out, expected, atol=1e-15)
    assert (out < 0).any() and (out > 0).any()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_displacement_on_faces_matches_the_twin(axis):
    shape = (5, 4, 6)
    rng = np.random.default_rng(axis)
    q, phi = rng.normal(scale=0.2, size=shape), rng.normal(size=shape)
    faces = tuple(n + (a == axis) for a, n in enumerate(shape))
    opened = np.maximum(rng.uniform(-0.3, 1.0, faces), 0.0)
    out = np.empty(faces)
    _displace(out, q, phi, opened, axis, 0.1)
    expected = np.zeros(faces)
    low = [slice(None)] * 3
    low[axis] = slice(1, -1)
    wet = np.minimum(np.take(phi, range(shape[axis] - 1), axis), np.take(phi, range(1, shape[axis]), axis)) < 0
    moving = wet & (opened[tuple(low)] > 0)
    expected[tuple(low)] = np.where(moving, np.clip(-np.diff(q, axis=axis), -0.1, 0.1), 0.0)
    np.testing.assert_allclose(out, expected, atol=1e-15)


def test_crowded_particles_move_apart_and_not_through_walls():
    simulation = Simulation(Scene.load("still", {"domain.resolution": 16}))
    reports = []
    simulation.watch = reports.append
    simulation.step(0.01)
    tracker, solids = simulation.liquid.tracker, simulation.liquid.solids
    middle = 0.5 * np.array(solids.grid.three)
    cloud = tracker.cloud
    cloud.x[1] += 0.3 * np.sign(middle[1] - cloud.x[1])  # two halves pushed into each other
    cloud.sort()
    outcome = reports[0].outcome
    pressed = outcome.problem, outcome.pressure, 0.0
    shift = displacement(cloud, tracker.phi, solids, *pressed, tracker.per_cell, 0.0)
    assert shift[1][0, 7, :6].max() < 0.0 < shift[1][0, 9, :6].min()
    assert not shift[1][:, [0, -1]].any() and not shift[2][:, :, 0].any() and not shift[0].any()
    assert max(float(np.abs(s).max()) for s in shift) <= SPACING.longest
    more = displacement(cloud, tracker.phi, solids, *pressed, tracker.per_cell, 0.3)
    assert np.abs(more[1]).sum() > np.abs(shift[1]).sum()  # after liquid was crushed there are more sweeps


@pytest.mark.parametrize("heat, left", [(0.0, 0.0), (0.25, 0.25), (1.0, 1.0), (3.0, 1.0)])
def test_the_heat_of_viscosity_pays_for_evening_out_and_nothing_else_does_at_rest(heat, left):
    """Particles at rest are lifted by `lift`; viscosity has taken `heat` times the energy of that."""
    tracker = Simulation(Scene.load("still", {"domain.resolution": 16})).liquid.tracker
    start = tracker.to_grid()
    rest = start.mass.zeros()
    shift = rest.copy()
    shift[2][:] = 0.05
    lift = 9.81 * 0.05 * tracker.dx * tracker.cloud.n  # energy over the mass of a particle
    start.energy, start.heat = sum(tracker.energy()), heat * lift
    tracker.cloud.fall[:] = 0.0  # the pressure carries all of it
    tracker._pay_for_lift(shift, SimpleNamespace(start=start, velocity=rest, dt=0.01, work=0.0))
    np.testing.assert_allclose(shift[2], 0.05 * left, rtol=1e-6, atol=1e-12)
    assert not tracker.cloud.vel.any()
