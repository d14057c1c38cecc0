"""Evening out particles: the kernels against slow twins, and crowded particles that move apart."""

import itertools

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.discretise._pressure import LIGHTEST
from nonstick.sim.liquid.particles.spacing import _centre, _crowding, _displace, _expansion, displacement
from nonstick.sim.liquid.settings import SPACING

SHAPES = [(1, 7, 6), (5, 4, 6)]


def steps(shape):
    return [(a, s) for a in range(3) if shape[a] > 1 for s in (-1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_crowding_matches_the_twin(shape):
    rng = np.random.default_rng(4)
    density, room = 8.0 * rng.random(shape), rng.random(shape)
    phi, pressure = rng.normal(-1.0, 0.7, shape), np.maximum(rng.normal(size=shape), 0.0)
    out, inside = np.empty(shape), np.empty(shape, np.int8)
    _crowding(out, inside, density, 4.0, room, phi, pressure, 0.1)
    expected, deep = np.zeros(shape), np.zeros(shape, np.int8)
    for c in itertools.product(*map(range, shape)):
        if phi[c] >= 0.0 or room[c] <= 0.3:
            continue
        expected[c], deep[c] = density[c] / 4.0 - room[c], pressure[c] > 0.1
        for axis, step in steps(shape):
            n = tuple(x + step * (a == axis) for a, x in enumerate(c))
            if 0 <= n[axis] < shape[axis]:
                deep[c] &= phi[n] < 0.0 or room[n] < 0.3
    np.testing.assert_allclose(out, expected, atol=1e-15)
    np.testing.assert_array_equal(inside, deep)
    assert 0 < deep.sum() < (out != 0).sum()


@pytest.mark.parametrize("shape", SHAPES)
def test_expansion_matches_the_twin(shape):
    """Inside the liquid the mean over the cells around counts beyond the noise; beside air, crowding beyond slack."""
    rng = np.random.default_rng(5)
    excess, inside = rng.normal(0.1, 0.6, shape), (rng.random(shape) < 0.6).astype(np.int8)
    out, strength, noise, slack, limit = np.empty(shape), 0.5, 0.1, 0.15, 0.9
    _expansion(out, excess, inside, strength, noise, slack, limit)
    for c in itertools.product(*map(range, shape)):
        value = max(excess[c] - slack, 0.0)
        if inside[c]:
            around = tuple(slice(max(k - 1, 0), k + 2) for k in c)
            value = excess[c] - np.clip(excess[around][inside[around] > 0].mean(), -noise, noise)
        assert out[c] == pytest.approx(strength * np.clip(value, -0.5, limit), abs=1e-14)
    assert (out < 0).any() and (out == strength * limit).any()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_displacement_on_faces_matches_the_twin(axis):
    """Like a pressure q: the displacement of a face is w/m times the fall of q, so mass times way sums to zero."""
    shape = (5, 4, 6)
    rng = np.random.default_rng(axis)
    q = rng.normal(scale=0.2, size=shape)
    faces = tuple(n + (a == axis) for a, n in enumerate(shape))
    opened, mass = np.maximum(rng.uniform(-0.3, 1.0, faces), 0.0), rng.uniform(0.0, 1.5, faces)
    mass[rng.random(faces) < 0.2] = 0.0
    out = np.empty(faces)
    _displace(out, q, opened, mass, axis, 0.1)
    expected = np.zeros(faces)
    inner = tuple(slice(1, -1) if a == axis else slice(None) for a in range(3))
    w, m = opened[inner], np.maximum(mass, LIGHTEST * opened)[inner]
    force = -w * np.diff(q, axis=axis)
    expected[inner] = np.clip(np.divide(force, m, out=np.zeros(w.shape), where=w > 0.0), -0.1, 0.1)
    np.testing.assert_allclose(out, expected, atol=1e-14)
    assert (np.abs(out) == 0.1).any() and ((np.abs(out) > 0.0) & (np.abs(out) < 0.1)).any()
    _displace(out, q, opened, mass, axis, np.inf)
    np.testing.assert_allclose(m * out[inner], force, atol=1e-14)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_particles_at_closed_faces_are_centred_as_by_the_twin(axis):
    """From both sides of a closed face, so the order in which cells are visited does not matter."""
    shape = (5, 4, 6)
    rng = np.random.default_rng(axis)
    cells = np.sort(rng.integers(0, np.prod(shape), 500))
    x = np.array(np.unravel_index(cells, shape)) + rng.random((3, 500))
    start = np.searchsorted(cells, np.arange(np.prod(shape) + 1))
    inside, space = (rng.random(shape) < 0.7).astype(np.int8), rng.uniform(0.4, 1.0, shape)
    faces = tuple(n + (a == axis) for a, n in enumerate(shape))
    opened = rng.choice([0.0, 0.4, 1.0], faces, p=[0.4, 0.1, 0.5])
    out = np.where(opened > 0.0, 7.0, 0.0)
    _centre(out, x, start, inside, space, opened, axis, 0.5, 0.1)
    expected, both = np.where(opened > 0.0, 7.0, 0.0), 0
    for f in zip(*np.nonzero(opened == 0.0)):
        ways = []
        for below in (0, 1):
            c = tuple(int(k) - below * (a == axis) for a, k in enumerate(f))
            across = tuple(int(k) + (1 - 2 * below) * (a == axis) for a, k in enumerate(f))
            mine = cells == np.ravel_multi_index(c, shape) if 0 <= c[axis] < shape[axis] else np.zeros(500, bool)
            if mine.any() and inside[c] and opened[across] == 1.0:
                y, h = x[axis, mine].mean() - c[axis], space[c]
                height = h - y if below else y - (1.0 - h)
                ways.append((1 if below else -1) * np.clip(0.5 * (2.0 * height / h - 1.0), -0.1, 0.1))
        expected[f] = sum(ways)
        both += len(ways) == 2
    np.testing.assert_allclose(out, expected, atol=1e-13)
    assert both


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
    outcome, (_, mass, density) = reports[0].outcome, tracker._on_faces(cloud)
    pressed = outcome.problem, outcome.pressure, 0.0
    (shift,) = displacement([(cloud, tracker.phi, solids, density)], solids, *pressed, tracker.per_cell, mass)
    assert shift[1][0, 7, :6].max() < 0.0 < shift[1][0, 9, :6].min()
    # the halves have left the walls by 0.3 cells: the gaps close; nothing has left the floor
    assert shift[1][0, 0, :6].max() < -0.02 and shift[1][0, -1, :6].min() > 0.02
    assert np.abs(shift[2][:, :, 0]).max() < 0.01 and not shift[0].any()
    assert max(float(np.abs(s).max()) for s in shift) <= SPACING.longest
