"""The viscosity stage of the simulator: what walls do to a blob at the ceiling."""

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.validation import Size, experiments


def blob(viscous, viscosity=1e5):
    return Scene(
        {
            "domain": {"size": [1.0, 1.0], "resolution": 20},
            "physics": {"density": 1400.0, "viscosity": viscosity},
            "walls": {"viscous": viscous},
            "liquid": [{"shape": {"type": "ball", "centre": [0.5, 0.95], "radius": 0.25}}],
        }
    )


def mean_height(simulation):
    return float(simulation.liquid.tracker.x[2].mean()) * simulation.scene.dx


@pytest.mark.parametrize(("viscous", "falls"), [("no-slip", False), ("separating", True)])
def test_a_viscous_blob_hangs_or_lets_go(viscous, falls):
    simulation = Simulation(blob(viscous))
    before, time = mean_height(simulation), 0.0
    for _ in range(8):
        simulation.step(1 / 60)
        time += 1 / 60
    fallen = before - mean_height(simulation)
    free_fall = 0.5 * 9.81 * time**2
    if falls:
        assert fallen == pytest.approx(free_fall, rel=1e-3)  # the ceiling is felt in the first half step
    else:
        assert abs(fallen) < 0.01


@pytest.mark.parametrize(("viscosity", "falls"), [(300.0, False), (0.01, True)])
def test_no_slip_walls_hold_thick_liquid_by_pressure_and_thin_liquid_not_at_all(viscosity, falls):
    """A blob of 300 Pa s sags, but its top stays at the ceiling; a thin liquid leaves it at once."""
    simulation = Simulation(blob("no-slip", viscosity))
    for _ in range(10):
        simulation.step(1 / 60)
    top = float(simulation.liquid.tracker.x[2].max()) * simulation.scene.dx
    assert (top < 0.93) == falls


def test_how_fast_a_blob_sags_does_not_depend_on_the_step():
    """The solve that finds out what liquid at rest lies on knows that no-slip walls hold thick liquid."""
    fallen = []
    for fps in (60, 240):
        simulation = Simulation(blob("no-slip", 2e3))
        before = mean_height(simulation)
        for _ in range(fps // 12):
            simulation.step(1 / fps)
        fallen.append(before - mean_height(simulation))
    assert fallen[0] == pytest.approx(fallen[1], rel=0.05)


def test_what_comes_out_of_a_wall_leaves_it():
    """A source at the ceiling pours thick liquid at its own speed: the wall must not suck it back."""
    scene = Scene(
        {
            "domain": {"size": [1.0, 1.0], "resolution": 20},
            "physics": {"viscosity": 1e4, "gravity": [0.0, 0.0]},
            "inflow": [{"shape": {"type": "box", "low": [0.4, 0.85], "high": [0.6, 1.0]}, "velocity": [0.0, -1.0]}],
        }
    )
    simulation = Simulation(scene)
    for _ in range(10):
        simulation.step(0.04)
    assert float(simulation.liquid.tracker.x[2].min()) / 20 == pytest.approx(0.85 - 0.4, abs=0.06)


def test_slip_walls_let_a_viscous_block_slide():
    """A block that moves along the floor keeps its speed on slip walls and stops on no-slip ones."""
    speeds = {}
    for viscous in ("slip", "no-slip"):
        scene = Scene(
            {
                "domain": {"size": [2.0, 1.0], "resolution": 32},
                "physics": {"viscosity": 1e6},
                "walls": {"viscous": viscous},
                "liquid": [{"shape": {"type": "box", "low": [0.3, 0.0], "high": [0.8, 0.4]}, "velocity": [1.0, 0.0]}],
            }
        )
        simulation = Simulation(scene)
        for _ in range(4):
            simulation.step(0.01)
        speeds[viscous] = float(np.mean(simulation.liquid.tracker.cloud.vel[1]))
    assert speeds["slip"] > 0.8
    assert abs(speeds["no-slip"]) < 0.1


def test_a_film_whose_surface_lies_between_two_centres_is_not_driven_by_its_surface():
    """Faces there take part in the viscosity solve. Continued from deeper faces they made the flux 5 % too large."""
    found = experiments()["film-half"].measure(Size(4)).values
    assert abs(found["flux"] - 1.0) < 0.025
    assert abs(found["slip"]) < 0.1


def test_a_wave_lower_than_a_cell_moves_in_viscous_liquid():
    """The pressure must act once on faces above the surface: they dragged liquid up, and the wave stood still."""
    found = experiments()["viscous-wave"].measure(Size(32)).values
    assert found["share"] == pytest.approx(1.0, abs=0.16)  # 0.85; the mean error is 9 % of the height


def test_very_thick_liquid_in_a_sphere_is_solved_in_few_iterations():
    """Both preconditioners of `stokes-auto` end here, after 1000 iterations they had gained nothing; a factor does."""
    changes = {"domain.resolution": 10, "physics.viscosity": 6.5e11, "time.max_substeps": 20}
    rows = Simulation(Scene.load("sphere", changes)).next_frame()
    assert all(r["converged"] and r["method"] == "stokes-auto" and r["iterations"] < 300 for r in rows)
