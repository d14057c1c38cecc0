"""Arrays of two and three dimensions on three axes, and back."""

import numpy as np
import pytest

from nonstick.sim.liquid.layout import Layout, between

SHAPES = [(4, 5), (3, 4, 5)]


def faces(shape):
    rng = np.random.default_rng(0)
    return [rng.normal(size=tuple(n + (b == a) for b, n in enumerate(shape))) for a in range(len(shape))]


@pytest.mark.parametrize("shape", SHAPES)
def test_there_and_back_are_views(shape):
    layout = Layout(shape)
    cells = np.zeros(shape)
    lifted = layout.lift(cells)
    assert lifted.shape == layout.three and np.shares_memory(lifted, cells)
    assert layout.drop(lifted).shape == shape
    own = faces(shape)
    three = layout.lift_faces(own)
    assert len(three) == 3 and all(three[a].ndim == 3 for a in range(3))
    for u, back in zip(own, layout.drop_faces(three)):
        back[0] = 7.0
        np.testing.assert_array_equal(u, back)


@pytest.mark.parametrize("shape", SHAPES)
def test_vectors_and_points(shape):
    layout, d = Layout(shape), len(shape)
    assert list(layout.axes) == list(range(3 - d, 3)) and layout.plane == np.prod(shape[1:])
    np.testing.assert_array_equal(layout.vector(range(1, d + 1))[list(layout.axes)], range(1, d + 1))
    x = np.random.default_rng(1).random((d, 6))
    three = layout.lift_points(x)
    assert three.shape == (3, 6) and (three[: layout.first] == 0.5).all()
    np.testing.assert_array_equal(layout.drop_points(three), x)
    spread = layout.vectors([2.0] * (d - 1) + [np.arange(6.0)], 6)
    np.testing.assert_array_equal(spread[-1], np.arange(6.0))
    assert (spread[list(layout.axes)[:-1]] == 2.0).all() and not spread[: layout.first].any()
    entries = np.random.default_rng(2).random((d, d, 6))
    matrices = layout.matrices(entries)
    np.testing.assert_array_equal(matrices.reshape(3, 3, 6)[layout.first :, layout.first :], entries)
    assert matrices.shape == (9, 6) and matrices.sum() == pytest.approx(entries.sum())


@pytest.mark.parametrize("shape", SHAPES)
def test_nodes_and_what_lies_between_them(shape):
    layout = Layout(shape)
    nodes = np.random.default_rng(3).normal(size=tuple(n + 1 for n in shape))
    three = layout.lift_nodes(nodes)
    assert three.shape == tuple(n + 1 for n in layout.three)
    np.testing.assert_array_equal(layout.drop_nodes(three), nodes)
    # along the axis a 2D grid does not have, all nodes are equal and so is what lies between
    np.testing.assert_allclose(layout.drop(between(three, 0)) if layout.first else nodes, nodes)
    np.testing.assert_allclose(between(nodes, 1), 0.5 * (nodes[:, 1:] + nodes[:, :-1]))
