"""Walls that differ: solids and sides of the domain with settings of their own."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.grid.faces import FaceField
from nonstick.sim.liquid.check import check
from nonstick.sim.liquid.solids.on_grid import Solids
from nonstick.sim.liquid.solids.solid import NAMES, nearest_side, sides_of


def block(walls, low=(0.0, 0.0), high=(1.0, 0.5), size=(1.0, 1.0), **more):
    """Thick liquid that moves to the right."""
    return Scene(
        {
            "domain": {"size": list(size), "resolution": 20},
            "physics": {"viscosity": 1e4, "gravity": [0.0, 0.0]},
            "walls": walls,
            "liquid": [{"shape": {"type": "box", "low": list(low), "high": list(high)}, "velocity": [1.0, 0.0]}],
            **more,
        }
    )


def speed_after(scene, steps=3):
    simulation = Simulation(scene)
    for _ in range(steps):
        simulation.step(0.005)
    return float(np.mean(simulation.liquid.tracker.cloud.vel[1]))


def test_the_nearest_side_has_a_name():
    points = np.meshgrid(np.array([0.1, 0.5, 0.95]), np.array([0.2, 0.99]), indexing="ij")
    distance, which = nearest_side(points, (1.0, 1.0), (3, 2), True)
    np.testing.assert_allclose(distance, [[0.1, 0.01], [0.2, 0.01], [0.05, 0.01]])
    names = [[NAMES[-1 - n] for n in row] for row in which]
    assert names == [["left", "top"], ["bottom", "top"], ["right", "top"]]
    assert (nearest_side(points, (1.0, 1.0), (3, 2), False)[1] == -1).all()


def test_a_slab_slides_on_a_slip_floor_beside_no_slip_sides_and_sticks_the_other_way_round():
    """Liquid in the middle touches the floor only: only the floor's own setting counts."""
    at = {"low": (0.3, 0.0), "high": (0.7, 0.3)}
    sliding = speed_after(block({"viscous": "no-slip", "bottom": {"viscous": "slip"}}, **at))
    sticking = speed_after(block({"viscous": "slip", "bottom": {"viscous": "no-slip"}}, **at))
    assert sliding == pytest.approx(speed_after(block({"viscous": "slip"}, **at)), abs=1e-9)
    assert sticking == pytest.approx(speed_after(block({"viscous": "no-slip"}, **at)), abs=1e-9)
    assert sliding > 0.9 and abs(sticking) < 0.2


def test_sides_of_a_domain_that_is_no_whole_number_of_cells():
    """The last cells reach beyond the domain: the side there is a solid with the side's setting."""
    walls = {"viscous": "no-slip", "top": {"viscous": "slip"}}
    scene = block(walls, low=(0.3, 0.7), high=(0.7, 0.93), size=(1.0, 0.93))
    assert scene.shape[1] * scene.dx > 0.93
    assert speed_after(scene) > 0.9
    solids = Solids(scene)
    assert [s.viscous for s in solids.list] == ["slip"]
    assert solids.viscous[-1] == "no-slip"
    both = Solids(block({"left": {"pressure": "none"}}, size=(0.97, 0.93)))
    assert len(both.list) == 1 and both.list[0].pressure == "cut"


@pytest.mark.parametrize("kind", ["slip", "separating"])
def test_solids_have_their_own_kind(kind):
    """A plate under the liquid, wider than the liquid, beside no-slip walls."""
    plate = {"shape": {"type": "box", "low": [-1.0, -1.0], "high": [2.0, 0.33]}}
    at = {"low": (0.3, 0.33), "high": (0.7, 0.6)}
    alone = speed_after(block({"viscous": "no-slip"}, solid=[{**plate, "viscous": kind}], **at))
    everywhere = speed_after(block({"viscous": kind}, solid=[plate], **at))
    assert alone == pytest.approx(everywhere, abs=1e-9)
    assert abs(speed_after(block({"viscous": kind}, solid=[{**plate, "viscous": "no-slip"}], **at))) < 0.2 < 0.8 < alone


def test_two_solids_differ():
    """A layer between a no-slip and a slip plate moves as on the no-slip plate alone, not as between two."""
    low = {"shape": {"type": "box", "low": [-1.0, -1.0], "high": [2.0, 0.31]}}
    high = {"shape": {"type": "box", "low": [-1.0, 0.52], "high": [2.0, 3.0]}}
    at = {"low": (0.1, 0.2), "high": (0.9, 0.7)}
    found = {}
    for kind in ("no-slip", "slip"):
        simulation = Simulation(block({"pressure": "none"}, solid=[low, {**high, "viscous": kind}], **at))
        simulation.step(0.005)
        x, v = simulation.liquid.tracker.x, simulation.liquid.tracker.cloud.vel
        found[kind] = [float(v[1][(x[2] > a) & (x[2] < b)].mean()) for a, b in ((6.2, 7.2), (9.4, 10.4))]
    assert found["no-slip"][0] == pytest.approx(found["no-slip"][1], rel=0.2)
    assert found["slip"][1] > 1.5 * found["slip"][0]


def test_pressure_and_adhesion_of_one_side():
    walls = {"pressure": "cut", "bottom": {"pressure": "none", "adhesion": 5.0, "separation": 0.2}}
    solids = Solids(block(walls))
    assert solids.sticky[0, 10, 0] and not solids.sticky[0, 10, -1] and not solids.sticky[0, 0, 10]
    assert solids.mode[0, 10, -1] and not solids.mode[0, 10, 0]
    assert solids.adhesion[0, 10, 0] == 5.0 and solids.adhesion[0, 10, -1] == 0.0
    assert solids.separation[0, 10, 0] == 0.2 and solids.separation[0, 0, 10] == 0.0


def test_only_no_slip_sides_hold_thick_liquid():
    walls = {"viscous": "slip", "top": {"viscous": "no-slip"}}
    simulation = Simulation(block(walls))
    hold = simulation.liquid.viscosity.held_walls(1e4, 0.01)
    assert hold[0, 10, -1] and not hold[0, 10, 0] and not hold[0, 0, 10]
    assert Simulation(block({"viscous": "slip"})).liquid.viscosity.held_walls(1e4, 0.01) is None


def test_settings_that_are_not_given_are_those_of_all_walls():
    scene = block({"viscous": "slip", "adhesion": 2.0, "left": {"adhesion": 0.0}})
    left, right = sides_of(scene.model.walls, 2)[:2]
    assert (left.viscous, left.adhesion, right.adhesion, left.pressure) == ("slip", 0.0, 2.0, "cut")


def test_mistakes_are_told_in_a_sentence():
    with pytest.raises(NonstickError, match=r"walls\.front is a side of a 3D domain"):
        block({"front": {"viscous": "slip"}})
    with pytest.raises(NonstickError, match=r"walls\.bottom\.viscous"):
        block({"bottom": {"viscous": "sticky"}})
    with pytest.raises(NonstickError, match="floor"):
        block({"floor": {"viscous": "slip"}})
    with pytest.raises(NonstickError, match=r"solid\.0\.viscous"):
        block({}, solid=[{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.1}, "viscous": "none"}])


def test_a_scene_with_sides_comes_back_from_its_file(tmp_path):
    scene = block({"bottom": {"viscous": "slip"}})
    (tmp_path / "scene.toml").write_text(scene.to_toml())
    again = Scene.load(tmp_path / "scene.toml")
    assert again.model.walls.bottom.viscous == "slip" and again.model.walls.top is None


def test_the_check_of_a_scene_knows_them():
    plate = {"shape": {"type": "box", "low": [-1.0, -1.0], "high": [2.0, 0.3]}, "viscous": "separating"}
    facts = check(block({"bottom": {"viscous": "slip"}}, high=(1.0, 0.6), solid=[plate])).facts
    assert "viscous liquid at walls: no-slip; bottom slip; solid.0 separating" in facts
    assert not any("viscous liquid at walls" in fact for fact in check(block({})).facts)
    inviscid_share = block({"top": {"viscous": "slip"}}).replace({"physics.viscosity": 0.0})
    assert any("walls.top.viscous has no effect" in warning for warning in check(inviscid_share).warnings)


def test_a_rotating_container_keeps_liquid_rigid_in_the_viscosity_solve():
    """Liquid that turns with a round container that cuts its cells makes no stress."""
    turn = {"velocity": [0.0, 0.0], "spin": 90.0}
    scene = block(
        {},
        low=(0.0, 0.0),
        high=(1.0, 1.0),
        solid=[{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.37}, "container": True, "motion": turn}],
    )
    simulation = Simulation(scene)
    solids = simulation.liquid.solids
    velocity = FaceField.of([np.broadcast_to(w, s.shape).copy() for w, s in zip(_rigid(scene), solids.open.user)])
    pressure = np.zeros(solids.grid.three)
    solution = simulation.liquid.viscosity.solve(-np.ones(pressure.shape), velocity, velocity, pressure, 1e4, 0.01)
    inside = (solids.open > 0).user
    for found, given, here in zip(solution.velocity, velocity.user, inside):
        np.testing.assert_allclose(found[here], given[here], atol=2e-3)


def _rigid(scene):
    n = scene.shape[0]
    h, spin = scene.dx, np.pi / 2
    middle, face = (np.arange(n) + 0.5) * h - 0.5, np.arange(n + 1) * h - 0.5
    return -spin * middle[None, :] + 0.0 * face[:, None], spin * middle[:, None] + 0.0 * face[None, :]
