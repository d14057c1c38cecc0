"""Signed distances against points found by hand and by sampling the surface."""

import numpy as np
import pytest

from nonstick import NonstickError
from nonstick.grid.mac import Grid
from nonstick.grid.shapes import (
    Ball,
    Box,
    Capsule,
    Cylinder,
    HalfSpace,
    Shell,
    Torus,
    difference,
    intersection,
    rotated_box,
    union,
)


def points(dimension, n=400, seed=0):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (dimension, n))


SHAPES = {
    "ball2": (Ball((0.1, 0.2), 0.5), 2),
    "ball3": (Ball((0.1, 0.2, -0.3), 0.5), 3),
    "box2": (Box((-0.4, -0.2), (0.5, 0.7)), 2),
    "box3": (Box((-0.4, -0.2, 0.0), (0.5, 0.7, 0.3)), 3),
    "turned2": (rotated_box((0.1, 0.0), (0.5, 0.2), 0.7), 2),
    "turned3": (rotated_box((0.1, 0.0, 0.2), (0.5, 0.2, 0.3), 0.7, (1.0, 2.0, -1.0)), 3),
    "half2": (HalfSpace((0.1, 0.2), (1.0, 2.0)), 2),
    "half3": (HalfSpace((0.1, 0.2, 0.0), (1.0, 2.0, -3.0)), 3),
    "capsule2": (Capsule((-0.4, 0.0), (0.5, 0.3), 0.2), 2),
    "capsule3": (Capsule((-0.4, 0.0, 0.1), (0.5, 0.3, 0.0), 0.2), 3),
    "cylinder2": (Cylinder((-0.4, 0.0), (0.5, 0.3), 0.2), 2),
    "cylinder3": (Cylinder((-0.4, 0.0, 0.1), (0.5, 0.3, 0.0), 0.4), 3),
    "torus2": (Torus((0.0, 0.1), 0.6, 0.2), 2),
    "torus3": (Torus((0.0, 0.1, 0.0), 0.6, 0.2, (1.0, 1.0, 0.0)), 3),
    "shell3": (Shell(Ball((0.1, 0.2, -0.3), 0.5), 0.1), 3),
}


@pytest.mark.parametrize("name", SHAPES)
def test_primitives_are_distances(name):
    """The foot point x - phi grad phi lies on the surface: true of a distance, of nothing else."""
    shape, dimension = SHAPES[name]
    x = points(dimension)
    phi = shape(*x)
    h = 1e-6
    grad = np.stack(
        [(shape(*(x + h * e[:, None])) - shape(*(x - h * e[:, None]))) / (2 * h) for e in np.eye(dimension)]
    )
    smooth = np.abs(np.linalg.norm(grad, axis=0) - 1) < 1e-4
    assert smooth.mean() > 0.95  # the rest lies on the medial axis
    foot = (x - phi * grad)[:, smooth]
    inside = phi[smooth] < 0
    good = np.abs(shape(*foot)) < 1e-4
    assert good[~inside].mean() > 0.97 and good.mean() > 0.9


def test_inside_is_negative():
    assert Ball((0, 0), 1)(0.5, 0.0) == -0.5
    assert Box((0, 0, 0), (2, 4, 6))(1.0, 1.0, 3.0) == -1.0
    assert Box((0, 0), (1, 1))(4.0, 5.0) == 5.0
    assert HalfSpace((0, 0), (0, 2))(7.0, -3.0) == -3.0
    assert Torus((0, 0, 0), 2, 0.5)(2.0, 0.0, 0.0) == -0.5


def test_rotation_turns_counterclockwise():
    bar = Box((0, -0.1), (1, 0.1)).rotate(np.pi / 2)
    assert bar(0.0, 0.5) < 0 < bar(0.5, 0.0)
    bar = Box((0, -0.1, -0.1), (1, 0.1, 0.1)).rotate(np.pi / 2, (0, 0, 1))
    assert bar(0.0, 0.5, 0.0) < 0 < bar(0.5, 0.0, 0.0)
    around = Ball((1.0, 0.0), 0.1).rotate(np.pi, centre=(0.5, 0.0))
    assert around(0.0, 0.0) < 0 < around(1.0, 0.0)
    assert Ball((0, 0), 1).move((3, 0))(3.0, 0.0) == -1.0


def test_operators_are_set_operations():
    a, b = Ball((0, 0), 1), Ball((1, 0), 1)
    x = points(2)
    inside_a, inside_b = a(*x) < 0, b(*x) < 0
    for shape, expected in [
        (a | b, inside_a | inside_b),
        (a & b, inside_a & inside_b),
        (a - b, inside_a & ~inside_b),
        (~a, ~inside_a),
        (union(a, b), inside_a | inside_b),
        (intersection(a, b), inside_a & inside_b),
        (difference(a, b), inside_a & ~inside_b),
    ]:
        np.testing.assert_array_equal(shape(*x) < 0, expected)


def test_sampling_by_slabs_changes_nothing():
    grid = Grid((5, 4, 3), 0.1, (0.2, 0.0, -0.1))
    x = np.meshgrid(*((np.arange(n + 1)) * 0.1 + o for n, o in zip(grid.shape, grid.origin)), indexing="ij")
    ball = Ball((0.4, 0.2, 0.0), 0.15)
    np.testing.assert_allclose(ball.sample(grid.nodes()), ball(*x), atol=1e-15)
    assert ball.sample(grid.cells(), np.float32).dtype == np.float32


def test_dimensions_must_agree():
    with pytest.raises(NonstickError, match="dimensions"):
        Ball((0, 0, 0), 1)(0.0, 0.0)


def test_grid_positions():
    grid = Grid((3, 2), 0.5, (1.0, -1.0))
    assert grid.node_shape == (4, 3) and grid.face_shape(1) == (3, 3) and grid.size == (1.5, 1.0)
    x, y = grid.cells()
    np.testing.assert_allclose(x.ravel(), [1.25, 1.75, 2.25])
    np.testing.assert_allclose(y.ravel(), [-0.75, -0.25])
    x, y = grid.faces(0)
    np.testing.assert_allclose(x.ravel(), [1.0, 1.5, 2.0, 2.5])
    np.testing.assert_allclose(y.ravel(), [-0.75, -0.25])
    assert grid.coarser().shape == (2, 1) and grid.coarser().dx == 1.0
    for bad in ({"shape": (3,), "dx": 1.0}, {"shape": (3, 0), "dx": 1.0}, {"shape": (3, 3), "dx": -1.0}):
        with pytest.raises(NonstickError):
            Grid(**bad)


@pytest.mark.parametrize("size", [1e-320, 1e308])
def test_a_shape_without_a_size_has_no_probes(size):
    box = Box(low=(-size, -size), high=(size, size))
    assert (box - Box(low=(0.0, 0.0), high=(size, size))).probes(2).x.size == 0
