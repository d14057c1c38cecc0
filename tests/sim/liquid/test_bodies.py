"""Bodies in scenes: tables, mistakes, frames, files, resuming, and no liquid inside them."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.files.formats.mesh import of_body
from nonstick.pictures.render import plane as flat
from nonstick.pictures.render import space
from nonstick.pictures.render.scenery import Scenery
from nonstick.pictures.render.space import Viewpoint
from nonstick.scenes import json_schema
from nonstick.sim.liquid.check import check
from nonstick.sim.liquid.preview import Painter
from nonstick.sim.liquid.solids.bodies import make
from nonstick.sim.run.loop import resume, run

POOL = """
[domain]
size = [1.0, 1.0]
resolution = 20
[[liquid]]
shape = {type = "box", low = [0.0, 0.0], high = [1.0, 0.4]}
[time]
frames = 6
[[bodies]]
name = "crate"
shape = {type = "box", low = [0.2, 0.3], high = [0.45, 0.5], rotate = 10.0}
density = 500.0
"""
PADDLE = """
[[bodies]]
name = "paddle"
shape = {type = "box", low = [0.6, 0.15], high = [0.9, 0.25]}
motion = {angle = "90*t", position = ["0", "0.05*sin(8*t)"]}
"""
BODY = POOL[POOL.index("[[bodies]]") :]
BALL = "shape = {type = 'ball', centre = [0.5, 0.7], radius = 0.1}\n"

BAD = {
    "no shape": (POOL + "[[bodies]]\ndensity = 3.0", "bodies.1.shape"),
    "no density": (POOL + "[[bodies]]\n" + BALL, "bodies.1"),
    "negative density": (POOL.replace("= 500.0", "= -500.0"), "bodies.0.density"),
    "text for density": (POOL.replace("= 500.0", "= 'heavy'"), "bodies.0.density"),
    "NaN density": (POOL.replace("= 500.0", "= nan"), "bodies.0.density"),
    "unknown key": (POOL + "mass = 3.0", "bodies.0.mass"),
    "restitution above one": (POOL + "restitution = 1.5", "bodies.0.restitution"),
    "negative friction": (POOL + "friction = -0.1", "bodies.0.friction"),
    "3D velocity in 2D": (POOL + "velocity = [1.0, 0.0, 0.0]", "bodies.0.velocity"),
    "velocity and motion": (POOL + "velocity = [1.0, 0.0]\nmotion = {spin = 3.0}", "bodies.0"),
    "unknown motion": (POOL + "motion = {spun = 3.0}", "bodies.0.motion.spun"),
    "no formula": (POOL + "motion = {angle = 'import os'}", "bodies.0.motion.angle"),
    "unknown name in a formula": (POOL + "motion = {angle = '90*time'}", "bodies.0.motion.angle"),
    "code in a formula": (POOL + "motion = {position = ['__import__(\"os\")', '0']}", "bodies.0.motion.position.0"),
    "too few formulas": (POOL.replace("[1.0, 1.0]", "[1.0, 1.0]") + "motion = {position = ['t']}", "motion.position"),
    "three formulas in 2D": (POOL + "motion = {position = ['t', 't', 't']}", "bodies.0.motion.position"),
    "keys without values": (POOL + "motion = {keys = {times = [0.0, 1.0]}}", "bodies.0.motion.keys"),
    "unequal keys": (POOL + "motion = {keys = {times = [0.0, 1.0], angles = [1.0]}}", "bodies.0.motion.keys"),
    "keys backwards": (POOL + "motion = {keys = {times = [1.0, 0.0], angles = [1.0, 2.0]}}", "bodies.0.motion.keys"),
    "3D keys in 2D": (POOL + "motion = {keys = {times = [0.0], offsets = [[0.0, 1.0, 2.0]]}}",
                      "bodies.0.motion.keys.offsets.0"),
    "a table for a list": (POOL.replace("[[bodies]]", "[bodies]"), "bodies"),
    "unknown walls": (POOL + "pressure = 'slippery'", "bodies.0.pressure"),
}  # fmt: skip


@pytest.mark.parametrize("text, key", BAD.values(), ids=BAD.keys())
def test_mistakes_name_the_key(text, key):
    with pytest.raises(NonstickError) as error:
        Scene.from_text(text, "bad.toml")
    message = str(error.value)
    assert key in message and "bad.toml" in message
    assert "\n" not in message and len(message) < 400


WRONG = {
    "a shape without end": (POOL.replace("'ball'", "") + "[[bodies]]\ndensity = 1.0\nshape = {type = 'halfspace', "
                            "point = [0.5, 0.9], normal = [0.0, -1.0]}", r"bodies\.1.*bounded shape"),
    "one name twice": (POOL + BODY, r"bodies\.1\.name"),
    "in the wall": (POOL.replace("low = [0.2,", "low = [-0.2,"), r"bodies\.0 \(crate\) begins .* deep"),
    "in a body": (POOL + "[[bodies]]\ndensity = 1.0\n" + BALL.replace("0.7", "0.45").replace("0.5,", "0.4,"),
                  r"begins .* deep in"),
}  # fmt: skip


@pytest.mark.parametrize("text, words", WRONG.values(), ids=WRONG.keys())
def test_mistakes_that_need_the_shapes(text, words):
    with pytest.raises(NonstickError, match=words):
        Simulation(Scene.from_text(text))
    with pytest.raises(NonstickError, match=words):
        check(Scene.from_text(text))


def test_schema_and_check_know_bodies():
    schema = json_schema()
    assert schema["properties"]["bodies"]["items"]["$ref"].endswith("/Body")
    assert {"density", "restitution", "friction", "motion"} <= set(schema["$defs"]["Body"]["properties"])
    found = check(Scene.from_text(POOL + PADDLE))
    assert any("crate" in f and "0.5 of the liquid" in f for f in found.facts)
    assert any("paddle" in f and "prescribed" in f for f in found.facts)
    assert any("thick" in w for w in check(Scene.from_text(POOL.replace("0.3]", "0.45]"))).warnings)


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "pool"
    run(Scene.from_text(POOL + PADDLE), path)
    return path


def test_frames_and_files_hold_transforms(pool):
    frame = np.load(pool / "frames" / "000006.npz")
    assert frame["body_centre"].shape == (2, 2) and frame["body_orientation"].shape == (2, 1)
    assert np.degrees(frame["body_orientation"][1, 0]) == pytest.approx(90 * 0.1)
    rows = list(csv.DictReader((pool / "bodies.csv").read_text().splitlines()))
    assert len(rows) == 2 * 7 and rows[-2]["body"] == "crate"
    assert float(rows[-2]["x"]) == frame["body_centre"][0, 0]  # to the last bit
    about = json.loads((pool / "bodies.json").read_text())
    assert about[0]["mass"] == pytest.approx(25.0) and about[1]["prescribed"]
    assert (pool / about[0]["surface"]).read_text().startswith("# metres, y up\no crate\nv ")
    stats = list(csv.DictReader((pool / "stats.csv").read_text().splitlines()))
    assert float(stats[-1]["body_kinetic"]) > 0 and "body_contacts" in stats[-1]


def test_resumed_bit_for_bit(pool, tmp_path):
    run(Scene.from_text(POOL + PADDLE, "x").replace({"time.frames": 3}), tmp_path / "half")
    resume(tmp_path / "half", from_frame=2, frames=6)
    for name in ("frames", "checkpoints"):
        one, other = np.load(pool / name / "000006.npz"), np.load(tmp_path / "half" / name / "000006.npz")
        assert sorted(one.files) == sorted(other.files)
        for key in one.files:
            assert np.array_equal(one[key], other[key]), key
    assert (pool / "bodies.csv").read_text() == (tmp_path / "half" / "bodies.csv").read_text()


def test_preview_shows_bodies(pool):
    painter = Painter(pool)
    image = painter.paint(6).astype(int)
    orange = (image[..., 0] - image[..., 2] > 90) & (image[..., 0] > 200)
    share = orange.mean()
    assert 0.6 * 0.05 < share < 1.2 * 0.05 + 0.01


def test_bodies_in_both_kinds_of_pictures():
    n = 20
    from nonstick.grid.shapes import Ball

    nodes, ball = np.full((n + 1, n + 1), 9.0), Ball((0.5, 0.5), 0.2)
    image = flat.draw({}, nodes, 0.05, (100, 100), flat.Paint(), bodies=[ball]).astype(int)
    assert (image[45:55, 45:55, 0] - image[45:55, 45:55, 2] > 90).all() and abs(image[5, 5, 0] - image[5, 5, 2]) < 20
    inside = [Ball((0.5, 0.5, 0.5), 0.2)]
    walls = Scenery.of_nodes(np.full((n + 1,) * 3, 9.0), 0.05)
    view = Viewpoint(0.0, 0.0)
    image = space.Studio(80, 80).draw(np.full((n,) * 3, 9.0), walls, 0.05, view, bodies=inside).astype(int)
    assert (image[36:44, 36:44, 0] - image[36:44, 36:44, 2] > 50).all()


def test_surfaces_enclose_the_volume():
    text = POOL.replace("[1.0, 1.0]", "[1.0, 1.0, 1.0]").replace("[1.0, 0.4]", "[1.0, 0.4, 1.0]")
    text = text.replace("[0.0, 0.0]", "[0.0, 0.0, 0.0]").replace("[0.2, 0.3]", "[0.2, 0.3, 0.3]")
    body = make(Scene.from_text(text.replace("[0.45, 0.5]", "[0.45, 0.5, 0.6]")))[0]
    mesh = of_body(body.shape, body.origin)
    assert mesh.volume() == pytest.approx(body.volume, rel=0.02) and mesh.open_edges() == 0
    flat_body = make(Scene.from_text(POOL))[0]
    flat_mesh = of_body(flat_body.shape, flat_body.origin)
    a, b, c = np.moveaxis(flat_mesh.vertices[flat_mesh.faces].astype(float), 1, 0)
    assert 0.5 * np.cross(b - a, c - a)[:, 2].sum() == pytest.approx(flat_body.volume, rel=0.02)


@pytest.mark.parametrize("track", ["particles", "grid"])
def test_no_liquid_in_bodies_and_none_is_lost(track):
    text = POOL.replace("[0.2, 0.3]", "[0.2, 0.5]").replace("[0.45, 0.5]", "[0.45, 0.75]").replace("= 500", "= 3000")
    simulation = Simulation(Scene.from_text(text + f"[surface]\ntrack = '{track}'\n"))
    body = simulation.bodies[0]
    rows = []
    for _ in range(30):
        rows += simulation.next_frame()
        x = simulation.frame_arrays()["position"].astype(float)
        # corners are as round as the grid makes them; a level set is no finer than its cells
        assert body.phi(*x.T).min() > -(0.35 if track == "particles" else 1.0) * simulation.scene.dx
    assert body.centre[1] < 0.3 and max(abs(r["volume_error"]) for r in rows) < 0.02


def test_an_empty_tank_keeps_a_stack():
    simulation = Simulation(Scene.load("stack", {"domain.resolution": 10, "time.fps": 60}))
    before = np.array([b.state() for b in simulation.bodies])
    for _ in range(30):
        rows = simulation.next_frame()
    assert np.abs(np.array([b.state() for b in simulation.bodies]) - before).max() < 1e-4
    assert rows[-1]["unknowns"] == 0 and rows[-1]["body_contacts"] > 0 and rows[-1]["volume_error"] == 0.0


def test_a_body_pressed_by_a_moving_solid_ends_a_run_with_a_sentence(tmp_path):
    file = tmp_path / "press.toml"
    press = (
        "[[solid]]\nshape = {type = 'box', low = [0.0, 0.25], high = [1.0, 0.35]}\nmotion = {velocity = [0.0, -1.0]}\n"
    )
    flat = POOL.replace("[0.2, 0.3]", "[0.2, 0.0]").replace("[0.45, 0.5]", "[0.45, 0.2]").replace("rotate = 10.0", "")
    file.write_text(flat.replace("0.2], }", "0.2]}") + press)
    done = subprocess.run(
        [sys.executable, "-m", "nonstick", "run", str(file), "--frames", "60", "--out", str(tmp_path / "out")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert "crate is pressed" in last and "nan" not in last.lower()
    assert json.loads((tmp_path / "out" / "meta.json").read_text())["status"] == "failed"
    for file in (tmp_path / "out" / "frames").glob("*.npz"):
        assert all(np.isfinite(v).all() for v in np.load(file).values() if v.dtype.kind == "f")


def test_walls_are_laid_out_again_only_where_one_has_moved():
    ball = {"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.2}}
    pool = [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.25]}}]
    domain = {"size": [1.0, 1.0], "resolution": 12}
    falling = Simulation(Scene({"domain": domain, "liquid": pool, "bodies": [{**ball, "density": 800.0}]}))
    solids = falling.liquid.solids
    assert not solids.update(0.3)
    falling.bodies[0].velocity[1] = -2.0
    assert not solids.update(0.4) and solids.velocity[2].min() == -2.0
    falling.bodies[0].centre[1] = 0.45
    assert solids.update(0.4) and not solids.update(0.4)
    still = Simulation(Scene({"domain": domain, "liquid": pool, "solid": [ball]}))
    assert not still.liquid.solids.update(0.3)
    turned = {**ball, "motion": {"velocity": [0.1, 0.0]}}
    driven = Simulation(Scene({"domain": domain, "liquid": pool, "solid": [turned]}))
    assert driven.liquid.solids.update(0.3)
