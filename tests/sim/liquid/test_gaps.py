"""Gaps between walls and liquid against the gap they were made with."""

import numpy as np
import pytest

from nonstick.grid.levelset import flat_distance
from nonstick.sim.liquid.surface._gaps import FULL, SLACK, _gap_planes
from nonstick.sim.liquid.surface._surface import RADIUS, _weigh


def lattice(three, top, per_axis=4):
    """Particles filling a grid evenly up to height `top` along the last axis, sorted by cell."""
    axes = [(np.arange(n * per_axis) + 0.5) / per_axis for n in three[:2]] + [
        top - (np.arange(int(top * per_axis)) + 0.5) / per_axis
    ]
    if three[0] == 1:
        axes[0] = np.array([0.5])
    x = np.stack([c.ravel() for c in np.meshgrid(*axes, indexing="ij")])
    cell = np.ravel_multi_index(tuple(x.astype(int)), three)
    order = np.argsort(cell, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=np.prod(three)))])
    return np.ascontiguousarray(x[:, order]), start.astype(np.int64), float(per_axis ** (3 - (three[0] == 1)))


def gaps(three, top, wall, pressure=0.0):
    """Volume of gaps per column below a wall at height `wall` (the upper side of the grid if it is there)."""
    x, start, per_cell = lattice(three, top)
    height = np.arange(three[2] + 1)
    far = 1e3 if wall == three[2] else 0.0
    solid = np.broadcast_to(wall - height + far, (three[0] + 1, three[1] + 1, three[2] + 1)).copy()
    middle = height[:-1] + 0.5
    centre = np.broadcast_to(wall - middle + far, three).copy()
    space = np.broadcast_to(np.clip(wall - height[:-1], 0.0, 1.0), three).copy()
    # up to the wall all is liquid, as mirror images make it; the floor is not asked
    phi, partial = np.where((middle < wall + 0.5) & (middle > 2), -1.0, 1.5) * np.ones(three), np.empty(three[0])
    weight = np.empty(x.shape[1])
    _weigh(weight, start, space, per_cell)
    _gap_planes(
        partial, phi, x, weight, start, solid, centre, space, np.full(three, pressure), 0.0,
        RADIUS * flat_distance(3 - (three[0] == 1)), per_cell,
    )  # fmt: skip
    return partial.sum() / (three[0] * three[1])


@pytest.mark.parametrize("three", [(1, 6, 9), (5, 6, 9)])
@pytest.mark.parametrize("wall", [9.0, 7.0, 7.5, 7.2, 6.7])
@pytest.mark.parametrize("gap", [0.0, 0.2, 0.5, 0.7])
def test_gap_below_a_wall(three, wall, gap):
    assert gaps(three, wall - gap, wall) == pytest.approx(gap, abs=0.08)


def test_gaps_under_pressure_count_beyond_the_slack():
    three = (1, 6, 9)
    assert gaps(three, 8.95, 9.0, pressure=1.0) == 0.0
    assert gaps(three, 8.4, 9.0, pressure=1.0) == pytest.approx(0.6 - SLACK, abs=0.06)
    # a cell that is full after all has none, whatever its mean says
    assert 1.0 - FULL < SLACK
