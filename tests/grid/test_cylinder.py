"""A cylinder against what its sampled surface and volume say."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.grid import Box, Cylinder, rotated_box
from nonstick.grid.shapes.base import integrate

TILTED = {2: Cylinder((-0.4, 0.0), (0.5, 0.3), 0.2), 3: Cylinder((-0.4, 0.0, 0.1), (0.5, 0.3, -0.4), 0.3)}


@pytest.mark.parametrize("d", [2, 3])
def test_moments_and_bounds(d):
    shape = TILTED[d]
    exact, found = shape.moments(d), integrate(shape, d)
    assert found.volume == pytest.approx(exact.volume, rel=2e-3)
    assert found.centre == pytest.approx(exact.centre, abs=1e-3)
    assert found.second == pytest.approx(exact.second, abs=3e-3 * exact.volume)
    low, high = shape.bounds(d)
    x = np.random.default_rng(0).uniform(-1, 1, (d, 200_000))
    inside = x[:, np.asarray(shape(*x)) < 0]
    assert (inside.min(axis=1) > low).all() and (inside.max(axis=1) < high).all()
    assert np.abs(inside.min(axis=1) - low).max() < 0.05 and np.abs(inside.max(axis=1) - high).max() < 0.05


@pytest.mark.parametrize("d", [2, 3])
def test_probes_lie_on_the_surface_and_point_outwards(d):
    shape, probes = TILTED[d], TILTED[d].probes(d)
    assert np.abs(np.asarray(shape(*probes.x))).max() < 1e-12
    assert np.linalg.norm(probes.normal, axis=0) == pytest.approx(1.0)
    assert (np.asarray(shape(*(probes.x + 0.01 * probes.normal))) > 0.009).all()


def test_in_2d_it_is_a_rectangle():
    x = np.random.default_rng(1).uniform(-1, 1, (2, 500))
    angle = np.arctan2(0.3, 0.9)
    box = rotated_box((0.05, 0.15), (0.5 * np.hypot(0.9, 0.3), 0.2), angle)
    assert np.asarray(TILTED[2](*x)) == pytest.approx(np.asarray(box(*x)))
    upright = Cylinder((0.0, -1.0), (0.0, 1.0), 0.5)
    assert np.asarray(upright(*x)) == pytest.approx(np.asarray(Box((-0.5, -1.0), (0.5, 1.0))(*x)))


def test_in_scenes():
    can = {"type": "cylinder", "start": [0.5, 0.3, 0.5], "end": [0.5, 0.8, 0.5], "radius": 0.3}
    data = {"domain": {"size": [1.0, 1.0, 1.0], "resolution": 12}, "liquid": [{"shape": can}]}
    simulation = Simulation(Scene(data))
    assert simulation.liquid.ledger.initial / 12**3 == pytest.approx(np.pi * 0.09 * 0.5, rel=0.05)
    with pytest.raises(NonstickError, match=r"liquid\.0\.shape: start and end are the same point"):
        Scene({**data, "liquid": [{"shape": {**can, "end": can["start"]}}]})
    with pytest.raises(NonstickError, match="same point"):
        Cylinder((0.0, 0.0), (0.0, 0.0), 1.0)(1.0, 1.0)
