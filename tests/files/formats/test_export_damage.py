"""What an export reads from a run that was damaged or tampered with, and where it writes."""

import json
import shutil

import numpy as np
import pytest

from nonstick import NonstickError, Scene, export
from nonstick.files.formats.shot import Shot
from nonstick.sim.run.loop import run

BODY = {"shape": {"type": "ball", "centre": [0.5, 0.7], "radius": 0.15}, "density": 400.0}
SCENE = {
    "domain": {"size": [1.0, 1.0], "resolution": 8}, "time": {"frames": 1}, "bodies": [BODY],
    "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 0.4]}}],
}  # fmt: skip


@pytest.fixture
def made(tmp_path):
    run(Scene({**SCENE, "name": "../../out of the run"}), tmp_path / "deep" / "run")
    return tmp_path / "deep" / "run"


def test_files_stay_in_their_folder_whatever_the_name(made, tmp_path):
    for file in export(made, ["ply", "vtk", "usd"]):
        assert file.resolve().is_relative_to(made / "export"), file
    assert [p.name for p in tmp_path.iterdir()] == ["deep"] and [p.name for p in made.parent.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"centre": [1.0]}, "damaged"),
        ({"centre": "here"}, "damaged"),
    ],
)
def test_the_list_of_bodies_is_checked(made, entry, sentence):
    table = made / "bodies.json"
    entries = json.loads(table.read_text())
    table.write_text(json.dumps([entries[0] | entry]))
    with pytest.raises(NonstickError, match=sentence):
        export(made, "usd")


def test_a_list_of_bodies_that_is_no_text(made):
    (made / "bodies.json").write_bytes(b'[{"name": "\xeb"}]')
    with pytest.raises(NonstickError, match=r"bodies\.json is damaged"):
        export(made, "usd")


@pytest.mark.parametrize(
    "name, value",
    [("phi", np.full((8, 8), "x")), ("phi", np.ones((8, 8), "i1")),
     ("pressure", np.ones((8, 8), "f2")), ("velocity", "x"), ("time", np.nan), ("dx", -1.0),
     ("body_centre", np.zeros(2)), ("body_orientation", np.full((1, 1), np.inf))],
)  # fmt: skip
def test_a_frame_of_other_numbers_is_damaged(made, name, value):
    file = made / "frames" / "000001.npz"
    with np.load(file) as data:
        arrays = dict(data)
    np.savez(file, **{**arrays, name: value})
    with pytest.raises(NonstickError, match=rf"frames/000001\.npz is damaged, {name} .*--from-frame 0"):
        export(made, "usd")


@pytest.mark.parametrize(
    "lost, fault",
    [("", "body_centre holds 0 of 1 bodies"), ("body_orientation", "body_orientation is missing"),
     ("body_centre", "body_centre is missing")],
)  # fmt: skip
def test_a_frame_without_its_bodies_is_damaged(made, lost, fault):
    file = made / "frames" / "000001.npz"
    with np.load(file) as data:
        arrays = {name: data[name][:0] if not lost and name.startswith("body_") else data[name] for name in data}
    arrays.pop(lost, None)
    np.savez(file, **arrays)
    with pytest.raises(NonstickError, match=rf"frames/000001\.npz is damaged, {fault}"):
        export(made, "usd")


@pytest.mark.parametrize("surface", [None, "../../secret.obj", 3])
def test_the_surface_of_a_body_comes_from_its_shape_and_not_from_a_file(made, surface):
    """Runs of older versions may have no surfaces, or outlines."""
    table = made / "bodies.json"
    table.write_text(json.dumps([json.loads(table.read_text())[0] | {"surface": surface}]))
    assert len(Shot(made).bodies[0].mesh.faces) and export(made, ["usd", "vtk", "ply"])


@pytest.mark.parametrize("place", [-1e9, -0.01, 1.0, 1.02, 1e30])
def test_particles_outside_the_domain_are_at_its_rim(splash, tmp_path, place):
    """A loop that counts them in one cell and lists them in another would write beside its list."""
    written = []
    for at in (place, np.clip(place, 0.0, 1.0)):
        path = tmp_path / str(len(written))
        shutil.copytree(splash, path)
        file = path / "frames" / "000001.npz"
        with np.load(file) as data:
            arrays = dict(data)
        side = Scene.load("sphere").model.domain.size[0]
        arrays["position"][::3] = np.float32(at * side)
        np.savez(file, **arrays)
        written += [one.read_bytes() for one in export(path, "obj", frames=[1])]
    assert written[0] == written[1]
