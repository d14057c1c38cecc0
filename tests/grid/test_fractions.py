"""Open fractions against polygon clipping, symmetry and exact areas."""

import itertools

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.grid.fractions import centre_distance, closed_box, open_fractions, open_part
from nonstick.grid.mac import Grid
from nonstick.grid.shapes import Ball, Box, HalfSpace


def segment(a, b):
    """Open part of a segment, linear between its ends."""
    if a <= 0 and b <= 0:
        return 0.0
    if a >= 0 and b >= 0:
        return 1.0
    return max(a, b) / (max(a, b) - min(a, b))


def area(polygon):
    x, y = np.array(polygon).T
    return 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def square(values):
    """Open area of the unit square with cyclic corner values, by walking its boundary (the twin)."""
    if max(values) <= 0:
        return 0.0
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float)
    walk = []
    for k in range(4):
        a, b = values[k], values[(k + 1) % 4]
        if a >= 0:
            walk.append((corners[k], "open"))
        if (a < 0) != (b < 0):
            walk.append((corners[k] + a / (a - b) * (corners[(k + 1) % 4] - corners[k]), "cut"))
    signs = [v >= 0 for v in values]
    opposite = signs in ([True, False, True, False], [False, True, False, True])
    if not opposite or sum(values) >= 0:
        return area([p for p, _ in walk]) if len(walk) > 2 else 0.0
    # Two open corners cut off from one another: a triangle each.
    total = 0.0
    for k in range(4):
        if values[k] >= 0:
            a, before, after = values[k], values[k - 1], values[(k + 1) % 4]
            total += 0.5 * a / (a - before) * a / (a - after)
    return total


def test_squares_match_polygon_clipping():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        phi = rng.normal(size=(2, 2, 2))
        wu, wv, ww = open_fractions(phi)
        for i in range(2):
            for w, plane in ((wu[i, 0, 0], phi[i]), (wv[0, i, 0], phi[:, i]), (ww[0, 0, i], phi[:, :, i])):
                values = [plane[0, 0], plane[1, 0], plane[1, 1], plane[0, 1]]
                seen.add(tuple(v < 0 for v in values))
                assert abs(w - square(values)) < 1e-12
    assert len(seen) == 16


def test_segments_in_the_plane():
    phi = np.random.default_rng(1).normal(size=(6, 5))
    wu, wv = open_fractions(phi)
    assert wu.shape == (6, 4) and wv.shape == (5, 5)
    for i, j in np.ndindex(wu.shape):
        assert abs(wu[i, j] - segment(phi[i, j], phi[i, j + 1])) < 1e-14
    for i, j in np.ndindex(wv.shape):
        assert abs(wv[i, j] - segment(phi[i, j], phi[i + 1, j])) < 1e-14


def test_every_sign_pattern_keeps_between_zero_and_one_and_turns_with_the_square():
    for signs in itertools.product((-1.0, 0.0, 1.0), repeat=4):
        values = [s * m for s, m in zip(signs, (0.3, 1.1, 0.7, 0.5))]
        turned = []
        for k in range(4):
            v = values[k:] + values[:k]
            phi = np.empty((2, 2, 2))
            phi[:, 0, :], phi[:, 1, :] = [[v[0], v[3]]] * 2, [[v[1], v[2]]] * 2
            turned.append(open_fractions(phi)[0][0, 0, 0])
        assert min(turned) >= 0 and max(turned) <= 1 and np.ptp(turned) < 1e-14


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_wall_lying_in_faces_closes_them(dimension):
    grid = Grid((10,) * dimension, 0.1)
    # 0.3 and 0.7 are nodes only up to rounding
    tank = ~Box((0.3,) * dimension, (0.7,) * dimension)
    w = open_fractions(tank.sample(grid.nodes()))
    inside = (slice(3, 7),) * (dimension - 1)
    np.testing.assert_array_equal(w[0][(3, *inside)], 0.0)
    np.testing.assert_array_equal(w[0][(7, *inside)], 0.0)
    np.testing.assert_array_equal(w[0][(slice(4, 7), *inside)], 1.0)
    assert w[0].sum() == 3 * 4 ** (dimension - 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fractions_of_a_ball_add_up_to_its_cross_section(dtype):
    errors = []
    for n in (16, 32):
        grid = Grid.unit(n)
        ball = Ball((0.5, 0.5, 0.5), 0.33)
        w = open_fractions((~ball).sample(grid.nodes(), dtype))
        assert w[2].dtype == dtype
        errors.append(abs(float(w[2][:, :, n // 2].sum()) / n**2 - np.pi * 0.33**2))
    assert errors[1] < 0.4 * errors[0] and errors[1] < 2e-3


def test_half_space_fractions_are_exact():
    phi = HalfSpace((0.37, 0.0, 0.0), (1.0, 0.5, 0.25)).sample(Grid.unit(5).nodes())
    wu, wv, ww = open_fractions(phi)
    # Green's identity on every cell: the open parts of opposite faces differ by the wall's area times its normal.
    normal = np.array([1.0, 0.5, 0.25])
    defect = np.stack([np.diff(wu, axis=0), np.diff(wv, axis=1), np.diff(ww, axis=2)], axis=-1)
    cut = np.linalg.norm(defect, axis=-1) > 1e-12
    assert cut.any()
    direction = defect[cut] / np.linalg.norm(defect[cut], axis=-1, keepdims=True)
    np.testing.assert_allclose(direction, np.broadcast_to(normal / np.linalg.norm(normal), direction.shape), atol=1e-9)


def test_centres_and_open_parts():
    phi = np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(centre_distance(phi), (phi[1:, 1:] + phi[:-1, 1:] + phi[1:, :-1] + phi[:-1, :-1]) / 4)
    w = closed_box((3, 2))
    assert [a.sum() for a in w] == [4, 3]
    np.testing.assert_allclose(open_part(w), [[0.5, 0.5], [0.75, 0.75], [0.5, 0.5]])


def test_bad_nodes_are_named():
    with pytest.raises(NonstickError, match="NaN"):
        open_fractions(np.full((3, 3), np.nan))
    with pytest.raises(NonstickError, match="nodes"):
        open_fractions(np.zeros(5))
