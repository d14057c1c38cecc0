"""What `nonstick check` says before a run."""

import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.sim.liquid.check import check

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
    assert "solid.0.shape is thinner" in warnings(solid=[thin], surface={"track": "grid"})
    assert not warnings(solid=[thin])  # beside particles, thin walls hold
    away = {"shape": {"type": "ball", "centre": [5.0, 5.0], "radius": 0.1}}
    assert "solid.0.shape is nowhere in the domain" in warnings(solid=[away])


def test_liquid_outside_or_in_solids():
    out = {"shape": {"type": "box", "low": [2.0, 2.0], "high": [3.0, 3.0]}}
    assert "liquid.1.shape holds no liquid" in warnings(liquid=[POOL, out])
    beyond = {"shape": {"type": "box", "low": [-0.5, 0.0], "high": [0.5, 0.5]}}
    assert "liquid.0.shape extends beyond" in warnings(liquid=[beyond])
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


def test_what_does_not_fit_is_said_with_numbers_before_the_run(monkeypatch, tmp_path):
    from nonstick.files.rundir import RunDirectory
    from nonstick.sim.liquid.requirements import needs
    from nonstick.sim.run import findings
    from nonstick.sim.run.loop import run

    huge = Scene({"domain": {"size": [1.0, 1.0, 1.0], "resolution": 3000}, "liquid": [
        {"shape": {"type": "ball", "centre": [0.5, 0.5, 0.5], "radius": 0.2}}]})  # fmt: skip
    sentence = check(huge).errors[0]
    assert "3000×3000×3000 cells need at least 4.7 TB of memory" in sentence and "domain.resolution=" in sentence
    with pytest.raises(NonstickError, match="of memory, but only"):
        run(huge, tmp_path / "huge")
    assert not (tmp_path / "huge").exists()

    scene = Scene({**BASE, "liquid": [POOL], "time": {"frames": 1}})
    monkeypatch.setattr(findings, "free_memory", lambda: needs(scene).memory + 1.0)
    monkeypatch.setattr(findings, "free_disk", lambda path: 1000.0)
    told = []
    run(scene, tmp_path / "short", warn=told.append)
    assert "memory" in told[0] and "disk" in told[1] and "1 kB are free at" in told[1]
    assert [x["message"] for x in RunDirectory(tmp_path / "short").log_lines() if x["kind"] == "short"] == told


def test_estimates_of_large_grids_count_particles_without_making_them(monkeypatch):
    from nonstick.sim.liquid import check as module

    pool = {"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.5]}}
    scene = Scene({**BASE, "liquid": [pool]})
    made = check(scene).facts[0]
    monkeypatch.setattr(module, "COUNTED_ABOVE", 1)
    assert "512 particles" in made and "512 particles" in check(scene).facts[0]


def test_sizes_for_people():
    from nonstick.sim.run.findings import size

    assert [size(n) for n in (3 * 2**20, 2.5 * 2**30, 40 * 2**30, 5.25 * 2**40)] == [
        "3 MB",
        "2.5 GB",
        "40 GB",
        "5.2 TB",
    ]


@pytest.mark.parametrize("cfl, warned", [(2.0, False), (20.0, True)])
def test_steps_that_lose_volume_are_warned_of(cfl, warned):
    """`circle` at ten frames a second loses a third of its volume if its liquid may cross twenty cells in a step."""
    scene = Scene.load("circle", {"domain.resolution": 24, "time.fps": 10.0, "time.cfl": cfl, "time.frames": 8})
    assert any("volume is lost" in line for line in check(scene).warnings) == warned
    told = []
    made = Simulation(scene)
    made.tell = lambda kind, text, **_: told.append(text)
    for _ in range(8):
        made.next_frame()
    assert any("lower time.cfl" in text for text in told) == warned
