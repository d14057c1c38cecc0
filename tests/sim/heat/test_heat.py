"""The dragon: bounds hold in every frame, frames tend to the equilibrium, the picture shows both ends."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nonstick.grid import Ball
from nonstick.grid.mac import Grid
from nonstick.pictures.render.plane import HeatView
from nonstick.sim.heat.simulation import Heat

SMALL = Heat(resolution=32)


@pytest.fixture(scope="module")
def world():
    temperature, inside, fixed = SMALL.begin()
    return temperature, inside, inside & ~fixed


def test_the_dragon_is_one_body_with_two_bands(world):
    from scipy.ndimage import label

    temperature, inside, free = world
    assert label(inside)[1] == 1 and 0.03 < inside.mean() < 0.4
    assert set(np.unique(temperature[inside & ~free])) == {0.0, 100.0} and np.all(temperature[free] == 50.0)


def test_bounds_hold_on_the_way_and_equilibrium_is_reached(world):
    _, _, free = world
    frames = list(replace(SMALL, dt=0.08).frames(60))
    assert len(frames) < 61, "it ends by itself"
    for q in frames:
        assert q[free].min() >= 20.0 - 1e-10 and q[free].max() <= 80.0 + 1e-10
    np.testing.assert_allclose(frames[-1], SMALL.equilibrium(), atol=0.05)
    unbounded = replace(SMALL, lower=-np.inf, upper=np.inf).equilibrium()
    assert np.abs(unbounded - frames[-1])[free].max() > 10.0
    assert unbounded[free].min() < 5.0 and unbounded[free].max() > 95.0


def test_equilibrium_is_that_of_projected_sweeps(world):
    slow = replace(SMALL, method="pgs", rtol=1e-11).equilibrium()
    np.testing.assert_allclose(SMALL.equilibrium(), slow, atol=1e-5)


def test_the_view_shows_cold_and_hot(world):
    temperature, inside, _ = world
    # from the shape itself, and from the mask of its cells
    views = [HeatView(inside, 120, SMALL.shape, SMALL.grid.dx), HeatView(inside, 120)]
    image, masked = (view.draw(temperature).astype(int) for view in views)
    assert image.shape == (60, 120, 3) and np.abs(image - masked).max(axis=2).mean() < 30
    red, blue = image[..., 0] - image[..., 2] > 60, image[..., 2] - image[..., 0] > 60
    assert red.any() and blue.any()
    assert np.argwhere(blue)[:, 1].mean() < np.argwhere(red)[:, 1].mean(), "cold band left of the hot one"


def test_the_example_runs(tmp_path):
    path = Path(__file__).parents[3] / "examples" / "heat.py"
    spec = importlib.util.spec_from_file_location("heat_example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    bounded, unbounded, free = module.main(24, 20, str(tmp_path / "heat.mp4"), str(tmp_path / "heat.png"))
    assert (tmp_path / "heat.mp4").stat().st_size > 1000 and (tmp_path / "heat.png").stat().st_size > 1000
    assert bounded[free].min() >= 20.0 and bounded[free].max() <= 80.0
    assert unbounded[free].min() < bounded[free].min()


def test_a_body_that_does_not_move_is_sampled_once():
    ball, calls = Ball((0.5, 0.5, 0.5), 0.3), []

    class Counted:
        def facets(self):
            return ball.facets()

        def sample(self, coordinates, dtype=np.float64):
            calls.append(np.broadcast_shapes(*(np.shape(c) for c in coordinates)))
            return ball.sample(coordinates, dtype)

    grid = Grid((12, 12, 12), 1 / 12)
    inside = ball.sample(grid.cells()) < 0
    heat = np.linspace(0.0, 100.0, 12)[:, None, None] * np.ones(inside.shape)
    view, plain = HeatView(inside, 60, Counted(), grid.dx), HeatView(inside, 60, ball, grid.dx)
    first, second = view.draw(heat), view.draw(heat)
    assert len(calls) == len(set(calls)) > 0
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, plain.draw(heat))
