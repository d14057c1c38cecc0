"""Surface, extrapolation and volume kernels against slow twins and exact cases."""

import numpy as np
import pytest

from nonstick.grid._extrapolate import _extrapolate
from nonstick.grid.fractions import centre_distance
from nonstick.grid.levelset import flat_distance, smooth
from nonstick.sim.liquid.flow._into_solids import _constrain, _keep_known, _put
from nonstick.sim.liquid.particles._particles import _cell_of, _sort_by_cell
from nonstick.sim.liquid.solids._solids import _open_space, _room
from nonstick.sim.liquid.surface._surface import (
    RADIUS,
    _fill_holes,
    _surface_band,
    _surface_particles,
    _volume_planes,
    _weigh,
)

UP = np.array([0.0, 0.0, 1.0])


def surface(x, three, solid=None, per_axis=2, table=None):
    d = 2 if three[0] == 1 else 3
    table = RADIUS * (flat_distance(d) if table is None else table)
    cell, order = (np.empty(x.shape[1], np.int32) for _ in range(2))
    start = np.empty(np.prod(three) + 1, np.int64)
    _cell_of(cell, x, *three)
    _sort_by_cell(order, start, cell)
    x = np.ascontiguousarray(x[:, order])
    solid = np.full([n + 1 for n in three], 1e3) if solid is None else solid
    kind, phi, space = np.empty(three, np.int8), np.empty(three), np.empty(three)
    middle = centre_distance(solid)
    _open_space(space, solid, 4)
    _surface_band(kind, start, middle, space, float(per_axis**d), True)
    weight = np.empty(x.shape[1])
    _weigh(weight, start, space, float(per_axis**d))
    _surface_particles(phi, kind, x, weight, start, solid, middle, space, table, float(per_axis**d), True, UP)
    return phi, space


def lattice(three, inside, jitter=0.5, seed=0):
    axes = [np.array([0.5]) if n == 1 else (np.arange(2 * n) + 0.5) / 2 for n in three]
    x = np.stack([c.ravel() for c in np.meshgrid(*axes, indexing="ij")])
    shake = 0.5 * jitter * (np.random.default_rng(seed).random(x.shape) - 0.5)
    shake[0] *= three[0] > 1
    x = x + shake
    return np.ascontiguousarray(x[:, inside(x)])


@pytest.mark.parametrize("three", [(1, 12, 16), (8, 8, 16)])
@pytest.mark.parametrize("height", [7.0, 7.5])
def test_distance_to_the_surface_of_a_lattice(three, height):
    """Points in layers: with the table for layers φ is a distance, with that for full space it is too large."""
    x, d = lattice(three, lambda x: x[2] < height, jitter=0.0), 2 if three[0] == 1 else 3
    exact = np.arange(three[2]) + 0.5 - height
    near = np.abs(exact) < 0.6
    layers = surface(x, three, table=flat_distance(d, spacing=0.5 / RADIUS))[0]
    np.testing.assert_allclose(layers[..., near], np.broadcast_to(exact[near], layers[..., near].shape), atol=0.01)
    assert (surface(x, three)[0][..., near] - exact[near]).max() > 0.02


@pytest.mark.parametrize("three", [(1, 24, 16), (12, 12, 16)])
@pytest.mark.parametrize("height", [7.0, 7.5])
def test_flat_surface_is_where_the_particles_end(three, height):
    x = lattice(three, lambda x: x[2] < height)
    phi, _ = surface(x, three)
    top = int(height)
    # the cells around the surface hold the distance to it, up to the grain of the particles
    for k in (top - 1, top):
        assert np.abs(phi[:, :, k] - (k + 0.5 - height)).mean() < 0.1
    partial = np.empty(three[0])
    _volume_planes(partial, phi, np.ones(three), 0.0, np.empty(0, np.int64), 1.0)
    filled = x.shape[1] / (4 if three[0] == 1 else 8)
    assert partial.sum() == pytest.approx(filled, rel=0.01)


@pytest.mark.parametrize("three", [(1, 12, 12), (12, 12, 12)])
@pytest.mark.parametrize("place", [6.5, 6.0, 6.3, 11.9])
def test_a_lone_particle_is_spray_and_a_drop_is_not(three, place):
    at = np.array([[0.5 if three[0] == 1 else 6.5], [6.5], [place]])
    phi, _ = surface(at, three)
    assert phi.min() >= 0.5
    drop = lattice(three, lambda x: ((x[1:] - 6.0) ** 2).sum(axis=0) + (three[0] > 1) * (x[0] - 6.0) ** 2 < 1.5)
    assert surface(drop, three)[0].min() < -0.15


@pytest.mark.parametrize("three", [(1, 12, 12), (8, 8, 12)])
def test_noise_of_a_flat_surface_is_no_spray(three):
    """Half a cell above a surface there is just the share of particles that spray has: φ must not jump there."""
    d = 2 if three[0] == 1 else 3
    for seed in range(4):
        x = lattice(three, lambda x: x[2] < 6.0, jitter=0.1, seed=seed)
        x[2] += 0.03
        phi = surface(x, three, table=flat_distance(d, spacing=0.5 / RADIUS))[0][..., 2:-2, 6]
        assert (phi != 0.5).all() and phi.max() < 0.52 and phi.min() > 0.42


def test_surface_stays_level_at_a_tilted_wall():
    three = (1, 32, 16)
    at = np.meshgrid(*(np.arange(n + 1.0) for n in three), indexing="ij")
    c, s = np.cos(0.35), np.sin(0.35)
    wall = (at[1] - 10.3) * c + (at[2] - 8.0) * s  # leaning wall on the left, negative inside it
    x = lattice(three, lambda x: (x[2] < 8.0) & ((x[1] - 10.3) * c + (x[2] - 8.0) * s > 0.02))
    phi, space = surface(x, three, wall)
    for k in (7, 8):
        row = phi[0, :, k][space[0, :, k] > 0.05]
        assert np.abs(row - (k - 7.5)).max() < 0.3


def test_extrapolation_is_layerwise_mean():
    rng = np.random.default_rng(1)
    u = rng.normal(size=(6, 7, 5))
    known = (rng.random(u.shape) < 0.15).astype(np.int8)
    got, flags, queue = u.copy(), known.copy(), np.empty(u.size, np.int32)
    count = _extrapolate(got, flags, queue, 3)
    value, have = u.copy(), known == 1
    for _ in range(3):
        total, number = np.zeros_like(u), np.zeros_like(u)
        for axis in range(3):
            for step in (-1, 1):
                from_here = np.roll(have, step, axis)
                values = np.roll(value, step, axis)
                edge = [slice(None)] * 3
                edge[axis] = 0 if step == 1 else -1
                from_here[tuple(edge)] = False
                total += np.where(from_here, values, 0.0)
                number += from_here
        new = ~have & (number > 0)
        value[new] = total[new] / number[new]
        have |= new
    np.testing.assert_allclose(got[have], value[have], atol=1e-12)
    assert set(queue[:count]) == set(np.flatnonzero(have.ravel() & (known.ravel() == 0)))


@pytest.mark.parametrize("sticky", [0, 1])
def test_walls_take_only_what_points_into_them(sticky):
    """A floor below k = 2: downward velocity stops, upward stays unless the wall is sticky; along is free."""
    three = (4, 4, 6)
    shapes = [tuple(n + (a == b) for b, n in enumerate(three)) for a in range(3)]
    at = np.meshgrid(*(np.arange(n + 1.0) for n in three), indexing="ij")
    floor = at[2] - 2.0
    still = [np.zeros(s) for s in shapes]
    flags = np.full(three, sticky, np.int8)
    for sign in (-1.0, 1.0):
        u = [np.full(s, v) for s, v in zip(shapes, (0.7, 0.0, sign))]
        queue = np.array([np.ravel_multi_index((1, 1, 1), shapes[2])], np.int32)
        values = np.empty(1)
        _constrain(values, queue, 2, *u, floor, *still, True, flags, 0)
        _put(u[2], queue, values)
        assert u[2][1, 1, 1] == pytest.approx(1.0 if sign > 0 and not sticky else 0.0)
        queue = np.array([np.ravel_multi_index((1, 1, 1), shapes[0])], np.int32)
        _constrain(values, queue, 0, *u, floor, *still, True, flags, 0)
        assert values[0] == pytest.approx(0.7)


def test_single_gaps_are_filled_and_bubbles_are_not():
    phi = np.full((1, 9, 9), -1.0)
    phi[0, 2, 2] = 0.3
    phi[0, 5:7, 5:7] = 0.4
    phi[0, :, 8] = 1.0
    opens = [np.zeros((2, 9, 9)), np.ones((1, 10, 9)), np.ones((1, 9, 10))]
    opens[1][:, [0, -1]] = 0.0
    opens[2][:, :, [0, -1]] = 0.0
    _fill_holes(phi, phi.copy(), np.full((1, 9, 9), 1e3), *opens)
    assert phi[0, 2, 2] < 0
    assert (phi[0, 5:7, 5:7] > 0).all() and (phi[0, :, 8] > 0).all()


def test_air_in_a_wall_is_filled_beside_deep_liquid_and_not_above_a_surface():
    phi = np.full((1, 9, 9), -1.0)
    phi[0, 0, 3] = 1.5  # no particle sees it, deep liquid behind the face
    phi[0, :, 6] = -0.65
    phi[0, :, 7:] = 0.4  # above the surface
    phi[0, :, 8] = 1.4
    opens = [np.zeros((2, 9, 9)), np.ones((1, 10, 9)), np.ones((1, 9, 10))]
    opens[1][:, [0, -1]] = 0.0
    opens[2][:, :, [0, -1]] = 0.0
    before = phi.copy()
    _fill_holes(phi, phi.copy(), np.full((1, 9, 9), -0.1), *opens)
    before[0, 0, 3] = -0.5
    assert np.array_equal(phi, before)


def test_room_and_space_of_a_half_plane():
    three = (1, 10, 12)
    at = np.meshgrid(*(np.arange(n + 1.0) for n in three), indexing="ij")
    solid = at[1] - 3.25
    space, room = np.empty(three), np.empty(three)
    _open_space(space, solid, 4)
    np.testing.assert_allclose(space[0, :, 4], np.clip(np.arange(10) + 1 - 3.25, 0, 1), atol=1e-12)
    _room(room, space, solid, 2)
    fine = (np.arange(4000) + 0.5) / 400
    for i in range(1, 9):
        exact = np.where(fine > 3.25, np.clip(1 - np.abs(fine - i - 0.5), 0, None), 0.0).sum() / 400
        assert room[0, i, 5] == pytest.approx(exact, abs=0.04)
    constant = np.full(three, 2.5)
    np.testing.assert_allclose(smooth(constant), constant)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_unknown_values_are_dropped(axis):
    rng = np.random.default_rng(3)
    phi = rng.normal(0.5, 1.0, (3, 4, 5))
    shape = tuple(n + (a == axis) for a, n in enumerate(phi.shape))
    u, opened = rng.normal(size=shape), rng.choice([0.0, 0.04, 0.5, 1.0], shape)
    mass = rng.choice([0.0, 0.0, 1.0], shape)
    ends = [(0, 1) if a == axis else (0, 0) for a in range(3)]
    wet = np.pad(phi < 0.0, ends, mode="edge") | np.pad(phi < 0.0, [e[::-1] for e in ends], mode="edge")
    expected = ((mass > 0.0) | wet) & (opened > 0.05)  # open faces that border liquid or have particles near
    got, largest, known = u.copy(), np.empty(shape[0] * shape[1]), np.empty(shape, np.int8)
    _keep_known(largest, known, got, opened, mass, phi, axis)
    assert np.array_equal(known, expected) and 0 < known.sum() < known.size
    assert np.array_equal(got, np.where(known == 1, u, 0.0))
    assert np.array_equal(largest, np.abs(got).max(axis=2).ravel())


def test_particles_of_a_crowded_cell_weigh_as_much_as_those_of_a_full_one():
    start = np.cumsum([0, 2, 12, 0, 8])
    space = np.array([1.0, 1.0, 1.0, 0.5]).reshape(1, 2, 2)
    weight = np.empty(22)
    _weigh(weight, start, space, 8.0)
    np.testing.assert_allclose(weight, np.repeat([1.0, 8 / 12, 0.5], [2, 12, 8]))
