"""Particle kernels against slow NumPy twins."""

import numpy as np
import pytest
from numba import config, set_num_threads

from nonstick.sim.liquid.particles._particles import (
    BATCH,
    _advect,
    _cell_of,
    _fastest,
    _gather_velocity,
    _reorder,
    _scale,
    _scatter_density,
    _scatter_velocity,
    _sort_by_cell,
)


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


def weightless(n):
    """The share of gravity that acts on n particles, and no gravity."""
    return np.ones(n, np.float32), 0.0, 0.0, 0.0


OFFSETS = ((0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))


@pytest.mark.parametrize("three", [(1, 7, 5), (6, 9, 5), (13, 3, 4)])
def test_scatter_is_the_sum_over_corners(three):
    rng = np.random.default_rng(0)
    x, start = cloud(three, 300, rng)
    first = int(three[0] == 1)
    vel, aff = rng.normal(size=(3, 300)).astype(np.float32), rng.normal(size=(9, 300)).astype(np.float32)
    mom, mass = ([np.zeros(s) for s in faces(three)] for _ in range(2))
    plane = three[2] if first else three[1] * three[2]
    _scatter_velocity(*mom, *mass, x, vel, aff, start, plane, first)
    for a in range(first, 3):
        expected, weight = np.zeros_like(mom[a]), np.zeros_like(mom[a])
        for index, w, d in corners(x, mom[a].shape, OFFSETS[a]):
            np.add.at(expected, index, w * (vel[a] + (aff[3 * a : 3 * a + 3] * d).sum(axis=0)))
            np.add.at(weight, index, w)
        np.testing.assert_allclose(mom[a], expected, atol=1e-12)
        np.testing.assert_allclose(mass[a], weight, atol=1e-12)
        assert mass[a].sum() == pytest.approx(300)
    density = np.zeros(three)
    _scatter_density(density, x, start, plane)
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
    none = [np.zeros(s) for s in faces(three)]
    rest = (*u, *u, first, 0.0, True, *none, *weightless(n), 0.0, 0.25, 0.0)
    _gather_velocity(np.zeros(-(-n // BATCH)), vel, aff, x, np.full(three, -1.0), *rest)
    for a in range(first, 3):
        np.testing.assert_allclose(vel[a, inside], (shift[a] + slope[a] @ x)[inside], atol=1e-4)
        for b in range(first, 3):
            np.testing.assert_allclose(aff[3 * a + b, inside], slope[a, b], atol=1e-4)
    # outside the liquid compression is left out, and nothing else
    _gather_velocity(np.zeros(-(-n // BATCH)), vel, aff, x, np.full(three, 0.5), *rest)
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
    none = [np.zeros(s) for s in faces(three)]
    rest = (*new, *old, 0, 1.0, False, *none, *weightless(50), 0.0, 0.25, 0.0)
    _gather_velocity(np.zeros(1), got, aff, x, np.full(three, -1.0), *rest)
    np.testing.assert_allclose(got, vel + 0.25, atol=1e-5)


@pytest.mark.parametrize("three", [(1, 8, 6), (7, 5, 6)])
@pytest.mark.parametrize("steady", [0.0, 0.2])
@pytest.mark.parametrize("fall", [1.0, 0.75, 0.0])
def test_the_force_of_the_pressure_turns_with_the_flow(three, steady, fall):
    """`turn · ω × d` is added, ω half the curl of the flow; as much energy is reported. The weight does not turn."""
    rng = np.random.default_rng(7)
    first, n = int(three[0] == 1), 60
    x = 1.0 + rng.random((3, n)) * (np.array(three)[:, None] - 2.0)
    x[0] = 0.5 if first else x[0]
    slope, d, push = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    if first:
        slope[:, 0] = slope[0] = d[0] = push[0] = 0.0
    held = np.full(n, fall, np.float32), *push
    u, taken = [], [np.full(s, c) for s, c in zip(faces(three), d)]
    for a, s in enumerate(faces(three)):
        at = np.stack(np.meshgrid(*(np.arange(m) + o for m, o in zip(s, OFFSETS[a])), indexing="ij"))
        u.append(np.ascontiguousarray(np.tensordot(slope[a], at, 1)))
    vel, aff, added = np.zeros((3, n), np.float32), np.zeros((9, n), np.float32), np.zeros(1)
    curl = np.array([slope[2, 1] - slope[1, 2], slope[0, 2] - slope[2, 0], slope[1, 0] - slope[0, 1]])
    for turn in (0.01, 100.0):  # the second one is limited
        rest = (*u, *u, first, 0.0, True, *taken, *held, turn, 0.25, steady)
        _gather_velocity(added, vel, aff, x, np.full(three, -1.0), *rest)
        plain = slope @ x
        share = min(turn, 0.25 / np.linalg.norm(0.5 * curl))
        lost = d - {1.0: 0.0, 0.75: 0.5, 0.0: 1.0}[fall] * push
        force = -steady * slope @ plain if steady else np.tile(lost[:, None], n)
        expected = plain + share * np.cross(0.5 * curl, force.T).T
        np.testing.assert_allclose(vel, expected, atol=1e-4)
        assert added[0] == pytest.approx(0.5 * (expected**2 - plain**2).sum(), rel=1e-4)


@pytest.mark.parametrize("three", [(1, 16, 16), (8, 16, 16)])
def test_advection_is_third_order_and_stays_out_of_solids(three):
    first = int(three[0] == 1)
    rng = np.random.default_rng(3)
    still = [np.zeros(s) for s in faces(three)]
    u = [np.zeros(s) for s in faces(three)]
    # rotation about the middle of the last two axes, in cells per unit time: linear, so interpolation is exact
    for a, s in enumerate(faces(three)):
        at = np.meshgrid(*(np.arange(m) + o for m, o in zip(s, OFFSETS[a])), indexing="ij")
        if a:
            u[a] = np.ascontiguousarray((8 - at[2]) if a == 1 else (at[1] - 8))
    free = np.full([m + 1 for m in three], 1e3)
    errors = []
    for steps in (10, 20):
        x = np.array([[0.5], [8.0], [11.0]])
        vel = np.zeros((3, 1), np.float32)
        for _ in range(steps):
            _advect(x, vel, *u, *u, free, *still, first, 1.0 / steps, 0.02, False, False)
        exact = np.array([8 - 3 * np.sin(1.0), 8 + 3 * np.cos(1.0)])
        errors.append(np.abs(x[1:, 0] - exact).max())
    assert errors[1] < errors[0] / 6
    at = np.meshgrid(*(np.arange(m + 1) for m in three), indexing="ij")
    ball = np.sqrt((at[1] - 8.0) ** 2 + (at[2] - 8.0) ** 2) - 4.0  # a solid rod
    x, _ = cloud(three, 400, rng)
    vel = np.zeros((3, 400), np.float32)
    push = [np.zeros(s) for s in faces(three)]
    push[1][:] = 3.0
    for _ in range(4):
        _advect(x, vel, *push, *push, ball, *still, first, 1.0, 0.02, False, False)
    r = np.hypot(x[1] - 8, x[2] - 8)
    assert r.min() > 3.9 and x[1].max() <= 16 and x[1].min() >= 0


def test_columns_follow_their_order():
    rng = np.random.default_rng(5)
    n = BATCH + 300
    columns, order = rng.normal(size=(3, n)), rng.permutation(n).astype(np.int32)
    got = columns.copy()
    _reorder(got, np.empty(n), order, 1)
    assert np.array_equal(got[1:], columns[1:, order]) and np.array_equal(got[0], columns[0])
    vel = columns.astype(np.float32)
    largest = np.empty(2, np.float32)
    _fastest(largest, vel)
    assert largest.max() == np.abs(vel).max()
    scaled = vel.copy()
    _scale(scaled, np.float32(0.5))
    assert np.array_equal(scaled, np.float32(0.5) * vel)


@pytest.mark.parametrize("carried", [True, False])
def test_paths_do_not_depend_on_the_number_of_threads(carried):
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
        added, light = np.zeros(-(-n // BATCH)), weightless(n)
        _gather_velocity(
            added, v, aff, at, solid[1:, 1:, 1:].copy(), *u, *u, 0, 0.0, True, *shift, *light, 0.3, 0.25, 0.0
        )
        _advect(at, v, *u, *shift, solid, *still, 0, 0.7, 0.02, True, carried)
        ends.append((at, v, aff, added))
    assert all(np.array_equal(a, b) for a, b in zip(*ends))
