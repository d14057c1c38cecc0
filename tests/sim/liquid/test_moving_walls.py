"""Solids that move through still water with their walls across the cells: volume holds, nothing passes, water rises."""

import numpy as np
import pytest

from nonstick import Scene, Simulation

POOL = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.5]}}


def simulate(solid, frames=30, cells=24, **more):
    scene = {"domain": {"size": [1.0, 1.0], "resolution": cells}, "liquid": [POOL], "solid": [solid], **more}
    simulation = Simulation(Scene(scene))
    rows = [row for _ in range(frames) for row in simulation.next_frame()]
    assert all(r["converged"] for r in rows)
    return simulation, rows


@pytest.mark.parametrize("tilt", [0.0, 7.0])
def test_a_piston_lifts_the_water_and_loses_none(tilt):
    piston = {
        "shape": {"type": "box", "low": [-1.0, -0.5], "high": [0.13, 1.5], "rotate": tilt},
        "motion": {"velocity": [0.3, 0.0], "stop": 0.5},
    }
    simulation, rows = simulate(piston, 60)
    assert max(abs(r["volume_error"]) for r in rows) < 0.005
    # half a metre deep over 0.87 m at first, over 0.72 m at last; were the sides of the domain to move along, no higher
    height = np.quantile(simulation.liquid.tracker.x[2], 0.98)
    assert height > 0.5 * 24 * 0.87 / 0.72 - 0.5
    x = simulation.liquid.tracker.x[1]
    crowd = np.histogram(x, bins=np.arange(9, 25))[0]
    assert crowd.max() < 1.25 * np.median(crowd)  # none squeezed against the far side
    inside = simulation.liquid.solids.list[0]
    points = simulation.liquid.tracker.points()
    assert np.asarray(simulation.liquid.solids.placed(inside)(*points)).min() > -0.2 / 24


def test_only_the_wall_that_moves_has_a_velocity():
    ball = {"shape": {"type": "ball", "centre": [0.3, 0.25], "radius": 0.1}, "motion": {"velocity": [0.4, 0.0]}}
    simulation, rows = simulate(ball, 20)
    u = simulation.liquid.solids.velocity[1][0]
    assert not u[0].any() and not u[-1].any()
    assert u[round(0.43 * 24), 6] == pytest.approx(0.4)
    assert max(abs(r["volume_error"]) for r in rows) < 0.005


@pytest.mark.parametrize("lid", [0.5, 0.53, 0.55, 0.56, 0.59])
def test_a_sliding_lid_does_not_pump(lid):
    """A lid that slides along itself, out of one side and in at the other, leaves liquid at rest without divergence."""
    scene = Scene(
        {
            "domain": {"size": [1.0, 0.7], "resolution": 10},
            "physics": {"gravity": [0.0, 0.0]},
            "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.7]}}],
            "solid": [
                {
                    "shape": {"type": "box", "low": [-9.0, lid], "high": [9.0, 3.0]},
                    "motion": {"velocity": [1.0, 0.0]},
                }
            ],
        }
    )
    simulation = Simulation(scene)
    simulation.step(0.001)
    assert np.abs(simulation.grid.pressure).max() < 1e-9
    assert np.abs(simulation.particles.velocity).max() < 1e-12


def test_a_paddle_that_stops_leaves_the_water_to_calm_down():
    paddle = {
        "shape": {"type": "capsule", "start": [0.5, 0.15], "end": [0.5, 0.45], "radius": 0.06, "rotate": 10.0},
        "motion": {"amplitude": [0.1, 0.0], "frequency": 1.0, "stop": 0.25},
    }
    simulation, rows = simulate(paddle, 60)
    assert max(abs(r["volume_error"]) for r in rows) < 0.005
    energy = [r["kinetic"] + r["potential"] for r in rows if r["time"] > 0.3]
    assert max(np.diff(energy)) < 0.0012 * energy[0] and energy[-1] < energy[0]  # 0.0009: evening out lifts particles
    assert not simulation.liquid.solids.velocity[1].any()
