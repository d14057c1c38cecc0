"""What `nonstick check` says before a run."""

import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.sim.check import check

BASE = {"domain": {"size": [1.0, 1.0], "resolution": 16}}
POOL = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.4]}}


def warnings(**more):
    return " ".join(check(Scene({**BASE, "liquid": [POOL], **more})).warnings)


def test_a_sound_scene_has_no_warnings_and_estimates():
    found = check(Scene({**BASE, "liquid": [POOL]}))
    assert not found.warnings
    text = " ".join(found.facts)
    assert "memory about" in text and "disk about" in text and "16×16" in text


def test_viscosity_and_bodies_in_it_take_memory():
    def memory(**more):
        text = " ".join(check(Scene({"domain": {"size": [1.0, 1.0, 1.0], "resolution": 48}, **more})).facts)
        return int(text.split("memory about ")[1].split()[0]), text

    pool = [{"shape": {"type": "box", "low": [0.0, 0.0, 0.0], "high": [1.0, 0.4, 1.0]}}]
    ball = [{"shape": {"type": "ball", "centre": [0.5, 0.7, 0.5], "radius": 0.2}, "density": 500.0}]
    water, _ = memory(liquid=pool, bodies=ball)
    honey, text = memory(liquid=pool, physics={"viscosity": 10.0})
    both, _ = memory(liquid=pool, bodies=ball, physics={"viscosity": 10.0})
    assert water < honey < both and "flows in" not in text
    assert "flows in" in memory(liquid=pool, inflow=[{**pool[0], "velocity": [0.0, -1.0, 0.0]}])[1]


def test_thin_walls_and_walls_outside():
    thin = {"shape": {"type": "box", "low": [0.3, 0.3], "high": [0.7, 0.36]}}
    assert "solid.0.shape is thinner" in warnings(solid=[thin])
    away = {"shape": {"type": "ball", "centre": [5.0, 5.0], "radius": 0.1}}
    assert "solid.0.shape touches no node" in warnings(solid=[away])


def test_liquid_outside_or_in_solids():
    out = {"shape": {"type": "box", "low": [2.0, 2.0], "high": [3.0, 3.0]}}
    assert "liquid.1.shape holds no liquid" in warnings(liquid=[POOL, out])
    beyond = {"shape": {"type": "box", "low": [-0.5, 0.0], "high": [0.5, 0.5]}}
    assert "liquid.0.shape reaches beyond" in warnings(liquid=[beyond])
    block = {"shape": {"type": "box", "low": [-0.1, -0.1], "high": [1.1, 0.35]}}
    assert "inside solids" in warnings(solid=[block])


@pytest.mark.parametrize(
    "solver, sentence",
    [
        ({"method": "visc-auto"}, "solver.method"),
        ({"viscosity": "auto"}, "solver.viscosity"),
        ({"viscosity": "visc"}, "unknown"),
    ],
)
def test_methods_that_solve_something_else_are_refused_before_the_first_step(solver, sentence):
    scene = Scene({**BASE, "liquid": [POOL], "solver": solver})
    for look in (check, Simulation):
        with pytest.raises(NonstickError, match=sentence):
            look(scene)


@pytest.mark.parametrize(
    "method, taken", [("auto", True), ("pgs", True), ("fmg", True), ("pi-mg", False), ("no-lcp", False)]
)
def test_walls_of_kind_edge_ask_for_a_method_that_takes_them(method, taken):
    scene = Scene({**BASE, "liquid": [POOL], "solver": {"method": method}, "walls": {"pressure": "edge"}})
    for look in (check, Simulation):
        if taken:
            look(scene)
        else:
            with pytest.raises(NonstickError, match=r"walls\.pressure.*'psor'"):
                look(scene)
