"""Liquid continued into solids, and the fraction at the free surface."""

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.grid._levelset import ANY, DEEP, LONG, ROW, STRAIGHT, _continue_linearly
from nonstick.grid.levelset import continue_linearly, extend_into_solids, theta


def twin(phi, solid):
    out = phi.copy()
    for c in np.ndindex(phi.shape):
        if not solid[c] or phi[c] < 0:
            continue
        found = {}
        for d in np.ndindex((3,) * phi.ndim):
            n = tuple(a + b - 1 for a, b in zip(c, d))
            if all(0 <= a < s for a, s in zip(n, phi.shape)) and not solid[n] and phi[n] < 0:
                found.setdefault(sum(b != 1 for b in d), []).append(phi[n])
        if found:
            out[c] = np.mean(found[min(found)])
    return out


@pytest.mark.parametrize("shape", [(7, 6), (5, 6, 4)])
def test_extension_matches_the_twin(shape):
    rng = np.random.default_rng(0)
    phi, solid = rng.normal(size=shape), rng.random(shape) < 0.4
    new = extend_into_solids(phi, solid)
    np.testing.assert_allclose(new, twin(phi, solid), rtol=1e-14)
    np.testing.assert_array_equal(new[~solid], phi[~solid])


def test_released_liquid_is_not_continued():
    phi = np.array([[1.0, -0.4, 1.0], [1.0, -0.6, 1.0]])
    solid = np.array([[True, False, False], [True, False, False]])
    released = np.array([[False, True, False], [False, True, False]])
    assert (extend_into_solids(phi, solid)[:, 0] < 0).all()
    np.testing.assert_allclose(extend_into_solids(phi, solid, released=released)[:, 0], [0.4, 0.6])
    away = extend_into_solids(phi, solid, released=released, solid_distance=np.full(phi.shape, -0.2))
    np.testing.assert_allclose(away[:, 0], 0.2)
    released[1] = False  # held by one neighbour, the cell stays liquid
    assert (extend_into_solids(phi, solid, released=released)[:, 0] < 0).all()


def test_theta_is_clamped():
    np.testing.assert_allclose(theta(np.array([-1.0, -1e-9, -2.0]), np.array([3.0, 1.0, 0.0])), [0.25, 0.01, 1.0])


def test_shapes_must_agree():
    with pytest.raises(NonstickError, match="solid"):
        extend_into_solids(np.zeros((3, 3)), np.zeros((3, 4), bool))


@pytest.mark.parametrize("rule", [ROW, LONG, DEEP, ANY])
@pytest.mark.parametrize("shape", [(1, 9, 8), (5, 6, 7)])
def test_what_rows_of_cells_tell_matches_the_twin(shape, rule):
    rng = np.random.default_rng(2)
    phi, known = rng.uniform(-2.8, 1.0, shape), rng.random(shape) < (0.25 if rule == ANY else 0.6)
    centre, cells = rng.normal(size=shape), np.flatnonzero(~known)
    values = np.empty(cells.size)
    _continue_linearly(values, cells, phi, known, centre, rule)
    for t, value in zip(cells, values):
        c, told = np.unravel_index(t, shape), []
        for axis, step in [(a, s) for a in range(3) for s in (-1, 1)]:
            a, b = (tuple(int(k) + d * step * (m == axis) for m, k in enumerate(c)) for d in (1, 2))
            there = [n for n in (a, b) if min(n) >= 0 and all(np.less(n, shape)) and known[n]]
            back = tuple(min(max(int(k) - step * (m == axis), 0), n - 1) for m, (k, n) in enumerate(zip(c, shape)))
            if a in there and centre[a] < centre[back]:
                continue
            if rule == ANY and a in there:
                told.append((centre[a], phi[a]))
            if rule == ANY or len(there) < 2:
                continue
            line = 2.0 * phi[a] - phi[b]
            if rule in (ROW, LONG) and abs(phi[a]) < STRAIGHT and abs(phi[b]) < STRAIGHT + (rule == LONG):
                told.append((centre[a], line))
            if rule == DEEP and max(phi[a], phi[b]) <= -STRAIGHT:
                told.append((centre[a], min(line, -STRAIGHT)))
        np.testing.assert_allclose(value, max(told)[1] if told else np.nan, atol=1e-13)
    assert 0 < np.isnan(values).sum() < cells.size


@pytest.mark.parametrize("angle", [20.0, 27.0, 52.0, 117.0, 151.0])
def test_still_water_goes_on_into_any_beach(angle):
    """Below beaches and under walls that hang over: a cell deep, and as far as the surface crosses cut cells."""
    x, y = np.meshgrid(np.arange(30) + 0.5, np.arange(30) + 0.5, indexing="ij")
    exact = np.clip(y - 15.2, -4.0, 4.0)[None]
    n = np.array([np.sin(np.radians(angle)), np.cos(np.radians(angle))])
    centre = ((x - 15.3) * n[0] + (y - 15.1) * n[1])[None]
    wall = centre < 0.0
    phi = continue_linearly(np.where(wall, np.nan, exact), wall, centre)
    cut = wall & (centre > -0.7) & (np.abs(exact) < 1.0)
    assert cut.sum() >= 1
    np.testing.assert_allclose(phi[cut], exact[cut], atol=1e-12)


def test_a_plane_goes_on_through_two_layers():
    x, y = np.meshgrid(np.arange(12) + 0.5, np.arange(12) + 0.5, indexing="ij")
    exact = (0.1 * (x - 6.0) + 0.99 * (y - 6.2))[None]
    unknown = (2.0 * x + y < 15.0)[None]
    phi = continue_linearly(
        np.where(unknown, 5.0, np.clip(exact, -1.0, 1.5)), unknown, 0.447 * (2.0 * x + y - 15.0)[None]
    )
    beside = unknown & (phi < 5.0) & (np.abs(exact) < 0.6)
    assert beside.sum() == 3
    np.testing.assert_allclose(phi[beside], exact[beside], atol=1e-12)
