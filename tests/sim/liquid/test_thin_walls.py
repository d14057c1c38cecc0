"""Solids thinner than the cells they lie in."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.sim.liquid.solids.on_grid import Solids

DEPTH, NU, DRIVE = 0.08, 0.04, 0.1


def film_on_the_floor(thick, low, cells=6, steps=50):
    """A film over a solid on the floor, both `thick` cells high; its mean velocity over the exact one, its slip."""
    dx = DEPTH / cells
    top, deep, length = thick * dx, thick * dx + DEPTH, 18 * DEPTH
    nx, middle = 20 * cells, 10 * DEPTH
    scene = {
        "domain": {"size": [nx * dx, 3 * DEPTH], "resolution": nx},
        "physics": {"viscosity": 1000.0 * NU, "gravity": [DRIVE, -DRIVE]},
        "walls": {"pressure": "none", "viscous": "no-slip"},
        "liquid": [{"shape": {"type": "box", "low": [middle - length / 2, -1], "high": [middle + length / 2, deep]}}],
        "solid": [{"shape": {"type": "box", "low": [-1, low], "high": [9, top]}}],
        "time": {"fps": steps * NU / (4 * DEPTH**2), "frames": steps},
        "solver": {"viscosity_rtol": 1e-6},
    }  # fmt: skip
    simulation = Simulation(Scene(scene))
    for _ in range(steps):
        simulation.next_frame()
    frame = simulation.frame_arrays()
    x, u = frame["position"].astype(float), frame["velocity"][:, 0].astype(float)
    near = np.abs(x[:, 0] - middle) < DEPTH
    y, u = x[near, 1] - top, u[near]
    depth = near.sum() * simulation.particles.volume / (2 * DEPTH)
    a, b, c = np.polyfit(y[y > dx], u[y > dx], 2)
    slip = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
    return u.mean() / (DRIVE * depth**2 / (3 * NU)), slip / dx


@pytest.mark.parametrize(("thick", "low"), [(0.22, -0.5), (0.22, 0.0), (0.41, 0.0)])
def test_a_film_on_a_solid_in_the_first_half_cell_does_not_slip(thick, low):
    """It slipped by the thickness of the solid, and flowed 12 to 18 % too fast."""
    mean, slip = film_on_the_floor(thick, low)
    assert abs(mean - 1.0) < 0.02  # 1 % in twice as many cells
    assert abs(slip) < 0.01


@pytest.mark.parametrize("low", [0.0, -0.02, -3.0])
def test_a_solid_that_ends_on_a_side_of_the_domain_goes_on_beyond_it(low):
    """No liquid reaches its surface there; the open part of the first cells is right for any thickness."""
    top = 0.13
    scene = Scene(
        {
            "domain": {"size": [1.0, 1.0], "resolution": 5},
            "solid": [{"shape": {"type": "box", "low": [-1, low], "high": [3, top]}}],
        }
    )
    solids = Solids(scene)
    np.testing.assert_allclose(solids.user_nodes[2], 5 * (np.arange(6) / 5 - top), atol=1e-12)
    np.testing.assert_allclose(solids.space[0, :, 0], 1.0 - 5 * top, atol=1e-12)


def test_a_solid_away_from_the_sides_keeps_its_distance():
    ball = {"type": "ball", "centre": [0.5, 0.12], "radius": 0.1}
    scene = Scene({"domain": {"size": [1.0, 1.0], "resolution": 10}, "solid": [{"shape": ball}]})
    x, y = np.meshgrid(*[np.arange(11) / 10] * 2, indexing="ij")
    expected = 10 * (np.hypot(x - 0.5, y - 0.12) - 0.1)
    np.testing.assert_allclose(Solids(scene).user_nodes, expected, atol=1e-12)
