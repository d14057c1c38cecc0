"""Ghost layers hold what their owners have, and sums over ghosts lose nothing."""

import numpy as np
import pytest

from nonstick.parallel.halo import Boxes, Halo

SHAPES = [(13, 9), (11, 8, 7)]


def numbers(halo, shape):
    """The global C-order number of every sample an array holds."""
    ranges = [np.arange(l, h) for l, h in zip(halo.held.low, halo.held.high)]
    return np.ravel_multi_index(np.ix_(*ranges), shape).astype(float)


def staggers(dimension):
    return [np.zeros(dimension, int), np.ones(dimension, int), *np.eye(dimension, dtype=int)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [1, 3])
def test_ghosts_are_what_their_owners_have(comm, shape, width):
    boxes = Boxes.regular(shape, comm.size)
    for stagger in staggers(len(shape)):
        halo = Halo(comm, boxes, width, stagger)
        whole = tuple(np.array(shape) + stagger)
        true = numbers(halo, whole)
        for dtype in (np.float64, np.float32, np.int32):
            mine = np.full(halo.shape, -1, dtype)
            mine[halo.inside] = true[halo.inside]
            halo.exchange(mine)
            np.testing.assert_array_equal(mine, true)
        assert comm.total(halo.own.size) == np.prod(whole)
        mask = np.zeros(halo.shape, bool)
        mask[halo.inside] = true[halo.inside] % 3 == 0
        halo.exchange(mask)
        np.testing.assert_array_equal(mask, true % 3 == 0)


@pytest.mark.parametrize("shape", SHAPES)
def test_contributions_to_ghosts_are_added_to_their_owners(comm, shape):
    boxes = Boxes.regular(shape, comm.size)
    halo = Halo(comm, boxes, 2, (1,) + (0,) * (len(shape) - 1))
    one = np.ones(halo.shape)
    halo.add(one)
    assert comm.total(float(one[halo.inside].sum())) == comm.total(halo.held.size)


def test_many_arrays_travel_at_once(comm):
    halo = Halo(comm, Boxes.regular((8, 8), comm.size), 1)
    true = numbers(halo, (8, 8))
    several = [np.where(np.isin(true, []), 0, factor * true) for factor in (1.0, 2.0)]
    outside = np.ones(halo.shape, bool)
    outside[halo.inside] = False
    for values in several:
        values[outside] = -1.0
    halo.exchange(*several)
    np.testing.assert_array_equal(several[1], 2.0 * several[0])
    np.testing.assert_array_equal(several[0], true)
