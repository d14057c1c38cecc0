"""Viscosity carried by particles, sources that move, and what viscosity must leave alone."""

import gc
import weakref

import numpy as np
import pytest
from scipy.ndimage import binary_dilation

from nonstick import NonstickError, Scene, Simulation
from nonstick.sim.liquid.flow.masses import Masses
from nonstick.sim.liquid.flow.viscosity import Skin
from nonstick.sim.liquid.particles._particles import _scatter_value
from nonstick.sim.run.loop import resume, run
from nonstick.validation.walls import Plate, film

RAMP = {"along": "x", "at": [0.2, 0.8], "values": [1.0, 100.0]}


def block(**more):
    return {
        "domain": {"size": [1.0, 1.0], "resolution": 20},
        "liquid": [{"shape": {"type": "box", "low": [0.2, 0.1], "high": [0.8, 0.4]}, "viscosity": RAMP}],
        **more,
    }


def hats(x, shape):
    """Weights (n, cells) of particles by the trilinear hats of cell centres, clamped at the border."""
    out = np.ones((x.shape[1], 1))
    for c, n in zip(x, shape):
        at = c - 0.5
        low, part = np.floor(at).astype(int), at - np.floor(at)
        line = np.zeros((x.shape[1], n))
        np.add.at(line, (np.arange(x.shape[1]), np.clip(low, 0, n - 1)), 1 - part)
        np.add.at(line, (np.arange(x.shape[1]), np.clip(low + 1, 0, n - 1)), part)
        out = (out[:, :, None] * line[:, None, :]).reshape(x.shape[1], -1)
    return out


@pytest.mark.parametrize("shape", [(1, 9, 6), (11, 5, 4)])
def test_scatter_value_against_numpy(shape):
    rng = np.random.default_rng(3)
    x = rng.random((3, 200)) * np.array(shape)[:, None]
    if shape[0] == 1:
        x[0] = 0.5
    cell = np.ravel_multi_index(tuple(x.astype(int)), shape)
    order = np.argsort(cell, kind="stable")
    x, value = np.ascontiguousarray(x[:, order]), rng.random(200).astype(np.float32)
    start = np.searchsorted(cell[order], np.arange(np.prod(shape) + 1))
    plane = shape[2] if shape[0] == 1 else shape[1] * shape[2]
    total, mass = np.zeros(shape), np.zeros(shape)
    _scatter_value(total, mass, x, value, start, plane)
    weight = hats(x, shape)
    np.testing.assert_allclose(total.ravel(), value @ weight, atol=1e-12)
    np.testing.assert_allclose(mass.ravel(), weight.sum(0), atol=1e-12)


def test_particles_start_on_the_ramp_and_keep_their_value():
    simulation = Simulation(Scene(block()))
    p = simulation.liquid.tracker.cloud
    np.testing.assert_allclose(p.mu, np.interp(p.x[1] / 20, RAMP["at"], RAMP["values"]), rtol=1e-6)
    before = np.sort(p.mu)
    simulation.next_frame()
    simulation.next_frame()
    np.testing.assert_array_equal(np.sort(p.mu), before)
    assert "viscosity" in simulation.frame_arrays()


def test_a_logarithmic_ramp():
    scene = block()
    scene["liquid"][0]["viscosity"] = {**RAMP, "scale": "log"}
    p = Simulation(Scene(scene)).liquid.tracker.cloud
    middle = np.abs(p.x[1] / 20 - 0.5) < 0.01
    np.testing.assert_allclose(p.mu[middle], 10.0, rtol=0.1)


def test_cells_take_the_mean_of_their_particles_and_extend_it():
    liquid = Simulation(Scene(block())).liquid
    mu = liquid.grid.drop(liquid.tracker.viscosity())
    centres = (np.arange(20) + 0.5) / 20
    expected = np.interp(centres, RAMP["at"], RAMP["values"])
    np.testing.assert_allclose(mu[5:15, 3:7], np.broadcast_to(expected[5:15, None], (10, 4)), rtol=0.15)
    # two cells above and below the block there are no particles, and the ramp goes on
    for row in (0, 9):
        np.testing.assert_allclose(mu[6:14, row], expected[6:14], rtol=0.2)
    liquid.tracker.cloud.mu[:] = 7.0
    mu = liquid.tracker.viscosity()
    assert np.all((np.abs(mu - 7.0) < 1e-6) | (mu == 0.0)) and (mu[3:17, 1:10] > 0).all()


def test_one_viscosity_for_all_is_not_carried():
    scene = block(physics={"viscosity": 3.0})
    scene["liquid"][0]["viscosity"] = 5.0
    liquid = Simulation(Scene(scene)).liquid
    assert not liquid.viscosity.carried and liquid.viscosity.mu == 5.0 and liquid.tracker.cloud.mu.size == 0
    scene["liquid"].append({"shape": {"type": "ball", "centre": [0.5, 0.7], "radius": 0.1}})
    liquid = Simulation(Scene(scene)).liquid
    assert set(np.unique(liquid.tracker.cloud.mu)) == {3.0, 5.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"surface": {"track": "grid"}}, r"liquid\.0\.viscosity needs particles to carry it"),
        ({"liquid": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.2},
                      "viscosity": {**RAMP, "along": "z"}}]}, "the scene is 2D"),
        ({"liquid": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.2},
                      "viscosity": {**RAMP, "values": [1.0]}}]}, r"liquid\.0\.viscosity\.values"),
        ({"liquid": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.2},
                      "viscosity": {**RAMP, "values": [0.0, 1.0], "scale": "log"}}]}, "above zero"),
        ({"liquid": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.2},
                      "viscosity": -1.0}]}, r"liquid\.0\.viscosity"),
    ],
)  # fmt: skip
def test_mistakes_are_named(change, message):
    with pytest.raises(NonstickError, match=message):
        Scene(block(**change))


def test_the_thick_end_slumps_less():
    scene = block(time={"frames": 20})
    scene["liquid"][0] = {
        "shape": {"type": "box", "low": [0.2, 0.0], "high": [0.8, 0.6]},
        "viscosity": {"along": "x", "at": [0.45, 0.55], "values": [0.5, 2e4], "scale": "log"},
    }
    simulation = Simulation(Scene(scene))
    for _ in range(20):
        simulation.next_frame()
    x = simulation.frame_arrays()["position"]
    # the front runs on the thin side and hardly moves on the thick one
    assert 0.2 - x[:, 0].min() > 4 * max(x[:, 0].max() - 0.8, 0.02)


# -- sources ----------------------------------------------------------------------------------------------


def poured(**source):
    return {
        "domain": {"size": [1.0, 1.0], "resolution": 20},
        "physics": {"gravity": [0.0, 0.0], "viscosity": 20.0},
        "inflow": [
            {"shape": {"type": "box", "low": [0.4, 0.8], "high": [0.6, 0.95]}, "velocity": [0.0, -1.0], **source}
        ],
    }


@pytest.mark.parametrize("dt", [0.0125, 0.035, 0.065, 0.133])
def test_a_source_emits_its_flow_whatever_the_step(dt):
    simulation = Simulation(Scene(poured()))
    while simulation.time + dt < 0.8:
        simulation.step(dt)
    # the source itself, and what a width of 0.2 m at 1 m/s brings in the steps so far
    expected = 0.2 * 0.15 + 0.2 * 1.0 * (simulation.time - dt)
    assert simulation.liquid.ledger.expected / 400 == pytest.approx(expected, rel=0.025)


def test_a_moving_source_takes_its_liquid_along():
    motion = {"velocity": [0.5, 0.0]}
    simulation = Simulation(Scene(poured(motion=motion, viscosity=30.0)))
    for _ in range(6):
        simulation.step(0.05)
    p = simulation.liquid.tracker.cloud
    assert p.vel[1].mean() == pytest.approx(0.5, rel=0.05)
    assert p.vel[2].mean() == pytest.approx(-1.0, rel=0.05)
    assert p.x[1].mean() / 20 == pytest.approx(0.5 + 0.5 * 0.3, abs=0.03)
    assert not simulation.liquid.viscosity.carried and simulation.liquid.viscosity.mu == 30.0


def test_resume_is_bit_identical_with_carried_viscosity_and_a_moving_source(tmp_path):
    def scene(frames):
        data = block(time={"frames": frames, "cfl": 4.0}, output={"movie": False})
        data["inflow"] = [
            {"shape": {"type": "box", "low": [0.4, 0.7], "high": [0.6, 0.9]}, "velocity": [0.0, -2.0],
             "viscosity": 400.0, "motion": {"amplitude": [0.1, 0.0], "frequency": 2.0}}
        ]  # fmt: skip
        return Scene(data)

    run(scene(4), tmp_path / "whole")
    run(scene(2), tmp_path / "parts")
    resume(tmp_path / "parts", frames=4)
    for frame in ("000003.npz", "000004.npz"):
        whole, parts = ((tmp_path / name / "frames" / frame).read_bytes() for name in ("whole", "parts"))
        assert whole == parts


def test_a_step_leaves_no_viscosity_problem_behind():
    """Were a problem and its box to hold each other, memory would grow until the garbage collector comes round."""
    simulation = Simulation(Scene(block()))
    seen = []
    simulation.watch = lambda report: seen.append(weakref.ref(report.viscosity.source))
    gc.disable()
    try:
        simulation.step(0.01)
        assert seen[0]() is None
    finally:
        gc.enable()


# -- what viscosity leaves alone ----------------------------------------------------------------------------


@pytest.mark.parametrize("viscous", ["no-slip", "separating"])
def test_honey_at_rest_stays_at_rest(viscous):
    """Hydrostatic pressure balances gravity before viscosity acts, so nothing is left for it to smear."""
    scene = Scene(
        {
            "domain": {"size": [1.0, 1.0], "resolution": 16},
            "physics": {"density": 1400.0, "viscosity": 1000.0},
            "walls": {"viscous": viscous},
            "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.5]}}],
        }
    )
    simulation = Simulation(scene)
    heights = []
    for _ in range(20):
        simulation.step(1 / 60)
        heights.append(float(simulation.liquid.tracker.x[2].mean()))
    # a fall would have reached 3.3 m/s; positions are only evened out
    assert simulation.liquid.max_speed() < 0.005
    assert abs(heights[-1] - heights[0]) < 0.02


def test_a_free_drop_keeps_its_rotation():
    scene = Scene(
        {
            "domain": {"size": [1.0, 1.0], "resolution": 32},
            "physics": {"gravity": [0.0, 0.0], "viscosity": 1e4},
            "liquid": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.3}, "spin": 180.0}],
        }
    )
    simulation = Simulation(scene)

    def spin():
        x = simulation.frame_arrays()
        r, v = x["position"] - 0.5, x["velocity"]
        return float((r[:, 0] * v[:, 1] - r[:, 1] * v[:, 0]).sum() / (r**2).sum())

    assert spin() == pytest.approx(np.pi, rel=1e-4)
    for _ in range(15):
        simulation.step(1 / 60)
    # without the turning of the pressure force a step would take 1 - cos(ω dt), 2 % in all; viscosity takes nothing
    assert spin() == pytest.approx(np.pi, rel=2e-3)


def test_particles_just_outside_thick_liquid_move_with_it():
    """A face in the air that a particle reaches is continued from the liquid if that is thick, else it is its own."""
    for mu, follows in ((1000.0, True), (1e-3, False)):
        scene = block(physics={"viscosity": mu})
        scene["liquid"][0].pop("viscosity")
        liquid = Simulation(Scene(scene)).liquid
        mass, wet = liquid.grid.still() + 1.0, liquid.tracker.phi < 0.0
        masses = Masses.of(liquid.tracker.phi, liquid.solids, mass)
        velocity = liquid.grid.still()
        for _, u in velocity.each():
            u += np.arange(u.shape[2], dtype=float)  # linear along the vertical
        top = int(np.flatnonzero(wet[0, 10]).max()) + 1  # the face on top of the highest cell is solved
        velocity[2][:, :, top + 1 :] = -7.0
        for axis, skin in liquid.viscosity.skin(masses, mu, liquid.tracker.gravity, wet).items():
            skin.drag(velocity[axis])
        column = velocity[2][0, 9:12]
        assert (column[:, 2 : top + 1] == np.arange(2, top + 1)).all() and (column[:, top + 2 :] == -7.0).all()
        assert (column[:, top + 1] == (top + 1.0 if follows else -7.0)).all()


def test_what_takes_the_skin_along_has_its_mass_and_momentum():
    """Rigid motion stays; any other keeps its momentum, and the skin then has the velocity of the faces below it."""
    rng = np.random.default_rng(5)
    solved = np.zeros((9, 1, 8), bool)
    solved[1:8, 0, 2:6] = True
    near = binary_dilation(solved)
    mass = np.where(near, rng.uniform(0.1, 1.0, solved.shape), 0.0)
    skin = Skin.of(solved, mass, near, range(0, 3))
    assert (near & ~solved)[skin.at].all() and skin.at[0].size == np.count_nonzero(near & ~solved) > 0
    open_share = np.ones(solved.shape)
    rigid = 2.0 + 0.3 * np.arange(8.0) + np.zeros(solved.shape)
    for u in (rigid, rng.normal(size=solved.shape)):
        moved, heavier = u.copy(), mass.copy()
        skin.load(moved, heavier, open_share)
        assert heavier[solved].sum() == pytest.approx(mass.sum()) and (heavier[~solved] == mass[~solved]).all()
        if u is rigid:
            assert np.allclose(moved[solved], u[solved], atol=1e-13)
        gained = (heavier * moved - heavier * u)[solved].sum()
        assert gained == pytest.approx(float((mass[skin.at] * (u[skin.at] - skin.continued(u))).sum()))
        assert (moved[~solved] == u[~solved]).all()


def test_nothing_of_the_drive_of_a_film_is_lost_at_its_surface():
    """With the surface on a grid line an eighth of a cell of particles lies nearer to faces in the air."""
    found = film(4, 1, Plate())
    assert (
        found["flux"] == pytest.approx(1.0, abs=0.02) and found["profile"] < 0.03
    )  # 0.967 and 0.039 without its weight
