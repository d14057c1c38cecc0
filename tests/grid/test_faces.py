"""Arrays of two and three dimensions on three axes, and back; face fields and their operators."""

import numpy as np
import pytest

from nonstick.grid import Grid
from nonstick.grid.faces import FaceField, at_faces, between, ends, lower, upper

SHAPES = [(4, 5), (3, 4, 5)]


def faces(shape):
    rng = np.random.default_rng(0)
    return [rng.normal(size=tuple(n + (b == a) for b, n in enumerate(shape))) for a in range(len(shape))]


@pytest.mark.parametrize("shape", SHAPES)
def test_there_and_back_are_views(shape):
    grid = Grid(shape, 1.0)
    cells = np.zeros(shape)
    lifted = grid.lift(cells)
    assert lifted.shape == grid.three and np.shares_memory(lifted, cells)
    assert grid.drop(lifted).shape == shape
    own = faces(shape)
    three = FaceField.of(own)
    assert len(three) == 3 and all(three[a].ndim == 3 for a in range(3))
    for u, back in zip(own, three.user):
        back[0] = 7.0
        np.testing.assert_array_equal(u, back)


@pytest.mark.parametrize("shape", SHAPES)
def test_vectors_and_points(shape):
    grid, d = Grid(shape, 1.0), len(shape)
    assert list(grid.axes) == list(range(3 - d, 3)) and grid.plane == np.prod(shape[1:])
    np.testing.assert_array_equal(grid.vector(range(1, d + 1))[list(grid.axes)], range(1, d + 1))
    x = np.random.default_rng(1).random((d, 6))
    three = grid.lift_points(x)
    assert three.shape == (3, 6) and (three[: grid.axes.start] == 0.5).all()
    np.testing.assert_array_equal(three[grid.axes.start :], x)


@pytest.mark.parametrize("shape", SHAPES)
def test_operators_act_on_the_faces_of_each_axis(shape):
    own, more = faces(shape), [u + 1.0 for u in faces(shape)]
    one, other = FaceField.of(own), FaceField.of(more)
    for found, u, v in zip((2.0 * one - other).user, own, more):
        np.testing.assert_array_equal(found, 2.0 * u - v)
    for found, u, v in zip((one > 0.0).where(other, np.nan).user, own, more):
        np.testing.assert_array_equal(found, np.where(u > 0.0, v, np.nan))
    for found, u in zip(np.maximum(one, 0.5).user, own):
        np.testing.assert_array_equal(found, np.maximum(u, 0.5))
    same = kept = one.copy()
    same += other
    assert same is kept and not np.shares_memory(same.user[0], own[0])
    for found, u, v in zip(same.user, own, more):
        np.testing.assert_array_equal(found, u + v)
    assert one.largest() == max(np.abs(u).max() for u in own) and one.any() and not one.zeros(bool).any()
    assert [axis for axis, _ in one.each()] == list(Grid(shape, 1.0).axes) and len([*one]) == 3


@pytest.mark.parametrize("shape", SHAPES)
def test_neighbours_along_an_axis(shape):
    nodes = np.random.default_rng(3).normal(size=tuple(n + 1 for n in shape))
    np.testing.assert_array_equal(between(nodes, 1), 0.5 * (nodes[:, 1:] + nodes[:, :-1]))
    np.testing.assert_array_equal(lower(nodes, 0), nodes[:-1])
    np.testing.assert_array_equal(upper(nodes, 0), nodes[1:])
    for axis in range(len(shape)):
        assert at_faces(nodes, axis).shape == Grid(shape, 1.0).face_shape(axis)
        np.testing.assert_array_equal(nodes[ends(axis)], np.take(nodes, [0, -1], axis))
