"""`nonstick check` notices wrong units and meshes that were repaired. Needs the extra [mesh]."""

import numpy as np
import pytest
import trimesh

from nonstick import NonstickError, Scene
from nonstick.grid import Mesh
from nonstick.sim.kinds import check
from nonstick.sim.run.loop import run

POOL = '[[liquid]]\nshape = {type = "box", low = [0.0, 0.0, 0.0], high = [1.0, 0.4, 1.0]}\n'


def scene(folder, table, resolution=12):
    file = folder / "scene.toml"
    file.write_text(f"[domain]\nsize = [1.0, 1.0, 1.0]\nresolution = {resolution}\n{POOL}[time]\nframes = 1\n{table}\n")
    return Scene.load(file)


def ball(folder, radius, open_above=np.inf):
    mesh = trimesh.creation.icosphere(subdivisions=2, radius=radius)
    mesh.update_faces(mesh.triangles_center[:, 1] < open_above * radius)
    mesh.apply_translation([radius, radius, radius])
    mesh.export(folder / "ball.ply")


@pytest.mark.parametrize(
    "radius, words",
    [
        (50.0, "100 times the domain: if it is in centimetres, write scale = 0.01"),
        (200.0, "400 times the domain: if it is in millimetres, write scale = 0.001"),
        (1e6, "scale = 4e-07 would fit"),
        (0.001, "smaller than a cell"),
    ],
)
def test_a_mesh_in_other_units(tmp_path, radius, words):
    ball(tmp_path, radius)
    found = check(scene(tmp_path, '[[solid]]\nshape = {type = "mesh", file = "ball.ply"}\n'))
    told = " ".join(found.warnings)
    assert words in told and f"{2 * radius:.3g} × {2 * radius:.3g} × {2 * radius:.3g} m" in told


def test_the_scale_that_is_offered_fits(tmp_path):
    ball(tmp_path, 50.0)
    found = check(scene(tmp_path, '[[solid]]\nshape = {type = "mesh", file = "ball.ply", scale = 0.01}\n'))
    assert not any("mesh" in line for line in found.warnings)


def test_a_mesh_deep_inside_other_shapes_is_seen_too(tmp_path):
    ball(tmp_path, 50.0)
    inner = '{type = "mesh", file = "ball.ply"}'
    box = '{type = "box", low = [0.2, 0.2, 0.2], high = [0.8, 0.8, 0.8]}'
    found = check(scene(tmp_path, f'[[solid]]\nshape = {{type = "intersection", of = [{box}, {inner}]}}\n'))
    assert any(line.startswith("solid.0.shape.of.1: the mesh ball.ply is") for line in found.warnings)


def test_a_warning_of_units_survives_the_error_they_cause(tmp_path):
    ball(tmp_path, 50.0)
    file = tmp_path / "scene.toml"
    file.write_text(
        "[domain]\nsize = [1.0, 1.0, 1.0]\nresolution = 8\n[[liquid]]\n"
        'shape = {type = "mesh", file = "ball.ply", move = [5.0, 0.0, 0.0]}\n'
    )
    found = check(Scene.load(file))
    assert "scale = 0.01" in found.warnings[0] and "holds no cell" in found.errors[0]


def test_a_domain_of_a_hundred_metres():
    found = check(Scene.load("still", {"domain.size": [100.0, 100.0], "domain.resolution": 16}))
    assert "the domain is 100 × 100 m" in found.warnings[0] and "divide all of them by 100" in found.warnings[0]
    assert not check(Scene.load("still", {"domain.resolution": 16})).warnings


def test_an_open_mesh_is_repaired_if_asked_and_that_is_told(tmp_path):
    ball(tmp_path, 0.3, open_above=0.8)
    table = '[[solid]]\nshape = {type = "mesh", file = "ball.ply", repair = true}\n'
    with pytest.raises(NonstickError, match=r"is not closed, .* it has 1 hole; add repair = true"):
        check(scene(tmp_path, table.replace(", repair = true", "")))
    found = check(scene(tmp_path, table))
    words = "solid.0.shape: the mesh ball.ply was open and was repaired: 1 hole filled with"
    assert any(line.startswith(words) for line in found.facts)
    told = []
    made = run(scene(tmp_path, table), tmp_path / "run", warn=told.append)
    assert told[0].startswith(words) and any(line["kind"] == "repair" for line in made.log_lines())
    # the lid is flat: the volume is that of the ball without its cap
    mesh = Mesh.load(tmp_path / "ball.ply", repair=True)
    whole = trimesh.creation.icosphere(subdivisions=2, radius=0.3).volume
    cap = np.pi * (0.2 * 0.3) ** 2 * (3 * 0.3 - 0.2 * 0.3) / 3
    assert mesh.moments(3).volume == pytest.approx(whole - cap, rel=0.02)
    x = [np.array([v]) for v in (0.3, 0.3 + 0.75 * 0.3, 0.3)]
    assert mesh(*x)[0] < 0 < mesh(x[0], x[1] + 0.1, x[2])[0]


def test_seams_and_triangles_there_twice_are_repaired(tmp_path):
    mesh = trimesh.creation.box()
    loose = trimesh.Trimesh(mesh.triangles.reshape(-1, 3), np.arange(36).reshape(-1, 3), process=False)
    loose.faces = np.vstack([loose.faces, loose.faces[:1]])
    from nonstick.grid.shapes.mesh import close

    assert not loose.is_watertight
    words = close(loose)
    assert loose.is_watertight and "28 vertices joined" in words and "1 needless triangles" in words


def test_what_cannot_be_repaired_is_refused(tmp_path):
    a = trimesh.creation.box()
    fin = np.vstack([a.vertices, [[2.0, 0.0, 0.0]]]), np.vstack([a.faces, [[*a.faces[0][:2], len(a.vertices)]]])
    trimesh.Trimesh(*fin, process=False).export(tmp_path / "fin.ply")
    with pytest.raises(NonstickError, match="repair did not help"):
        Mesh.load(tmp_path / "fin.ply", repair=True)


def test_a_liquid_that_is_far_longer_than_the_domain():
    box = {"type": "box", "low": [0.0, 0.0], "high": [50.0, 30.0]}
    scene = {"domain": {"size": [1.0, 1.0], "resolution": 16}, "liquid": [{"shape": box}]}
    assert any("liquid.0.shape is 50 m long in a domain of 1 m" in line for line in check(Scene(scene)).warnings)
    plane = {"type": "halfspace", "normal": [0.0, 1.0], "point": [0.0, 0.5]}
    assert not any(" m long" in line for line in check(Scene({**scene, "liquid": [{"shape": plane}]})).warnings)
