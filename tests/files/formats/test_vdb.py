"""OpenVDB files, read back by OpenVDB itself."""

import numpy as np
import pytest

from nonstick.files.formats import Options, Shot, export
from nonstick.files.formats.surface import PAD, level_set
from nonstick.files.formats.vdb import VDBGrid, write


def ball(low=-40, high=45, radius=30.0):
    x = np.arange(float(low), float(high))
    return (np.sqrt(x[:, None, None] ** 2 + x[None, :, None] ** 2 + x**2) - radius).astype(np.float32)


def test_a_level_set_is_read_with_the_same_values(tmp_path, openvdb):
    phi = ball()  # large enough for tiles inside
    corner = (-7, 3, 70)
    grid = VDBGrid("surface", phi, abs(phi) < 3, 3.0, phi < 0, 0.1, (0.05, -0.2, 0.3), corner, "level set")
    write(tmp_path / "a.vdb", [grid])
    facts = openvdb(tmp_path / "a.vdb", tmp_path / "a.npz", -20, 180)["grids"]["surface"]
    assert facts["class"] == "level set"
    assert facts["background"] == 3.0
    assert facts["voxel"] == pytest.approx([0.1] * 3)
    assert facts["origin"] == pytest.approx([0.05, -0.2, 0.3])
    assert facts["active"] == (abs(phi) < 3).sum()
    read = np.load(tmp_path / "a.npz")["surface"]
    part = tuple(slice(c + 20, c + 20 + n) for c, n in zip(corner, phi.shape))
    assert np.array_equal(read[part], np.where(abs(phi) < 3, phi, np.where(phi < 0, -3.0, 3.0).astype(np.float32)))
    read[part] = 3.0
    assert (read == 3.0).all()


def test_a_level_set_across_the_borders_of_the_largest_nodes(tmp_path, openvdb):
    phi = ball(-10, 11, 6.0)
    corner = (4090, -10, -4106)
    write(tmp_path / "a.vdb", [VDBGrid("surface", phi, abs(phi) < 2, 2.0, phi < 0, corner=corner, kind="level set")])
    facts = openvdb(tmp_path / "a.vdb", tmp_path / "a.npz", "4090,-10,-4106", 21)["grids"]["surface"]
    assert facts["active"] == (abs(phi) < 2).sum()
    read = np.load(tmp_path / "a.npz")["surface"]
    assert np.array_equal(read, np.where(abs(phi) < 2, phi, np.where(phi < 0, -2.0, 2.0).astype(np.float32)))


def test_vectors_and_several_grids(tmp_path, openvdb):
    rng = np.random.default_rng(0)
    v = rng.normal(size=(20, 30, 40, 3)).astype(np.float32)
    active = rng.random((20, 30, 40)) < 0.3
    fog = rng.random((5, 6, 7)).astype(np.float32)
    grids = [
        VDBGrid("velocity", v, active, voxel=0.25, corner=(-3, 0, 1), kind="staggered"),
        VDBGrid("density", fog, fog > 0.5, kind="fog volume"),
        VDBGrid("nothing", np.zeros((8, 8, 8)), np.zeros((8, 8, 8), bool)),
    ]
    write(tmp_path / "a.vdb", grids, {"who": "me"})
    answer = openvdb(tmp_path / "a.vdb", tmp_path / "a.npz", -8, 56)
    facts, arrays = answer["grids"], np.load(tmp_path / "a.npz")
    assert answer["metadata"]["who"] == "me"
    assert facts["velocity"]["class"] == "staggered"
    assert facts["velocity"]["vector"] == "contravariant relative"
    assert facts["density"]["class"] == "fog volume"
    assert facts["nothing"]["active"] == 0
    part = (slice(5, 25), slice(8, 38), slice(9, 49))
    assert np.array_equal(arrays["velocity"][part], np.where(active[..., None], v, 0))
    assert np.array_equal(arrays["velocity-active"][part], active)
    part = tuple(slice(8, 8 + n) for n in fog.shape)
    assert np.array_equal(arrays["density"][part], np.where(fog > 0.5, fog, 0))


def test_equal_grids_give_equal_bytes(tmp_path):
    phi = ball(-6, 7, 3.0)
    for name in ("a", "b"):
        write(tmp_path / name, [VDBGrid("surface", phi, abs(phi) < 2, 2.0, phi < 0)])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("which", ["splash", "toys"])
def test_a_frame_is_read_with_the_values_of_the_frame(which, request, tmp_path, openvdb):
    shot = Shot(request.getfixturevalue(which))
    last = shot.frames[-1]
    (file,) = export(shot.run.path, "vdb", frames=[last], out=tmp_path, options=Options(density=True))
    frame = shot.frame(last)
    answer = openvdb(file, tmp_path / "a.npz", -4, 36)
    facts, arrays = answer["grids"], np.load(tmp_path / "a.npz")
    assert set(facts) == {"surface", "velocity", "density"}
    assert float(answer["metadata"]["time"]) == frame.time
    part = tuple(slice(4, 4 + n) for n in frame.grid.shape)
    for name in facts:
        assert facts[name]["voxel"] == pytest.approx([frame.dx] * 3)
        assert facts[name]["origin"] == pytest.approx([0.5 * frame.dx] * 3)
    phi, active = frame.arrays["phi"], arrays["surface-active"][part]
    read = arrays["surface"][part]
    assert facts["surface"]["class"] == "level set"
    assert np.array_equal(read[active], phi[active])
    assert np.array_equal(read < 0, phi < 0)
    # every voxel next to the surface is active, so programs find it exactly where the frame has it
    for axis in range(3):
        change = np.diff(phi < 0, axis=axis)
        assert np.take(active, range(phi.shape[axis] - 1), axis)[change].all()
        assert np.take(active, range(1, phi.shape[axis]), axis)[change].all()
    assert np.array_equal(arrays["velocity"][part], np.moveaxis(frame.cell_velocity, 0, -1))
    share = np.clip(0.5 - phi / np.float32(frame.dx), 0, 1)
    assert np.array_equal(arrays["density"][part], share)
    # closed: nothing of the surface lies outside the domain
    low, high = facts["surface"]["bounds"]
    assert min(low) > -0.02 * frame.dx
    assert all(h < s + 0.02 * frame.dx for h, s in zip(high, frame.grid.size))


def test_a_finer_level_set_from_particles(splash, tmp_path, openvdb):
    shot = Shot(splash)
    options = Options(surface="particles", refine=2, staggered=True)
    (file,) = export(splash, "vdb", frames=[5], out=tmp_path, options=options)
    facts, arrays = openvdb(file, tmp_path / "a.npz", -PAD, 40 + 2 * PAD)["grids"], np.load(tmp_path / "a.npz")
    assert facts["surface"]["voxel"] == pytest.approx([0.5 * shot.grid.dx] * 3)
    assert facts["velocity"]["class"] == "staggered"
    own, first = level_set(shot, shot.frame(5), "particles", 2)
    phi = np.full(arrays["surface"].shape, own.max())
    phi[tuple(slice(n + PAD, n + PAD + m) for n, m in zip(first, own.shape))] = own
    active = arrays["surface-active"]
    assert active.any() and np.array_equal(arrays["surface"][active], phi[active])
    assert np.array_equal(arrays["surface"] < 0, phi < 0)
