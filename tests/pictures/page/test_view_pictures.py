"""What a page draws of a frame: surfaces, particles, places, colours, and the glTF bytes that hold them."""

import json
import struct

import numpy as np
import pytest

from nonstick.core.show import RAMP
from nonstick.errors import NonstickError
from nonstick.files.formats import Shot, TriangleMesh
from nonstick.files.formats.glb import pack
from nonstick.pictures.page.artist import Artist, Births, Colours, Limits, Scale, scales, thin_mesh, thin_particles


def unpacked(data: bytes):
    """Vertices in metres, faces and colours of a file with one mesh, read as the specification says."""
    magic, version, total = struct.unpack("<III", data[:12])
    length, kind = struct.unpack("<II", data[12:20])
    assert (magic, version, total, kind) == (0x46546C67, 2, len(data), 0x4E4F534A)
    head, body = json.loads(data[20 : 20 + length]), data[28 + length :]
    types = {5121: np.uint8, 5123: np.uint16, 5125: np.uint32}

    def array(number):
        accessor = head["accessors"][number]
        view = head["bufferViews"][accessor["bufferView"]]
        assert view["byteOffset"] % 4 == 0
        flat = np.frombuffer(body[view["byteOffset"] :][: view["byteLength"]], types[accessor["componentType"]])
        rows = flat.reshape(-1, view["byteStride"] // flat.itemsize)[:, :3] if "byteStride" in view else flat
        assert len(rows) == accessor["count"]
        if "min" in accessor:
            assert accessor["min"] == rows.min(axis=0).tolist() and accessor["max"] == rows.max(axis=0).tolist()
        return rows

    shape, node = head["meshes"][0]["primitives"][0], head["nodes"][0]
    x = array(shape["attributes"]["POSITION"]) / 65535 * np.array(node["scale"]) + np.array(node["translation"])
    colour = array(shape["attributes"]["COLOR_0"]) if "COLOR_0" in shape["attributes"] else None
    return x, array(shape["indices"]).reshape(-1, 3), colour


@pytest.mark.parametrize("count", [4, 70_000])
def test_small_files_hold_the_mesh_to_16_bits(count):
    rng = np.random.default_rng(3)
    mesh = TriangleMesh(
        (rng.random((count, 3)) * [3.0, 1.0, 0.2] - 1.0).astype(np.float32),
        rng.integers(0, count, (count, 3)).astype(np.int32),
        colour=rng.integers(0, 256, (count, 3)).astype(np.uint8),
    )
    x, faces, colour = unpacked(pack("liquid", mesh))
    assert np.abs(x - mesh.vertices).max() < 3.0 / 65535
    assert (faces == mesh.faces).all()
    # linear in the file: back to what screens take
    assert np.abs(255 * (colour / 255) ** (1 / 2.2) - mesh.colour)[mesh.colour > 60].max() < 2.5


def sphere(n=40):
    from nonstick.files.formats.mesh import of_level_set

    x = np.stack(np.meshgrid(*[np.linspace(-1, 1, n)] * 3, indexing="ij"))
    return of_level_set(np.sqrt((x**2).sum(axis=0)) - 0.7, 2 / (n - 1), (-1, -1, -1))


def test_thinned_mesh_is_closed_and_keeps_its_volume():
    full = sphere()
    small = thin_mesh(full, 1000)
    assert 500 < len(small.faces) <= 1010 < len(full.faces)
    assert small.open_edges() == 0
    assert small.volume() == pytest.approx(full.volume(), rel=0.01)


def test_the_same_particles_are_chosen_in_every_frame():
    ids = np.arange(50_000)
    first = set(ids[thin_particles(ids, 1000)])
    later = set(ids[10_000:][thin_particles(ids[10_000:], 800)])
    assert abs(len(first) - 1000) < 50
    assert later == {i for i in first if i >= 10_000}


def test_pictures_stay_within_their_limits(splash):
    shot = Shot(splash)
    full, thin = (Artist(shot, limits).picture(6) for limits in (Limits(), Limits(500, 300)))
    assert full.triangles[0] == full.triangles[1] == thin.triangles[0] > 510 >= thin.triangles[1]
    assert full.particles[0] == thin.particles[0] > 400 > thin.particles[1]
    assert len(thin.points) == len(thin.paint) == thin.particles[1]
    assert thin.size < full.size


def test_the_surface_is_that_of_the_exports(splash):
    from nonstick.files.formats import liquid_mesh

    shot = Shot(splash)
    x, faces, _ = unpacked(Artist(shot).picture(4).surface)
    mesh = liquid_mesh(shot, shot.frame(4), "particles", 2)
    assert (faces == mesh.faces).all() and np.abs(x - mesh.vertices).max() < 2e-5


def test_bodies_and_moving_walls_are_where_the_frame_has_them(toys):
    shot = Shot(toys)
    artist = Artist(shot)
    picture, frame = artist.picture(3), shot.frame(3)
    ((number, ball),) = ((k, mesh) for k, solid, mesh in artist.solids() if solid.body is not None)
    place = picture.places[number]
    w, *turn = place.wxyz
    moved = ball.vertices + 2 * np.cross(turn, np.cross(turn, ball.vertices) + w * ball.vertices)
    moved = moved + np.array(place.position)
    assert moved.mean(axis=0) == pytest.approx(frame.arrays["body_centre"][0], abs=5e-3)
    assert picture.places[0].position == pytest.approx((0.5 * frame.time, 0.0, 0.0))


def test_a_frame_without_a_surface_has_particles_only(tmp_path):
    from nonstick import Scene
    from nonstick.sim.run.loop import run

    scene = Scene.load("circle", {"domain.resolution": 12, "time.frames": 1, "output.surface": False})
    run(scene, tmp_path / "run")
    picture = Artist(Shot(tmp_path / "run")).picture(1)
    assert picture.surface == b"" and len(picture.points)


# -- colours ----------------------------------------------------------------------------------------------


def test_colours_are_offered_where_a_frame_has_them(splash, toys, plane):
    def of(path):
        shot = Shot(path)
        return set(scales(shot, shot.frame(1)))

    assert of(splash) == {"speed", "age"}
    assert of(toys) == {"speed", "pressure", "viscosity", "age"}
    assert "pressure" in of(plane)


def test_viscosity_goes_from_the_thinnest_to_the_thickest_liquid(toys):
    shot = Shot(toys)
    frame = shot.frame(3)
    colours = Colours(shot, "viscosity")
    assert colours.scale(frame) == Scale("viscosity", "Pa s", 2.0, 50.0)
    paint = colours.of_particles(frame, np.ones(frame.count, bool))
    ends = (255 * RAMP[[0, -1]] + 0.5).astype(np.uint8)
    mu = frame.arrays["viscosity"]
    assert (paint[mu == 2.0] == ends[0]).all() and (paint[mu == 50.0] == ends[1]).all() and (mu == 50.0).any()


def test_age_counts_from_the_frame_in_which_a_particle_appears(toys):
    shot = Shot(toys)
    last = shot.frame(3)
    times = Births(shot).times(last)
    first_seen = {}
    for number in shot.frames:
        frame = shot.frame(number)
        for i in frame.ids:
            first_seen.setdefault(int(i), frame.time)
    assert times == pytest.approx([first_seen[int(i)] for i in last.ids])
    assert len(set(times)) > 1


def test_vertices_are_coloured_by_the_particles_near_them(toys):
    shot = Shot(toys)
    frame = shot.frame(3)
    places = frame.arrays["position"][:: frame.count // 50]
    speed = Colours(shot, "speed")
    near = speed.of_vertices(frame, places.astype(np.float32)).astype(int)
    own = speed.of_particles(frame, np.isin(np.arange(frame.count), np.arange(0, frame.count, frame.count // 50)))
    assert np.abs(near - own.astype(int)).mean() < 12


def test_pressure_is_read_at_the_place(plane):
    shot = Shot(plane)
    frame = shot.frame(4)
    paint = Colours(shot, "pressure").of_particles(frame, np.ones(frame.count, bool)).astype(int)
    x = frame.arrays["position"]
    deep = x[:, 1] < np.quantile(x[:, 1], 0.05)
    high = x[:, 1] > np.quantile(x[:, 1], 0.95)
    assert paint[deep].sum(axis=1).mean() > paint[high].sum(axis=1).mean()


def test_an_unknown_colour_is_refused(splash):
    with pytest.raises(NonstickError, match="--colour is one of liquid, speed"):
        Artist(Shot(splash), colour="red")
