"""The pressure that viscosity calls for is kept from step to step."""

from types import SimpleNamespace

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.sim.liquid.flow.pressure import IncrementalPressure
from nonstick.sim.liquid.settings import STEP

CELLS = 16


def creeping(steps, **more):
    """A box of very viscous liquid whose lid moves along; `steps` to a second."""
    dx = 1.0 / CELLS
    return Scene(
        {
            "domain": {"size": [1.0, 1.0 + 5 * dx], "resolution": CELLS + 5},
            "physics": {"gravity": [0.0, 0.0], "viscosity": 1e4},
            "walls": {"pressure": "none", "viscous": "no-slip"},
            "solid": [
                {"shape": {"type": "box", "low": [-9.0, -9.0], "high": [9.0, 2.3 * dx]}},
                {
                    "shape": {"type": "box", "low": [-99.0, 1.0 + 2.3 * dx], "high": [99.0, 9.0]},
                    "motion": {"velocity": [1.0, 0.0]},
                },
            ],
            "liquid": [{"shape": {"type": "box", "low": [-1.0, -1.0], "high": [2.0, 3.0]}}],
            "time": {"fps": steps, "cfl": 20.0},
            **more,
        }
    )


def back(steps, forget=False):
    """The flow below the middle, against the lid, after a third of a second."""
    simulation = Simulation(creeping(steps))
    for _ in range(steps // 3):
        if forget:
            simulation.liquid.incremental.pressure[:] = 0.0
        simulation.next_frame()
    return float(simulation.grid.velocity[0][CELLS // 2, 2 + CELLS // 2 - 1])


def test_long_steps_of_creeping_flow_end_where_short_ones_do():
    """μ dt/ρ is 27 dx² with 96 steps to a second. Without the pressure of the last step it is 21 % off."""
    short = back(384)
    assert back(96) == pytest.approx(short, rel=0.02)
    assert back(96, forget=True) != pytest.approx(short, rel=0.15)


def test_walls_pull_no_more_than_they_may():
    """What is kept may be a pull, and walls that let go must not pass it on."""
    simulation = Simulation(
        Scene(
            {
                "domain": {"size": [1.0, 1.0], "resolution": 12},
                "physics": {"viscosity": 1.0},
                "walls": {"viscous": "separating", "pressure": "cut"},
                "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.5]}}],
            }
        )
    )
    found = []
    simulation.liquid.observer = SimpleNamespace(projected=found.append, moving=lambda flow: None, moved=lambda: None)
    simulation.step(0.01)
    first, incremental = found[0], simulation.liquid.incremental
    incremental.pressure = np.full(incremental.pressure.shape, -1e9)
    after = incremental.after(first)
    box, rows = first.problem.problem.box, first.problem.rows
    together = rows.from_grid(first.solution.pressure + after.solution.pressure)
    bounded = np.isfinite(box.lower)
    assert bounded.any() and not bounded.all()
    assert np.allclose(together[bounded], box.lower[bounded], atol=1e-6)
    assert np.all(together[~bounded] < -1e8)


def test_it_fades_near_the_surface_only():
    simulation = Simulation(
        Scene(
            {
                "domain": {"size": [1.0, 1.0], "resolution": 16},
                "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.6]}}],
            }
        )
    )
    liquid = simulation.liquid
    incremental = IncrementalPressure(liquid.solids)
    incremental.keep(np.ones(liquid.grid.three), liquid.tracker.phi)
    highest = int(np.flatnonzero(liquid.phi()[8] < 0.0).max())
    assert np.all(incremental.pressure[:, :, highest - 2 : highest + 1] == STEP.faded)
    assert np.all(incremental.pressure[:, :, : highest - 2] == 1.0)


def test_probes_and_frames_know_the_whole_pressure():
    """The lid is pushed along: pressure rises towards the corner it moves to, and a probe there reads the same."""
    probe = {"name": "corner", "type": "pressure", "at": [0.9, 0.9]}
    simulation = Simulation(creeping(48, probe=[probe]))
    for _ in range(8):
        simulation.next_frame()
    cell = tuple(int(c * CELLS) for c in probe["at"])
    here = simulation.grid.pressure[cell]
    near = simulation.grid.pressure[cell[0] - 1 : cell[0] + 2, cell[1] - 1 : cell[1] + 2]
    read = float(simulation.probe_table()["corner.pressure"][-1])
    assert here > 0.0 and near.min() < read < near.max()
    assert abs(read - here) < 0.5 * (near.max() - near.min())


def test_a_viscous_run_continues_from_its_state_bit_for_bit():
    one = Simulation(creeping(48))
    for _ in range(3):
        one.next_frame()
    two = Simulation(creeping(48))
    two.restore(one.state())
    for _ in range(2):
        one.next_frame()
        two.next_frame()
    assert np.array_equal(one.particles.position, two.particles.position)
    assert (
        np.array_equal(one.liquid.incremental.pressure, two.liquid.incremental.pressure)
        and one.liquid.incremental.pressure.any()
    )
