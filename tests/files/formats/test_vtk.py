"""ParaView's files: their XML and bytes, and what ParaView itself reads."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from nonstick.files.formats import Shot, export, liquid_mesh, vtk


def arrays(path) -> tuple[ET.Element, dict[str, np.ndarray]]:
    """The header of a file, and its arrays by name."""
    data = path.read_bytes()
    start = data.index(b'<AppendedData encoding="raw">')
    begin = data.index(b"_", start) + 1
    root = ET.fromstring(data[:start] + b"</VTKFile>")
    out = {}
    for item in root.iter("DataArray"):
        if item.get("format") != "appended":
            continue
        at = begin + int(item.get("offset"))
        size = int(np.frombuffer(data[at : at + 8], "<u8")[0])
        kind = {"Float32": "<f4", "Float64": "<f8", "Int32": "<i4", "Int64": "<i8", "UInt8": "u1", "UInt32": "<u4"}[
            item.get("type")
        ]
        values = np.frombuffer(data[at + 8 : at + 8 + size], kind)
        n = int(item.get("NumberOfComponents"))
        out[item.get("Name")] = values.reshape(-1, n) if n > 1 else values
    return root, out


@pytest.mark.parametrize("shape", [(4, 5, 6), (4, 5, 6, 3)], ids=str)
def test_arrays_are_turned(shape):
    field = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    order = (2, 1, 0, 3)[: len(shape)]
    for values in (field, np.moveaxis(np.ascontiguousarray(np.moveaxis(field, -1, 0)), 0, -1)):
        out = vtk._x_fastest(values, 3)
        assert out.flags.c_contiguous
        np.testing.assert_array_equal(out, field.transpose(order))


def test_fields_have_x_fastest(splash, tmp_path):
    export(splash, "vtk", frames=[1], out=tmp_path)
    shot = Shot(splash)
    frame = shot.frame(1)
    root, data = arrays(tmp_path / "fields_000001.vti")
    image = root.find("ImageData")
    ends = [int(v) for v in image.get("WholeExtent").split()]
    box, nodes = (tuple(slice(a, b + more) for a, b in zip(ends[::2], ends[1::2])) for more in (0, 1))
    assert [float(v) for v in image.get("Spacing").split()] == [frame.dx] * 3
    phi, speed = frame.arrays["phi"], frame.cell_velocity
    assert np.array_equal(data["phi"].reshape(phi[box].shape, order="F"), phi[box])
    assert np.array_equal(data["velocity"][:, 1].reshape(phi[box].shape, order="F"), speed[1][box])
    walls = shot.inner_walls(frame)[nodes] * np.float32(frame.dx)
    assert np.array_equal(data["phi_solid"].reshape(walls.shape, order="F"), walls)
    # nothing is lost outside the box
    outside = np.ones(phi.shape, bool)
    outside[box] = False
    assert outside.any() and (phi[outside] == phi.max()).all() and not speed[:, outside].any()
    _, points = arrays(tmp_path / "particles_000001.vtp")
    assert np.array_equal(points["Points"], frame.arrays["position"])
    assert np.array_equal(points["velocity"], frame.arrays["velocity"])
    assert np.array_equal(points["id"], frame.ids)
    assert np.array_equal(np.sort(points["connectivity"]), np.arange(frame.count))


def test_ids_and_the_cell_of_all_points_are_the_same_bytes(tmp_path):
    x = np.random.default_rng(0).random((1000, 3)).astype(np.float32)
    every = np.random.default_rng(1).permutation(1000).astype(np.uint32)
    sizes = []
    for ids in (every, every + np.uint32(1)):  # of all that were born, or after a death
        vtk.write_poly(tmp_path / "a.vtp", x, None, {"id": ids})
        _, data = arrays(tmp_path / "a.vtp")
        assert np.array_equal(data["id"], ids)
        assert np.array_equal(np.sort(data["connectivity"]), np.arange(1000))
        sizes.append((tmp_path / "a.vtp").stat().st_size)
    assert 4000 <= sizes[1] - sizes[0] < 4100


def test_solids_at_rest_are_one_file(splash, toys, tmp_path):
    export(splash, "vtk", frames=[3, 5], out=tmp_path / "rest")
    export(toys, "vtk", frames=[1, 2], out=tmp_path / "motion")
    assert sorted(f.name for f in (tmp_path / "rest").glob("solids*")) == ["solids.pvd", "solids.vtp"]
    text = (tmp_path / "rest" / "solids.pvd").read_text()
    assert [float(t) for t in re.findall(r'timestep="([^"]+)"', text)] == pytest.approx([0.15, 0.25])
    assert text.count('file="solids.vtp"') == 2
    assert len(list((tmp_path / "motion").glob("solids_*.vtp"))) == 2
    export(splash, "vtk", frames=[4], out=tmp_path / "later")  # a run that was killed may write it with a later frame
    assert (tmp_path / "later" / "solids.vtp").read_bytes() == (tmp_path / "rest" / "solids.vtp").read_bytes()


def test_paraview_shows_solids_at_rest_in_all_frames(splash, tmp_path, paraview):
    export(splash, "vtk", frames=[3, 5], out=tmp_path)
    facts = paraview(tmp_path)
    assert facts["solids"]["times"] == pytest.approx([0.15, 0.25])
    shot = Shot(splash)
    for k, number in enumerate((3, 5)):
        assert facts["solids"]["steps"][k]["cells"] == len(shot.walls[0].mesh.faces)
        frame, step = shot.frame(number), facts["particles"]["steps"][k]
        assert step["points"] == frame.count and step["cells"] == 1
        assert step["ranges"]["point:id"][0] == [frame.ids.min(), frame.ids.max()]
        phi = facts["fields"]["steps"][k]["ranges"]["cell:phi"][0]
        assert phi == pytest.approx([frame.arrays["phi"].min(), frame.arrays["phi"].max()])


def test_two_dimensions(flat, tmp_path):
    export(flat, "vtk", frames=[2], out=tmp_path)
    frame = Shot(flat).frame(2)
    root, data = arrays(tmp_path / "fields_000002.vti")
    assert root.find("ImageData").get("WholeExtent") == "0 24 0 24 0 0"
    assert np.array_equal(data["pressure"].reshape(frame.grid.shape, order="F"), frame.arrays["pressure"])
    assert data["velocity"].shape == (24 * 24, 3)
    _, points = arrays(tmp_path / "particles_000002.vtp")
    assert (points["Points"][:, 2] == 0).all()


def test_the_series_has_all_frames_there_are(splash, tmp_path):
    export(splash, "vtk", frames=slice(2, 4), out=tmp_path)
    export(splash, "vtk", frames=slice(4, 6), out=tmp_path)
    text = (tmp_path / "surface.pvd").read_text()
    assert re.findall(r"surface_(\d+)", text) == ["000002", "000003", "000004", "000005"]
    assert [float(t) for t in re.findall(r'timestep="([^"]+)"', text)] == pytest.approx([0.1, 0.15, 0.2, 0.25])


def test_paraview_reads_the_series(toys, tmp_path, paraview):
    export(toys, "vtk", out=tmp_path)
    picture = tmp_path / "picture.png" if paraview.has_screen else None
    facts = paraview(tmp_path, picture)
    shot = Shot(toys)
    assert set(facts) == {"surface", "particles", "fields", "solids"}
    for name, series in facts.items():
        assert series["times"] == pytest.approx([n / 24 for n in shot.frames]), name
    for k, number in enumerate(shot.frames):
        frame = shot.frame(number)
        mesh = liquid_mesh(shot, frame, "particles", 2)
        low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        step = facts["surface"]["steps"][k]
        assert step["bounds"] == pytest.approx(np.stack([low, high], axis=1).ravel(), abs=1e-5)
        assert step["cells"] == len(mesh.faces)
        step = facts["particles"]["steps"][k]
        assert step["points"] == frame.count
        for axis in range(3):
            v = frame.arrays["velocity"][:, axis]
            assert step["ranges"]["point:velocity"][axis] == pytest.approx([v.min(), v.max()], abs=1e-6)
        ranges = facts["fields"]["steps"][k]["ranges"]
        assert ranges["cell:phi"][0] == pytest.approx([frame.arrays["phi"].min(), frame.arrays["phi"].max()])
        assert "point:phi_solid" in ranges
        assert facts["solids"]["steps"][k]["ranges"]["cell:part"][0] == [0, 3]
    if picture:
        from PIL import Image

        image = np.asarray(Image.open(picture).convert("RGB"), float)
        assert image.std(axis=(0, 1)).max() > 8.0  # something is to be seen
