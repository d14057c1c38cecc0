"""Scene files: what is accepted, and that mistakes end in one sentence naming the key."""

import json
import subprocess
import sys

import pytest

from nonstick import NonstickError, Scene, Simulation
from nonstick.scenes import builtin, builtin_text, json_schema, parse_override

GOOD = """
[domain]
size = [1.0, 1.0]
resolution = 16

[[liquid]]
shape = {type = "box", low = [0.0, 0.0], high = [0.5, 0.5]}
"""


@pytest.mark.parametrize("name", sorted(builtin()))
def test_builtin_scenes_hold_at_any_resolution(name):
    scene = Scene.load(name, {"domain.resolution": 24})
    assert scene.model.description and scene.name == name
    again = Scene.from_text(scene.to_toml())
    assert again.to_dict() == scene.to_dict()
    assert again.fingerprint() == scene.fingerprint()


def test_the_scenes_of_the_papers_are_there():
    wanted = {
        "circle", "square", "sphere", "sphere-cuboid", "double-sphere", "maze", "cm-circle", "ball-box",
        "dam-break-box",
        "rotated-box", "dam-break-sphere", "andersen-1", "andersen-2", "andersen-3", "andersen-4", "andersen-5",
        "andersen-3d-1", "andersen-3d-2", "maze-3d", "neumann-maze", "double-dam-break", "bunny-sphere", "ceiling",
        "bunny-drop", "armadillo-cake", "honey", "chocolate", "varying-block", "tilted-tank", "martin-moyce", "slosh",
    }  # fmt: skip
    assert wanted <= set(builtin())


TORUS = """[domain]
size = [1, 1, 1]
[[solid]]
shape = {type = "torus", centre = [0.5, 0.5, 0.5], major = 0.2, minor = 0.1, ring_axis = AXIS}
"""

BAD = {
    "unknown table": ('[domian]\nsize=[1,1]', "domian"),
    "unknown key": (GOOD + "[time]\nframs = 3", "time.frams"),
    "unknown key in a shape": (GOOD.replace("low =", "lwo ="), "liquid.0.shape.lwo"),
    "missing domain": ("[[liquid]]\nshape={type='ball',centre=[0.5,0.5],radius=0.1}", "domain"),
    "missing radius": ("[domain]\nsize=[1,1]\n[[liquid]]\nshape={type='ball',centre=[0.5,0.5]}",
                       "liquid.0.shape.radius"),
    "text for a number": (GOOD.replace("[1.0, 1.0]", '["1 m", 1.0]'), "domain.size.0"),
    "number for text": (GOOD + "[walls]\npressure = 3", "walls.pressure"),
    "negative size": (GOOD.replace("[1.0, 1.0]", "[-1.0, 1.0]"), "domain.size.0"),
    "zero resolution": (GOOD.replace("= 16", "= 0"), "domain.resolution"),
    "fractional resolution": (GOOD.replace("= 16", "= 16.5"), "domain.resolution"),
    "NaN": (GOOD + "[physics]\ndensity = nan", "physics.density"),
    "infinite gravity": (GOOD + "[physics]\ngravity = [0.0, inf]", "physics.gravity.1"),
    "one dimension": (GOOD.replace("[1.0, 1.0]", "[1.0]"), "domain.size"),
    "3D vector in 2D": (GOOD + "[physics]\ngravity = [0.0, -9.81, 0.0]", "physics.gravity"),
    "2D shape in 3D": (GOOD.replace("[1.0, 1.0]", "[1.0, 1.0, 1.0]"), "liquid.0.shape.low"),
    "2D axis in 3D": (TORUS.replace("AXIS", "[1.0, 0.2]"), "solid.0.shape.ring_axis has 2"),
    "axis to nowhere": (TORUS.replace("AXIS", "[0.0, 0.0, 0.0]"), "solid.0.shape.ring_axis points nowhere"),
    "unknown shape": (GOOD.replace('"box"', '"bax"'), "liquid.0.shape"),
    "corners swapped": (GOOD.replace("low = [0.0, 0.0]", "low = [0.9, 0.0]"), "liquid.0.shape"),
    "unknown walls": (GOOD + '[walls]\npressure = "slippery"', "walls.pressure"),
    "boolean for a number": (GOOD + "[time]\ncfl = true", "time.cfl"),
    "negative adhesion": (GOOD + "[walls]\nadhesion = -3.0", "walls.adhesion"),
    "table for a list": (GOOD + "[solid]\nshape = 3", "solid"),
    "zero frames": (GOOD + "[time]\nframes = 0", "time.frames"),
    "unequal keys": (GOOD + "[[solid]]\nshape={type='ball',centre=[0.5,0.5],radius=0.1}\n"
                     "separation={times=[0.0,1.0],values=[1.0]}", "solid.0.separation"),
    "not TOML": ("[domain\nsize = 1", "TOML"),
}  # fmt: skip


@pytest.mark.parametrize("text, key", BAD.values(), ids=BAD.keys())
def test_mistakes_name_the_key(text, key):
    with pytest.raises(NonstickError) as error:
        Scene.from_text(text, "bad.toml")
    message = str(error.value)
    assert key in message and "bad.toml" in message
    assert "\n" not in message and len(message) < 400 and "pydantic" not in message


def test_mistakes_that_need_the_grid_and_files():
    from nonstick import Simulation

    outside = GOOD.replace("low = [0.0, 0.0], high = [0.5, 0.5]", "low = [2.0, 2.0], high = [2.5, 2.5]")
    with pytest.raises(NonstickError, match=r"liquid"):
        Simulation(Scene.from_text(outside))
    pool = {"type": "box", "low": [0.0, 0.0, 0.0], "high": [1.0, 0.5, 1.0]}
    mesh = {"liquid": [{"shape": pool}], "solid": [{"shape": {"type": "mesh", "file": "nothing-here.obj"}}]}
    with pytest.raises(NonstickError, match=r"nothing-here.obj"):
        Simulation(Scene({"domain": {"size": [1.0, 1.0, 1.0], "resolution": 8}, **mesh}))
    method = GOOD + '[solver]\nmethod = "atuo"'
    with pytest.raises(NonstickError, match=r"atuo.*auto"):
        Simulation(Scene.from_text(method))


def test_command_line_says_it_in_one_sentence_with_code_2(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text(GOOD.replace("= 16", "= 0"))
    done = subprocess.run(
        [sys.executable, "-m", "nonstick", "run", str(file), "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and not (tmp_path / "out").exists()
    assert "domain.resolution" in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_overrides():
    assert parse_override("domain.resolution=32") == ("domain.resolution", 32)
    assert parse_override("walls.pressure=none") == ("walls.pressure", "none")
    scene = Scene.load("cm-circle", {"liquid.0.velocity": [1.0, 2.0], "walls.pressure": "none"})
    assert scene.model.liquid[0].velocity == (1.0, 2.0)
    with pytest.raises(NonstickError, match=r"liquid\.7"):
        Scene.load("circle", {"liquid.7.velocity": [1.0, 2.0]})
    with pytest.raises(NonstickError, match="did you mean 'circle'"):
        Scene.load("cirkle")


def test_schema_is_published_and_names_every_table():
    schema = json.loads(json.dumps(json_schema()))
    assert schema["$schema"].endswith("2020-12/schema")
    assert {"domain", "liquid", "solid", "walls", "solver"} <= set(schema["properties"])


@pytest.mark.parametrize("table", ["liquid", "solid", "bodies"])
def test_a_mesh_in_a_flat_scene_is_refused_by_its_key(table):
    mesh = {"type": "mesh", "file": "ship.obj"}
    more = {"density": 1.0} if table == "bodies" else {}
    for shape, key in ((mesh, "shape"), ({"type": "union", "of": [mesh]}, "shape.of.0")):
        with pytest.raises(NonstickError, match=rf"{table}\.0\.{key}: a mesh is 3D, but domain.size makes"):
            Scene({"domain": {"size": [1.0, 1.0]}, table: [{"shape": shape, **more}]})


def test_a_folder_with_the_name_of_a_builtin_scene_does_not_hide_it(tmp_path, monkeypatch):
    """People keep the runs of a scene in a folder of its name."""
    (tmp_path / "sphere").mkdir()
    monkeypatch.chdir(tmp_path)
    assert Scene.load("sphere").name == "sphere"
    (tmp_path / "mine").mkdir()
    with pytest.raises(NonstickError, match="there is no scene 'mine'"):
        Scene.load("mine")


@pytest.mark.parametrize("what", [3, None, ["circle"], b"circle"])
def test_what_is_no_name_of_a_scene_is_refused_in_words(what):
    with pytest.raises(NonstickError, match="the path of a file or the name of a built-in scene"):
        Scene.load(what)
    with pytest.raises(NonstickError, match="the path of a file or the name of a built-in scene"):
        Simulation(what)


@pytest.mark.parametrize("coding, read", [("utf-8", True), ("utf-8-sig", True), ("latin-1", False), ("utf-16", False)])
def test_scene_files_are_utf_8_with_a_mark_or_without(tmp_path, coding, read):
    file = tmp_path / "own.toml"
    file.write_bytes(("# é\n" + builtin_text("circle")).encode(coding, errors="replace"))
    if read:
        assert Scene.load(file).model == Scene.load("circle").model
    else:
        with pytest.raises(NonstickError, match=r"own.toml is not UTF-8 text \(byte \d+\); save it in that encoding"):
            Scene.load(file)
