"""Pixels of 2D drawings against SciPy's interpolation, one pixel at a time."""

import numpy as np
from scipy.ndimage import map_coordinates

from nonstick.pictures.render.plane import _colour, _cover, _dots, _walls, calm


def pixels(h, w, nx, ny):
    return np.meshgrid((np.arange(w) + 0.5) * nx / w, ny - (np.arange(h) + 0.5) * ny / h)


def test_coverage_is_that_of_the_interpolated_distance():
    phi = np.random.default_rng(1).normal(size=(5, 7))
    cover = np.empty((21, 15))
    _cover(cover, phi, 1 / 3)
    X, Y = pixels(21, 15, 5, 7)
    want = np.clip(0.5 - 3 * map_coordinates(phi, [X - 0.5, Y - 0.5], order=1, mode="nearest"), 0, 1)
    np.testing.assert_allclose(cover, want, atol=1e-12)


def test_colours_of_liquid_by_a_table_and_plain():
    rng = np.random.default_rng(2)
    cover, share, table = rng.random((9, 6)), rng.random((3, 4)), rng.random((5, 3))
    water, edge, air = rng.random((3, 3))
    image = np.empty((9, 6, 3))
    _colour(image, cover, share, table, water, edge, air, 1)
    X, Y = pixels(9, 6, 3, 4)
    at = map_coordinates(share, [X - 0.5, Y - 0.5], order=1, mode="nearest")
    body = np.stack([np.interp(at * 4, np.arange(5), table[:, k]) for k in range(3)], axis=-1)
    np.testing.assert_allclose(image, air + cover[..., None] * (body - air), atol=1e-12)

    _colour(image, cover, np.zeros((1, 1)), table, water, edge, air, 1)
    padded = np.pad(cover, 1, mode="edge")
    around = sum(padded[1 + i : 10 + i, 1 + j : 7 + j] for i in (-1, 0, 1) for j in (-1, 0, 1)) - cover
    rim = 0.8 * np.minimum(1.0, 2 * (1 - around / 8))[..., None]
    np.testing.assert_allclose(image, air + cover[..., None] * (water + rim * (edge - water) - air), atol=1e-12)


def test_walls_cover_what_is_behind_them():
    rng = np.random.default_rng(3)
    solid, before = rng.normal(size=(4, 5)), rng.random((8, 6, 3))
    stone, edge = rng.random((2, 3))
    image = before.copy()
    _walls(image, solid, 0.5, stone, edge)
    X, Y = pixels(8, 6, 3, 4)
    d = map_coordinates(solid, [X, Y], order=1)
    cover, rim = np.clip(0.5 - 2 * d, 0, 1)[..., None], np.clip(1 + d, 0, 1)[..., None]
    np.testing.assert_allclose(image, before + cover * (stone + rim * (edge - stone) - before), atol=1e-12)


def test_a_dot_is_round_and_may_leave_the_picture():
    image = np.zeros((20, 20, 3))
    _dots(image, np.array([6.0, -1.0]), np.array([9.0, 25.0]), 2.0, np.ones(3))
    i, j = np.mgrid[:20, :20]
    np.testing.assert_allclose(image[..., 1], np.clip(2.5 - np.hypot(i - 9, j - 6), 0, 1), atol=1e-12)


def test_calm_takes_bumps_of_particles_and_leaves_drops():
    x, y = np.meshgrid(np.arange(24.0), np.arange(20.0), indexing="ij")
    bumpy = y - 8.0 + 0.2 * np.sin(3.0 * x)
    rough = np.ptp(bumpy[4:-4, 8] - calm(bumpy)[4:-4, 8])
    assert np.ptp(calm(bumpy)[4:-4, 8]) < 0.3 * np.ptp(bumpy[4:-4, 8]) < rough
    drop = np.hypot(x - 12.0, y - 10.0) - 0.7
    assert calm(drop)[12, 10] < -0.2 and (calm(drop) < 0.0).sum() == 1
