"""Hat masses against slow twins: points sampled in the same tetrahedra, and closed forms under a plane."""

import itertools

import numpy as np
import pytest

from nonstick.discretise._moments import hat_fields, hat_masses, with_surroundings
from nonstick.discretise.fields import liquid_volumes
from nonstick.grid.box import IndexBox
from nonstick.grid.faces import FaceField
from nonstick.operators.faces import FaceGrid


def moments(phi):
    """Cell fractions and hat masses in the user's dimension."""
    grid = FaceGrid.of(phi.shape)
    volume, mass = hat_masses(with_surroundings(phi, IndexBox.whole(phi.shape)), grid.padded)
    return grid.user(volume[grid.window()]), [grid.user(mass[a][grid.face_window(a)]) for a in grid.axes]


def sampled(phi, points=24):
    """The same by counting points; φ is linear on the tetrahedra between a centre, two midpoints and a corner."""
    wide = with_surroundings(phi, IndexBox.whole(phi.shape))
    shape = tuple(n - 4 for n in wide.shape)
    s = (np.arange(points) + 0.5) / points
    local = np.stack(np.meshgrid(s, s, s, indexing="ij")).reshape(3, -1)
    order = np.argsort(-local, axis=0)
    way = -np.sort(-local, axis=0)
    volume, moment = np.zeros(shape), np.zeros((3, *shape))
    for cell in np.ndindex(shape):
        for towards in itertools.product((-1, 1), repeat=3):
            corner = np.empty((2, 2, 2))
            for far in np.ndindex(2, 2, 2):
                near = [
                    wide[tuple(c + 2 + t * p for c, t, p in zip(cell, towards, pick))]
                    for pick in itertools.product(*([0, 1] if f else [0] for f in far))
                ]
                corner[far] = np.mean(near)
            at, value = np.zeros((3, local.shape[1]), int), np.full(local.shape[1], corner[0, 0, 0])
            for step in range(3):
                before = corner[tuple(at)]
                at[order[step], np.arange(local.shape[1])] = 1
                value += way[step] * (corner[tuple(at)] - before)
            wet = value < 0
            volume[cell] += wet.mean() / 8
            for axis in range(3):
                moment[(axis, *cell)] += (wet * (0.5 + 0.5 * towards[axis] * local[axis])).mean() / 8
    masses = []
    for axis in range(3 - phi.ndim, 3):
        pad = [(int(a == axis), 0) for a in range(3)]
        masses.append(np.pad(moment[axis], pad) + np.pad(volume - moment[axis], [p[::-1] for p in pad]))
    back = (0,) * (3 - phi.ndim)
    return volume[back], [m[back] for m in masses]


@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 3)])
def test_moments_are_those_of_points_in_the_same_tetrahedra(shape):
    phi = np.random.default_rng(0).normal(size=shape)
    volume, masses = moments(phi)
    slow, slow_masses = sampled(phi)
    np.testing.assert_allclose(volume, slow, atol=4e-3)
    for mass, twin in zip(masses, slow_masses):
        np.testing.assert_allclose(mass, twin, atol=4e-3)


def test_a_plane_along_the_grid_has_parabolic_masses():
    depth = 3.3  # in cells
    phi = np.arange(8)[None, :] + 0.5 - depth + np.zeros((5, 1))
    volume, (_, mass) = moments(phi)
    np.testing.assert_allclose(volume[2], np.clip(depth - np.arange(8), 0, 1), atol=1e-12)
    t = depth - 3  # the surface lies in cell 3, between the faces 3 and 4
    np.testing.assert_allclose(mass[2, 1:6], [1, 1, 0.5 + t - t**2 / 2, t**2 / 2, 0], atol=1e-12)


@pytest.mark.parametrize("shape", [(9, 8), (6, 7, 5)])
def test_masses_and_volumes_hold_the_same_liquid(shape):
    phi = np.random.default_rng(3).normal(size=shape)
    volume, masses = moments(phi)
    np.testing.assert_allclose(volume, liquid_volumes(phi)[1], atol=1e-12)
    for mass in masses:
        assert mass.sum() == pytest.approx(volume.sum())


@pytest.mark.parametrize("shape", [(10, 10), (7, 7, 7)])
def test_pressure_of_liquid_at_rest_balances_its_weight(shape):
    """∫ (p div ψ_f + g·ψ_f) = 0 for every hat ψ_f inside the grid, if p = g·x on one side of a plane, 0 beyond."""
    rng = np.random.default_rng(1)
    g = rng.normal(size=len(shape))
    g /= np.linalg.norm(g)
    x = np.stack(np.meshgrid(*(np.arange(n) + 0.5 - n / 2 for n in shape), indexing="ij"))
    phi = -np.tensordot(g, x, 1) + 0.2
    volume, masses = moments(phi)
    # m_i = M_(i−1) + V_i − M_i along each axis gives back the moments M, and they the pressure of each cell
    first = [(slice(None),) * axis + (slice(None, -1),) for axis in range(len(shape))]
    moment = np.stack([np.cumsum(volume - m[first[axis]], axis) for axis, m in enumerate(masses)])
    low = np.stack(np.meshgrid(*(np.arange(n) - n / 2 for n in shape), indexing="ij"))
    p = np.einsum("a,a...->...", g, moment + low * volume) - 0.2 * volume
    for axis, m in enumerate(masses):
        inside = (slice(None),) * axis + (slice(1, -1),)
        np.testing.assert_allclose(np.diff(p, axis=axis), g[axis] * m[inside], atol=1e-10)


@pytest.mark.parametrize("shape", [(6, 5), (4, 3, 5)])
def test_cells_without_an_open_face_have_no_moments(shape):
    rng = np.random.default_rng(3)
    phi, axes = rng.normal(size=shape), range(len(shape))
    faces = [(rng.random([n + (a == axis) for a, n in enumerate(shape)]) < 0.2) * 0.5 for axis in axes]
    closed = np.ones(shape, bool)
    for axis, share in zip(axes, faces):
        closed &= (np.delete(share, 0, axis) == 0) & (np.delete(share, -1, axis) == 0)
    whole, hats = hat_fields(phi)
    some, fewer = hat_fields(phi, FaceField.of(faces))
    first = 3 - len(shape)
    closed = closed.reshape((1,) * first + shape)
    assert np.array_equal(some[~closed], whole[~closed]) and closed.any() and set(some[closed]) <= {0.0, 1.0}
    for axis, share in FaceField.of(faces).each():
        inner = tuple(slice(1, -1) if a == axis else slice(None) for a in range(3))
        assert np.array_equal(fewer[axis][inner][share[inner] > 0], hats[axis][inner][share[inner] > 0])
