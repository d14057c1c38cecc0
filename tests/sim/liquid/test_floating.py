"""Bodies in liquid: Archimedes, hovering, suction, light bodies, drag."""

import gc
import weakref

import numpy as np
import pytest

from nonstick import Scene, Simulation


def pool(d, ratio, n=20, low=0.3, half=(0.2, 0.08, 0.2), **keys):
    """A box in a tank of 0.8 m with water of 0.4 m, its bottom at `low`."""
    middle = np.full(d, 0.4)
    middle[1] = low + half[1]
    size = np.array(half[:d])
    data = {
        "name": "pool",
        "domain": {"size": [0.8] * d, "resolution": n},
        "liquid": [{"shape": {"type": "box", "low": [0.0] * d, "high": [0.8, 0.4, 0.8][:d]}}],
        "bodies": [
            {
                "shape": {"type": "box", "low": (middle - size).tolist(), "high": (middle + size).tolist()},
                "density": 1000.0 * ratio,
            }
        ],
        "time": {"fps": 60.0},
    }
    return Simulation(Scene(data).replace(keys) if keys else Scene(data))


def play(simulation, frames):
    """Heights of the body's bottom above the floor, frame by frame."""
    (body,) = simulation.liquid.bodies.list
    out = []
    for _ in range(frames):
        simulation.next_frame()
        out.append(float(body.centre[1]) - 0.08)
    return np.array(out), body


@pytest.mark.parametrize("ratio", [0.25, 0.75])
def test_a_box_floats_at_its_draft(ratio):
    """Let go with half a cell less than the draft Archimedes gives it, it bobs about this draft, its deck dry."""
    # the box takes half the width, and the water beside it is poured in to 0.4 m whatever the box displaces
    simulation = pool(2, ratio, low=0.4 - ratio * 0.16 + 0.02)
    volume = simulation.liquid.ledger.initial * 0.04**2
    heights, body = play(simulation, 100)
    draft = (volume / 0.8 - heights[25:].mean()) / (1.0 - 0.5)
    assert abs(draft - ratio * 0.16) < 0.2 * 0.04
    assert abs(np.degrees(body.orientation[0])) < 3.0


@pytest.mark.parametrize("d", [2, 3])
def test_a_box_as_dense_as_water_hovers_and_a_denser_one_sinks(d):
    n = 20 if d == 2 else 12
    heights, body = play(pool(d, 1.0, n, low=0.12), 20)
    assert np.abs(heights - 0.12).max() < 0.02 * 0.8 / n
    assert np.abs(body.spin).max() < 0.05
    heights, body = play(pool(d, 1.1, n, low=0.12), 20)
    assert heights[-1] < 0.12 - 0.05 * 0.8 / n and body.velocity[1] < -0.02


@pytest.mark.parametrize("mu", [0.0, 2.0])
def test_a_very_light_box_is_stable(mu):
    """A hundredth of the density of water: what is staggered blows up here, one solve for both does not."""
    simulation = pool(2, 0.01, low=0.34, **{"physics.viscosity": mu})
    heights, body = play(simulation, 25)
    assert np.isfinite(body.state()).all()
    assert np.linalg.norm(body.velocity) < 2.0 and 0.3 < heights[-1] < 0.5
    kinetic, _ = simulation.liquid.energy()
    assert kinetic < 60.0


def test_thick_liquid_slows_a_sinking_body():
    """Two-way drag: after a third of a second in honey a box has fallen less than in water."""
    way = {}
    for mu in (0.0, 20.0):
        heights, _ = play(pool(2, 1.5, low=0.18, half=(0.08, 0.08, 0.08), **{"physics.viscosity": mu}), 20)
        way[mu] = 0.18 - heights[-1]
    assert 0.0 < way[20.0] < 0.6 * way[0.0]


def test_water_lets_go_of_a_box_that_is_thrown_up():
    """Free flight with separating walls; with sticky ones the water holds it back."""
    speed = {}
    for walls in ("cut", "none"):
        simulation = pool(2, 0.5, low=0.38, **{"bodies.0.velocity": [0.0, 1.5], "walls.pressure": walls})
        simulation.step(0.01)
        speed[walls] = simulation.liquid.bodies.list[0].velocity[1]
    assert speed["cut"] == pytest.approx(1.5 - 0.0981, abs=0.02)
    assert speed["none"] < 0.9


def test_a_step_with_bodies_leaves_nothing_behind():
    """What holds itself stays until the garbage collector comes round, and memory grows."""
    scene = Scene(
        {
            "domain": {"size": [1.0, 1.0], "resolution": 12},
            "physics": {"viscosity": 5.0},
            "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.5]}}],
            "bodies": [{"shape": {"type": "ball", "centre": [0.5, 0.45], "radius": 0.2}, "density": 700.0}],
        }
    )
    simulation = Simulation(scene)
    seen = []
    simulation.watch = lambda report: seen.extend(map(weakref.ref, (report.viscosity.source, report.outcome.problem)))
    gc.disable()
    try:
        simulation.step(0.01)
        assert [r() for r in seen] == [None, None]
    finally:
        gc.enable()
