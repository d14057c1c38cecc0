"""Particle kernels against slow NumPy twins."""

import copy

import numpy as np
import pytest
from numba import config, set_num_threads

from nonstick import Scene, Simulation
from nonstick.kernels._lanes import LANES
from nonstick.sim.liquid.particles._particles import (
    BATCH,
    ROWS,
    ParticleWalls,
    _cell_of,
    _fastest,
    _least_distances,
    _move,
    _part_pairs,
    _scatter_velocity,
    _sort_by_cell,
    _take_entries,
)
from nonstick.sim.liquid.particles.storage import sums


def faces(three):
    return [tuple(n + (a == b) for b, n in enumerate(three)) for a in range(3)]


def cloud(three, n, rng):
    x = rng.random((3, n)) * np.array(three)[:, None]
    if three[0] == 1:
        x[0] = 0.5
    cell, order = np.empty(n, np.int32), np.empty(n, np.int32)
    start = np.empty(np.prod(three) + 1, np.int64)
    _cell_of(cell, x, *three)
    _sort_by_cell(order, start, cell)
    assert np.array_equal(order, np.argsort(cell, kind="stable"))
    assert np.array_equal(np.diff(start), np.bincount(cell, minlength=np.prod(three)))
    return np.ascontiguousarray(x[:, order]), start


def corners(x, shape, offset):
    """Indices (clamped) and trilinear weights of the eight nodes around each particle."""
    c = x - np.array(offset)[:, None]
    base, part = np.floor(c).astype(int), c - np.floor(c)
    for bits in np.ndindex(2, 2, 2):
        index = [np.clip(base[a] + bits[a], 0, shape[a] - 1) for a in range(3)]
        weight = np.prod([part[a] if bits[a] else 1 - part[a] for a in range(3)], axis=0)
        yield tuple(index), weight, np.stack(index) - c


def scratch(x):
    return np.empty((-(-x.shape[1] // BATCH), ROWS * LANES), np.float32)


def gather(vel, aff, x, phi, new, old, first, flip, affine):
    """`_move` for a step of no time, far from walls."""
    still = [np.zeros(u.shape) for u in new]
    free, at = np.full([n + 1 for n in phi.shape], 1e3), x.copy()
    walls = ParticleWalls(free, free, tuple(still), 0.0)
    fields = tuple(new), tuple(old), tuple(still)
    _move((at, vel, aff), scratch(at), phi, *fields, walls, np.zeros(3), first, flip, affine, 0.0, False)
    assert np.array_equal(at, x)


OFFSETS = ((0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))


@pytest.mark.parametrize("three", [(1, 7, 5), (6, 9, 5), (13, 3, 4), (9, 8, 1), (1, 9, 1)])
def test_scatter_is_the_sum_over_corners(three):
    rng = np.random.default_rng(0)
    x, start = cloud(three, 300, rng)
    first = int(three[0] == 1)
    vel, aff = rng.normal(size=(3, 300)).astype(np.float32), rng.normal(size=(9, 300)).astype(np.float32)
    plane = three[2] if first else three[1] * three[2]
    found = []
    for order in np.zeros(0, np.int32), rng.permutation(300).astype(np.int32):
        pairs, density = [sums((*s, 2)) for s in faces(three)], sums(three)
        columns = [np.empty_like(c) for c in (vel, aff)]
        for column, values in zip(columns, (vel, aff)):
            column[:, order if order.size else slice(None)] = values
        _scatter_velocity(*pairs, density, x, *columns, order, start, plane, first)
        found.append([*pairs, density])
    assert all(np.array_equal(a, b) for a, b in zip(*found))
    mom, mass = ([pair[..., k] for pair in pairs] for k in range(2))
    for a in range(first, 3):
        u, m, known = np.empty(mom[a].shape), np.empty(mom[a].shape), np.empty(mom[a].shape, np.int8)
        _part_pairs(u, m, known, pairs[a], 8.0)
        assert np.array_equal(m, mass[a] / 8.0) and np.array_equal(known, mass[a] > 1e-9)
        assert np.array_equal(u, np.divide(mom[a], mass[a], out=np.zeros_like(u), where=mass[a] > 1e-9))
    for a in range(first, 3):
        expected, weight = np.zeros_like(mom[a]), np.zeros_like(mom[a])
        for index, w, d in corners(x, mom[a].shape, OFFSETS[a]):
            np.add.at(expected, index, w * (vel[a] + (aff[3 * a : 3 * a + 3] * d).sum(axis=0)))
            np.add.at(weight, index, w)
        np.testing.assert_allclose(mom[a], expected, atol=1e-12)
        np.testing.assert_allclose(mass[a], weight, atol=1e-12)
        assert mass[a].sum() == pytest.approx(300)
    expected = np.zeros(three)
    for index, w, _ in corners(x, three, (0.5, 0.5, 0.5)):
        np.add.at(expected, index, w)
    np.testing.assert_allclose(density, expected, atol=1e-12)


@pytest.mark.parametrize("three", [(1, 8, 6), (7, 5, 6)])
def test_apic_keeps_affine_fields(three):
    """A linear velocity survives grid → particle → grid wherever particles are."""
    rng = np.random.default_rng(1)
    first = int(three[0] == 1)
    n = 40 * int(np.prod(three))
    x, _ = cloud(three, n, rng)
    slope, shift = rng.normal(size=(3, 3)), rng.normal(size=3)
    if first:
        slope[:, 0] = 0.0
    u = []
    for a, s in enumerate(faces(three)):
        at = np.stack(np.meshgrid(*(np.arange(m) + o for m, o in zip(s, OFFSETS[a])), indexing="ij"))
        u.append(np.ascontiguousarray(shift[a] + np.tensordot(slope[a], at, 1)))
    inside = np.all((x >= 1) & (x <= np.array(three)[:, None] - 1), axis=0)
    inside = inside | (np.all((x[1:] >= 1) & (x[1:] <= np.array(three)[1:, None] - 1), axis=0) if first else False)
    vel, aff = np.zeros((3, n), np.float32), np.zeros((9, n), np.float32)
    rest = (u, u, first, 0.0, True)
    gather(vel, aff, x, np.full(three, -1.0), *rest)
    for a in range(first, 3):
        np.testing.assert_allclose(vel[a, inside], (shift[a] + slope[a] @ x)[inside], atol=1e-4)
        for b in range(first, 3):
            np.testing.assert_allclose(aff[3 * a + b, inside], slope[a, b], atol=1e-4)
    # outside the liquid compression is left out, and nothing else
    gather(vel, aff, x, np.full(three, 0.5), *rest)
    for a in range(first, 3):
        for b in range(first, 3):
            expected = max(slope[a, b], 0.0) if a == b else slope[a, b]
            np.testing.assert_allclose(aff[3 * a + b, inside], expected, atol=1e-4)


def test_flip_adds_the_change_only():
    three, rng = (5, 6, 7), np.random.default_rng(2)
    x, _ = cloud(three, 50, rng)
    vel = rng.normal(size=(3, 50)).astype(np.float32)
    old = [rng.normal(size=s) for s in faces(three)]
    new = [u + 0.25 for u in old]
    got, aff = vel.copy(), np.zeros((9, 1), np.float32)
    gather(got, aff, x, np.full(three, -1.0), new, old, 0, 1.0, False)
    np.testing.assert_allclose(got, vel + 0.25, atol=1e-5)


@pytest.mark.parametrize("three", [(1, 16, 16), (8, 16, 16)])
def test_advection_is_straight_and_stays_out_of_solids(three):
    first = int(three[0] == 1)
    rng = np.random.default_rng(3)
    still = [np.zeros(s) for s in faces(three)]
    # a field linear in space, in cells per unit time, so that interpolation is exact; and a displacement
    slope, u, shift = rng.normal(size=(3, 3)), [], [np.full(s, 0.1 * (a + 1)) for a, s in enumerate(faces(three))]
    slope[:first] = slope[:, :first] = 0.0
    for a, s in enumerate(faces(three)):
        at = np.stack(np.meshgrid(*(np.arange(m) + o for m, o in zip(s, OFFSETS[a])), indexing="ij"))
        u.append(np.ascontiguousarray(np.tensordot(slope[a], at - 4.0, 1)))
    free = np.full([m + 1 for m in three], 1e3)
    begin = 3.0 + 2.0 * rng.random((3, 40))
    begin[:first] = 0.5
    vel, aff = rng.normal(size=(3, 40)).astype(np.float32), np.zeros((9, 1), np.float32)
    away = np.array([[0.1 * (1 - first)], [0.2], [0.3]])
    liquid = np.full(three, -1.0)
    for flip in 0.0, 0.9:  # without FLIP they move with the velocity that they take, which is rounded
        x, kept = begin.copy(), vel.copy()
        walls, fields = ParticleWalls(free, free, tuple(still), 0.02), (tuple(u), tuple(u), tuple(shift))
        _move((x, kept, aff), scratch(x), liquid, *fields, walls, np.zeros(3), first, flip, False, 0.3, True)
        expected = begin + 0.3 * (slope @ (begin - 4.0)) + away
        np.testing.assert_allclose(x, expected, atol=1e-6)
        changed = slope @ (begin - 4.0) + flip * (vel - slope @ (begin - 4.0))
        np.testing.assert_allclose(kept[first:], changed[first:], atol=1e-5)
    at = np.meshgrid(*(np.arange(m + 1) for m in three), indexing="ij")
    ball = np.sqrt((at[1] - 8.0) ** 2 + (at[2] - 8.0) ** 2) - 4.0  # a solid rod
    x, _ = cloud(three, 400, rng)
    vel = np.zeros((3, 400), np.float32)
    push = [np.zeros(s) for s in faces(three)]
    push[1][:] = 3.0
    clear = np.empty(three)
    _least_distances(clear, ball)
    corners_of = [ball[tuple(slice(a, a + m) for a, m in zip(at, three))] for at in np.ndindex(2, 2, 2)]
    lowest = np.min(corners_of, axis=0)
    assert (clear < lowest).all() and clear == pytest.approx(lowest, abs=2e-3)
    for _ in range(4):
        walls, fields = ParticleWalls(ball, clear, tuple(still), 0.02), (tuple(push),) * 3
        _move((x, vel, aff), scratch(x), liquid, *fields, walls, np.zeros(3), first, 0.0, False, 1.0, False)
    r = np.hypot(x[1] - 8, x[2] - 8)
    assert r.min() > 3.9 and x[1].max() <= 16 and x[1].min() >= 0


def test_columns_follow_their_order():
    rng = np.random.default_rng(5)
    n = BATCH + 300
    columns, order = rng.normal(size=(3, n)), rng.permutation(n).astype(np.int32)
    got = np.empty(n)
    _take_entries(got, columns[1], order)
    assert np.array_equal(got, columns[1, order])
    vel = columns.astype(np.float32)
    largest = np.empty(2, np.float32)
    _fastest(largest, vel)
    assert largest.max() == np.abs(vel).max()


@pytest.mark.parametrize("flip", [0.0, 0.95])
def test_paths_do_not_depend_on_the_number_of_threads(flip):
    """Loops on vectors round otherwise than what they leave over: blocks must not depend on threads."""
    rng = np.random.default_rng(6)
    three, n = (6, 7, 5), 3 * BATCH + 77
    x = 0.5 + rng.random((3, n)) * (np.array(three)[:, None] - 1.0)
    u, shift = ([rng.normal(size=s) for s in faces(three)] for _ in range(2))
    still = [np.zeros(s) for s in faces(three)]
    solid = np.full(tuple(k + 1 for k in three), 1e3)
    vel = rng.normal(size=(3, n)).astype(np.float32)
    ends = []
    for threads in (1, config.NUMBA_NUM_THREADS):
        set_num_threads(threads)
        at, v, aff = x.copy(), vel.copy(), np.zeros((9, n), np.float32)
        phi, affine = solid[1:, 1:, 1:].copy(), flip == 0.0
        walls, fields = ParticleWalls(solid, solid, tuple(still), 0.02), (tuple(u), tuple(u), tuple(shift))
        _move((at, v, aff), scratch(at), phi, *fields, walls, np.zeros(3), 0, flip, affine, 0.7, True)
        ends.append((at, v, aff))
    assert all(np.array_equal(a, b) for a, b in zip(*ends))


def test_velocities_follow_sorted_particles_when_they_are_asked_for():
    simulation = Simulation(Scene.load("circle", {"domain.resolution": 12}))
    cloud, rng = simulation.liquid.tracker.cloud, np.random.default_rng(7)
    cloud.x[1:] = rng.uniform(0.0, 12.0, (2, cloud.n))
    cloud.vel[1:], cloud.aff[4:6] = cloud.x[1:], cloud.x[1:]
    cloud.sort()
    assert np.array_equal(cloud._vel[1][cloud._order], cloud.x[1].astype(np.float32))
    assert not np.array_equal(cloud._vel[1], cloud.x[1].astype(np.float32))
    other = copy.copy(cloud)
    other.keep(cloud.x[1] < 6.0)
    for one in cloud, other:
        assert np.array_equal(one.vel[1:], one.x[1:].astype(np.float32))
        assert np.array_equal(one.aff[4:6], one.x[1:].astype(np.float32))
    assert other.n < cloud.n
