"""Water at rest stays at rest: in tilted tanks, under tilted gravity, and beside walls of any angle and thickness."""

import numpy as np
import pytest

from nonstick import Scene, Simulation

EVERYWHERE = {"type": "box", "low": [-5.0, -5.0], "high": [6.0, 6.0]}


def up_at(angle):
    return np.array([np.sin(np.radians(angle)), np.cos(np.radians(angle))])


def pool(cells, surface, *solids, up=(0.0, 1.0)):
    return {
        "domain": {"size": [1.0, 1.0], "resolution": cells},
        "physics": {"gravity": (-9.81 * np.array(up)).tolist()},
        "liquid": [{"shape": surface}],
        "solid": [{"shape": s} for s in solids],
    }


def below(height):
    return {"type": "box", "low": [-1.0, -1.0], "high": [9.0, height]}


def wall(place, thick, angle):
    """A wall that crosses the tank, `thick` in cells of 36."""
    low, high = place - thick / 72, place + thick / 72
    return {"type": "box", "low": [low, -1.0], "high": [high, 2.0], "rotate": angle}


def tank(angle):
    space = {"type": "box", "low": [0.2, 0.2], "high": [0.8, 0.8], "rotate": angle}
    return {"type": "difference", "of": [EVERYWHERE, space]}


def tilted_gravity(angle):
    up = up_at(angle)
    return pool(32, {"type": "halfspace", "point": [0.5, 0.5], "normal": up.tolist()}, up=up)


SCENES = {
    "upright, between rows of particles": pool(24, below(0.487)),
    "thin wall": pool(36, below(0.62), wall(0.43, 0.4, 17.0)),
    "wall of one cell": pool(36, below(0.55), wall(0.52, 1.0, 0.0)),
    "thick wall": pool(36, below(0.47), wall(0.55, 4.0, 31.0)),
    "ball in the surface": pool(33, below(0.41), {"type": "ball", "centre": [0.47, 0.43], "radius": 0.14}),
    "tilted tank": pool(36, below(0.55), tank(23.0)),
    "wall that hangs over": pool(46, below(0.6942), tank(21.7)),
    "tilted gravity": tilted_gravity(20.0),
}


@pytest.mark.parametrize("name", SCENES)
def test_the_fastest_particle_of_still_water(name):
    """A frame of free fall is 327 mm/s. With the surface of particles alone tanks like these moved by 6 to 104 mm/s."""
    simulation, most = Simulation(Scene(SCENES[name])), 0.0
    for _ in range(15):
        simulation.next_frame()
        velocity = simulation.frame_arrays()["velocity"].astype(float)
        most = max(most, 1e3 * float(np.linalg.norm(velocity, axis=1).max()))
    assert most < 2.0


def test_water_on_a_beach_hardly_moves():
    """It ran up the beach with 250 mm/s as long as the surface met the wall at a right angle."""
    space = {"type": "box", "low": [0.18, 0.18], "high": [0.82, 0.82], "rotate": 26.845}
    scene = pool(40, below(0.2693), {"type": "difference", "of": [EVERYWHERE, space]})
    simulation, most = Simulation(Scene(scene)), 0.0
    for _ in range(15):
        simulation.next_frame()
        velocity = simulation.frame_arrays()["velocity"].astype(float)
        most = max(most, 1e3 * float(np.linalg.norm(velocity, axis=1).max()))
    assert most < 25.0


def test_a_resumed_surface_is_the_same():
    """The surface of a checkpoint is its own; one without it takes that of its particles."""
    scene = Scene(pool(20, {"type": "halfspace", "point": [0.5, 0.4], "normal": [0.3, 1.0]}, wall(0.6, 2.0, 20.0)))
    one, two, old = (Simulation(scene) for _ in range(3))
    for _ in range(4):
        one.next_frame()
    state = one.state()
    two.restore(state)
    old.restore({k: v for k, v in state.items() if not k.startswith("surface")})
    for simulation in (one, two, old):
        simulation.next_frame()
    assert np.array_equal(one.liquid.tracker.phi, two.liquid.tracker.phi)
    assert np.array_equal(one.liquid.tracker.x, two.liquid.tracker.x)
    assert np.abs(one.liquid.tracker.x - old.liquid.tracker.x).max() < 0.1
