"""PLY, OBJ and GLB files, read back by trimesh and by Blender."""

import json
import struct

import numpy as np
import pytest

from nonstick.files.formats import Options, Shot, export, liquid_mesh
from nonstick.files.formats.frame import in_space


@pytest.fixture(scope="module")
def trimesh():
    return pytest.importorskip("trimesh", reason="trimesh is not installed (pip install trimesh)")


@pytest.fixture(scope="module")
def mesh(splash):
    shot = Shot(splash)
    return liquid_mesh(shot, shot.frame(4), "particles", 2)


@pytest.mark.parametrize("form", ["ply", "obj", "glb"])
def test_trimesh_reads_the_same_mesh(form, splash, mesh, tmp_path, trimesh):
    (file,) = export(splash, form, frames=[4], out=tmp_path)
    assert file.name == f"sphere_000004.{form}"
    read = trimesh.load(file, process=False)
    if form == "glb":
        assert set(read.geometry) == {"liquid", "solid_0"}
        read = read.geometry["liquid"]
    assert read.is_watertight
    assert read.volume == pytest.approx(mesh.volume(), rel=1e-5)
    assert np.asarray(read.bounds) == pytest.approx(np.array([mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)]))
    if form == "ply":
        data = read.metadata["_ply_raw"]["vertex"]["data"]
        assert np.stack([data[n] for n in ("vx", "vy", "vz")], axis=1).reshape(-1, 3) == pytest.approx(mesh.velocity)
        assert {"red", "green", "blue"} <= set(data.dtype.names)
    if form == "glb":
        assert read.vertex_attributes["_VELOCITY"] == pytest.approx(mesh.velocity)


def glb(path) -> tuple[dict, bytes]:
    data = path.read_bytes()
    magic, version, length, size, kind = struct.unpack_from("<IIIII", data)
    assert (magic, version, length, kind) == (0x46546C67, 2, len(data), 0x4E4F534A)
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def test_bodies_are_animated(toys, tmp_path):
    files = export(toys, "glb", out=tmp_path)
    shot = Shot(toys)
    assert files[-1].name == "toys_bodies.glb"
    tree, data = glb(files[-1])
    names = [n["name"] for n in tree["nodes"]]
    assert names == ["solid_0", "solid_1", "a ball", "brick"]
    (animation,) = tree["animations"]
    moving = {(names[c["target"]["node"]], c["target"]["path"]): animation["samplers"][c["sampler"]] for c in
              animation["channels"]}  # fmt: skip

    def values(accessor, width):
        view = tree["bufferViews"][tree["accessors"][accessor]["bufferView"]]
        part = data[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
        return np.frombuffer(part, "<f4").reshape(-1, width)

    assert ("solid_1", "translation") not in moving
    sampler = moving["a ball", "translation"]
    frames = [shot.frame(n) for n in shot.frames]
    assert values(sampler["input"], 1).ravel() == pytest.approx([f.time for f in frames])
    assert values(sampler["output"], 3) == pytest.approx(
        np.array([f.arrays["body_centre"][0] for f in frames]), abs=1e-5
    )
    turns = values(moving["brick", "rotation"]["output"], 4)
    own = np.array([f.arrays["body_orientation"][1] for f in frames])[:, [1, 2, 3, 0]]
    assert np.abs((turns * own).sum(axis=1)) == pytest.approx(1.0, abs=1e-5)
    assert values(moving["solid_0", "translation"]["output"], 3)[-1] == pytest.approx([0.5 * frames[-1].time, 0, 0])


def test_trimesh_places_bodies(toys, tmp_path, trimesh):
    file = export(toys, "glb", frames=[3], out=tmp_path)[0]
    scene = trimesh.load(file)
    shot = Shot(toys)
    frame = shot.frame(3)
    ball = scene.geometry["a ball"].copy().apply_transform(scene.graph["a ball"][0])
    assert ball.bounds.mean(axis=0) == pytest.approx(frame.arrays["body_centre"][0], abs=2e-3)
    assert ball.is_watertight


def test_flat_meshes(flat, tmp_path, trimesh):
    (file,) = export(flat, "ply", frames=[2], out=tmp_path)
    read = trimesh.load(file, process=False)
    assert (read.vertices[:, 2] == 0).all()
    assert read.area == pytest.approx(Shot(flat).volumes[2], rel=0.03)


def test_blender_reads_the_mesh_files(splash, mesh, tmp_path, blender):
    files = [export(splash, form, frames=[4], out=tmp_path)[0] for form in ("ply", "obj", "glb")]
    answer = blender(*files, 4)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    upright = np.array([[low[0], -high[2], low[1]], [high[0], -low[2], high[1]]])  # z is up in Blender
    for file in files:
        entry = answer[str(file)]["frames"]["4"]
        expected = np.array([low, high]) if file.suffix == ".ply" else upright
        assert np.array(entry["liquid"]) == pytest.approx(expected, abs=1e-4)
        assert entry["vertices"] == len(mesh.vertices)
    assert {"vx", "vy", "vz"} <= set(answer[str(files[0])]["frames"]["4"]["attributes"])


def test_blender_loads_the_vdb(splash, tmp_path, blender):
    (file,) = export(splash, "vdb", frames=[4], out=tmp_path)
    answer = blender(file)[str(file)]
    assert answer["error"] == ""
    assert answer["grids"] == {"surface": "FLOAT", "velocity": "VECTOR_FLOAT"}
    # the box is one of whole leaves, 8 voxels of 0.1 m
    assert min(answer["box"][0]) > -0.9 and max(answer["box"][1]) < 2.5


@pytest.mark.parametrize("which", ["splash", "flat"])
def test_points_with_their_ids(which, request, tmp_path, trimesh):
    run = request.getfixturevalue(which)
    export(run, "ply", frames=[2], out=tmp_path, options=Options(points=True))
    frame = Shot(run).frame(2)
    name = Shot(run).name
    assert sorted(f.name for f in tmp_path.iterdir()) == [f"{name}_000002.ply", f"{name}_points_000002.ply"]
    read = trimesh.load(tmp_path / f"{name}_points_000002.ply")
    assert np.array_equal(np.asarray(read.vertices, np.float32), in_space(frame.arrays["position"]))
    raw = read.metadata["_ply_raw"]["vertex"]["data"]
    assert np.array_equal(raw["id"].ravel(), frame.ids)
    assert np.array_equal(np.stack([raw[n].ravel() for n in ("vx", "vy")], 1), frame.arrays["velocity"][:, :2])
