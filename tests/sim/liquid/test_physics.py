"""What the simulator must show, at sizes that take seconds; `nonstick validate --full` has the full ones."""

import numpy as np
import pytest

from nonstick import Scene, Simulation
from nonstick.grid.shapes import HalfSpace
from nonstick.sim.liquid.particles.seeding import seed, wall_distance
from nonstick.validation import Size, experiments

CASES = experiments()


def test_separating_walls_let_the_ceiling_go():
    found = CASES["ceiling"].measure(Size(12)).values
    assert found["time"] == pytest.approx(1.0, abs=0.01)
    assert found["lead"] < 1e-4  # never ahead of free fall
    assert abs(found["hung"]) < 0.2


@pytest.mark.parametrize("name", ["still-water", "tilted-tank"])
def test_still_water_stays_still(name):
    result = CASES[name].measure(Size(40), seconds=1.0).values
    assert result["speed"] < 0.01 and result["unevenness"] < 0.1 and abs(result["volume"]) < 0.01


@pytest.mark.parametrize("n", [24, 35])
@pytest.mark.parametrize("name", ["circle", "rotated-box", "tilted-tank"])
def test_as_many_particles_as_volume_up_to_the_wall(name, n):
    """Also where walls cut the cells, because particles too many there would be pushed out later."""
    simulation = Simulation(Scene.load(name, {"domain.resolution": n}))
    solids = simulation.liquid.solids
    d = solids.grid.dimension
    everywhere = HalfSpace((9.0,) * d, (1.0,) + (0.0,) * (d - 1))
    x = seed(everywhere, solids, 2, 0.5, np.random.default_rng(0))
    assert x.shape[1] / 2**d == pytest.approx(solids.space.sum(), rel=0.01)
    assert wall_distance(solids.nodes_near(0), x[solids.grid.axes.start :]).min() > 0.0


def test_dam_break_front():
    result = CASES["martin-moyce"].measure(Size(60)).values
    assert 1.2 < result["speed"] < 1.5 and result["position"] < 0.1


def test_slosh_period():
    slosh = CASES["slosh"]
    found = slosh.measure(Size(32), seconds=1.6).values["period"]
    assert found == pytest.approx(slosh.published[0].value, rel=0.08)


@pytest.mark.parametrize("transfer", ["apic", "flip", "pic"])
def test_energy_and_volume_of_a_splash(transfer):
    scene = Scene.load("circle", {"domain.resolution": 32, "particles.transfer": transfer})
    simulation = Simulation(scene)
    begin = last = sum(simulation.liquid.energy())
    for _ in range(40):
        rows = simulation.next_frame()
        assert all(row["converged"] for row in rows)
        assert abs(rows[-1]["volume_error"]) < 0.01
        assert rows[-1]["kinetic"] + rows[-1]["potential"] < last + 0.001 * begin
        last = rows[-1]["kinetic"] + rows[-1]["potential"]
    inside = np.hypot(*(simulation.liquid.tracker.x[1:] * scene.dx - 1.0))
    assert inside.max() < 0.9 + 0.05 * scene.dx


def test_forces_feed_energy():
    """Nothing is taken from liquid that a force lifts."""
    scene = Scene.load("still", {"domain.resolution": 16, "force": [{"acceleration": [0.0, 30.0]}]})
    simulation = Simulation(scene)
    begin = sum(simulation.liquid.energy())
    rows = [row for _ in range(8) for row in simulation.next_frame()]
    assert rows[-1]["kinetic"] + rows[-1]["potential"] > 1.2 * begin


@pytest.mark.parametrize("walls", ["none", "cut", "solid", "edge", "all"])
def test_every_kind_of_wall_runs(walls):
    scene = Scene.load("cm-circle", {"domain.resolution": 20, "walls.pressure": walls})
    simulation = Simulation(scene)
    for _ in range(12):
        assert all(row["converged"] for row in simulation.next_frame())


def test_free_fall_is_exact():
    scene = Scene.load("ball-box", {"domain.resolution": 16, "liquid.0.velocity": [0.0, 0.0, 0.0]})
    simulation = Simulation(scene)
    start = simulation.liquid.tracker.x.mean(axis=1)
    for _ in range(10):
        simulation.next_frame()
    fallen = (start - simulation.liquid.tracker.x.mean(axis=1)) * scene.dx
    assert fallen == pytest.approx([0.0, 0.5 * 9.81 * (10 / 60) ** 2, 0.0], abs=1e-6)


def test_separation_velocity_and_adhesion_per_solid():
    def top(**more):
        keys = {f"walls.{k}": v for k, v in more.items()}
        simulation = Simulation(Scene.load("ceiling", {"domain.resolution": 10, **keys}))
        for _ in range(6):
            simulation.next_frame()
        return float(simulation.liquid.tracker.x[1].max())

    plain = top()
    assert top(separation=2.0) < plain - 0.05
    assert top(adhesion=1e5) > plain + 0.05


@pytest.mark.parametrize("ceiling", [1.0, 0.92, 0.9425])
@pytest.mark.parametrize("viscosity", [0.0, 5.0])
def test_adhesion_holds_what_it_weighs(ceiling, viscosity):
    """The pull is that at the wall: it was compared with the pressure at centres, and held half a cell more."""
    depth, held = 0.26, []
    for share in (0.94, 1.03):
        pull = share * 1000.0 * 9.81 * depth
        keys = {"pressure": "cut", "adhesion": pull, "viscous": "slip"}
        scene = {
            "domain": {"size": [0.4, 1.0], "resolution": 20},
            "physics": {"viscosity": viscosity},
            "walls": keys,
            "solid": [{"shape": {"type": "box", "low": [-1.0, ceiling], "high": [2.0, 2.0]}, **keys}],
            "liquid": [{"shape": {"type": "box", "low": [0.0, ceiling - depth], "high": [0.4, ceiling]}}],
            "time": {"fps": 100.0},
        }
        simulation = Simulation(Scene(scene))
        start = simulation.liquid.tracker.x[2].mean()
        for _ in range(4):
            simulation.next_frame()
        held.append(0.05 * (start - simulation.liquid.tracker.x[2].mean()) / (0.5 * 9.81 * 0.04**2))
    assert held[0] > 0.045 and held[1] < 0.03


def test_a_moving_container_carries_its_liquid():
    scene = Scene.load("moving-sphere", {"domain.resolution": 20})
    simulation = Simulation(scene)
    for _ in range(15):
        assert all(row["converged"] for row in simulation.next_frame())
    liquid = simulation.liquid
    centre = np.array([1.2 + 0.3 * np.sin(2 * np.pi * 0.9 * simulation.time), 0.9, 0.9])
    distance = np.linalg.norm(liquid.tracker.x * scene.dx - centre[:, None], axis=0)
    assert distance.max() < 0.8 + 0.1 * scene.dx
    assert abs(liquid.ledger.error) < 0.01


def test_inflow_and_outflow_are_in_the_ledger():
    simulation = Simulation(Scene.load("fountain", {"domain.resolution": 40}))
    for _ in range(70):
        simulation.next_frame()
    ledger = simulation.liquid.ledger
    assert ledger.inflow > 20 and ledger.outflow >= 0
    assert ledger.inflow - ledger.outflow == pytest.approx(simulation.liquid.count / 4)
    assert abs(ledger.error) < 0.02


def test_level_set_lets_go_of_the_wall_and_keeps_its_volume():
    def top(walls):
        scene = Scene.load("ceiling", {"domain.resolution": 16, "surface.track": "grid", "walls.pressure": walls})
        simulation = Simulation(scene)
        for _ in range(14):
            rows = simulation.next_frame()
            assert all(row["converged"] for row in rows) and abs(rows[-1]["volume_error"]) < 0.01
        return float(np.argwhere(simulation.liquid.tracker.level < 0)[:, 1].max())

    assert top("cut") <= 13  # free fall: 0.27 m, 2.1 cells
    assert top("none") == 15


def test_level_set_leaves_a_round_wall_all_along():
    """What comes out of a wall is air: no columns of liquid stay behind, and the volume needs no correction."""
    simulation = Simulation(Scene.load("circle", {"domain.resolution": 48, "surface.track": "grid"}))
    for _ in range(10):
        simulation.next_frame()
    liquid = simulation.liquid
    wall = (liquid.solids.centre[0] > 0.0) & (liquid.solids.centre[0] < 1.0)
    high = np.arange(48)[None, :] > 40
    assert (liquid.tracker.level[0][wall & high] > 0.0).mean() > 0.95
    assert abs(liquid.ledger.offset) < 0.06


def test_level_set_runs_resume_bit_for_bit(tmp_path):
    from nonstick.sim.run.loop import resume, run

    keys = {"domain.resolution": 20, "surface.track": "grid", "time.frames": 4}
    run(Scene.load("circle", keys), tmp_path / "whole")
    run(Scene.load("circle", keys | {"time.frames": 2}), tmp_path / "parts")
    resume(tmp_path / "parts", frames=4)
    for name in ("000003.npz", "000004.npz"):
        assert (tmp_path / "whole/frames" / name).read_bytes() == (tmp_path / "parts/frames" / name).read_bytes()
