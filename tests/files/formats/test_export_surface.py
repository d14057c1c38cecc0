"""The mesh of the liquid: closed, of the right volume, outside walls, thin things whole."""

import numpy as np
import pytest

from nonstick import NonstickError, Scene
from nonstick.files.formats import Frame, Shot, liquid_mesh, surface
from nonstick.files.formats.mesh import TriangleMesh, of_level_set, of_plane
from nonstick.files.rundir import RunDirectory


@pytest.fixture
def empty_tank(tmp_path):
    """A run without frames of its own, 1 m wide with 20 cells, for particles put by hand."""
    scene = Scene({"domain": {"size": [1.0, 1.0, 1.0], "resolution": 20}})
    return Shot(RunDirectory.create(tmp_path / "run", scene.to_toml(), {"folder": "."}).path)


def frame_of(shot: Shot, x: np.ndarray) -> Frame:
    return Frame(1, {"position": x.astype(np.float32), "velocity": np.ones(x.shape, np.float32)}, shot.grid)


def pieces(mesh: TriangleMesh) -> int:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    f = mesh.faces
    n = len(mesh.vertices)
    links = coo_matrix((np.ones(2 * len(f)), (np.r_[f[:, 0], f[:, 1]], np.r_[f[:, 1], f[:, 2]])), (n, n))
    return connected_components(links, directed=False)[0]


def wall_distance(shot: Shot, frame: Frame, points: np.ndarray) -> np.ndarray:
    """Exact distance to walls and bodies where a frame has them."""
    x = points.T.astype(float)
    parts = [(-1 if s.container else 1) * s.at(frame)(*x) for s in shot.solids]
    return np.min(parts, axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_marching_cubes_is_closed_on_anything(seed):
    phi = np.random.default_rng(seed).normal(size=(14, 15, 16))
    phi[phi > 1.5] = 0.0  # exact zeros too
    phi = np.pad(phi, 1, constant_values=1.0)
    mesh = of_level_set(phi, 0.1, (0, 0, 0))
    assert len(mesh.faces) > 1000 and mesh.open_edges() == 0


def test_a_ball_has_its_volume_and_faces_outwards():
    x = np.linspace(-1, 1, 61)
    phi = np.sqrt(x[:, None, None] ** 2 + x[None, :, None] ** 2 + x**2) - 0.7
    mesh = of_level_set(phi, x[1] - x[0], (-1, -1, -1))
    assert mesh.volume() == pytest.approx(4 / 3 * np.pi * 0.7**3, rel=3e-3)
    assert (np.einsum("ij,ij->i", mesh.normals(), mesh.vertices) > 0.6).all()


def test_a_disc_in_the_plane():
    x = np.linspace(-1, 1, 81)
    mesh = of_plane(np.hypot(x[:, None], x) - 0.7, x[1] - x[0], (-1, -1))
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    assert np.cross(b - a, c - a)[:, 2].min() > -1e-9
    assert 0.5 * np.cross(b - a, c - a)[:, 2].sum() == pytest.approx(np.pi * 0.49, rel=2e-3)
    assert (mesh.vertices[:, 2] == 0).all()


@pytest.mark.parametrize("which", ["splash", "toys"])
@pytest.mark.parametrize("kind, refine", [("grid", 1), ("grid", 2), ("particles", 1), ("particles", 2)])
def test_closed_outside_walls_and_of_the_volume_of_the_ledger(which, kind, refine, request):
    shot = Shot(request.getfixturevalue(which))
    for number in shot.frames[1::3]:
        frame = shot.frame(number)
        mesh = liquid_mesh(shot, frame, kind, refine)
        assert mesh.open_edges() == 0
        slack = 0.01 if refine == 2 and kind == "particles" else 0.04
        assert mesh.volume() == pytest.approx(shot.volumes[number], rel=slack)
        wall = wall_distance(shot, frame, mesh.vertices) / frame.dx
        assert np.quantile(wall, 0.01) > -0.17 / refine
        assert wall.min() > -0.35  # in cells, at the edges of solids
        assert mesh.vertices.min() > -1e-4 and (mesh.vertices.max(axis=0) < np.array(frame.grid.size) + 1e-4).all()
        assert np.isfinite(mesh.velocity).all()


@pytest.mark.parametrize("refine", [2, 3, 4])
def test_a_drop_of_one_particle_is_a_drop_of_its_volume(empty_tank, refine):
    rng = np.random.default_rng(0)
    cells = np.stack(np.meshgrid(*[np.arange(2, 18, 5)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    x = (cells + rng.random(cells.shape)) * empty_tank.grid.dx
    mesh = liquid_mesh(empty_tank, frame_of(empty_tank, x), "particles", refine)
    assert mesh.open_edges() == 0
    assert pieces(mesh) == len(x)
    assert mesh.volume() == pytest.approx(len(x) * empty_tank.grid.dx**3 / 8, rel=0.15)


@pytest.mark.parametrize("height", [0.5, 0.513, 0.525])
def test_a_film_of_one_layer_of_particles_is_one_sheet(empty_tank, height):
    dx = empty_tank.grid.dx
    rng = np.random.default_rng(1)
    a = np.arange(0.25, 20, 0.5)
    x = np.stack(np.meshgrid(a, [height / dx], a, indexing="ij"), axis=-1).reshape(-1, 3)
    x += rng.uniform(-0.1, 0.1, x.shape)
    mesh = liquid_mesh(empty_tank, frame_of(empty_tank, x * dx), "particles", 2)
    assert mesh.open_edges() == 0 and pieces(mesh) == 1
    assert 0.5 * dx < mesh.volume() < 0.8 * dx  # 1 m² times half a cell; a little thicker than it is


def test_a_film_on_the_floor_lies_on_the_floor(empty_tank):
    dx = empty_tank.grid.dx
    a = np.arange(0.25, 20, 0.5)
    x = np.stack(np.meshgrid(a, [0.25], a[a < 10], indexing="ij"), axis=-1).reshape(-1, 3) * dx
    mesh = liquid_mesh(empty_tank, frame_of(empty_tank, x), "particles", 2)
    assert pieces(mesh) == 1 and mesh.open_edges() == 0
    assert mesh.vertices[:, 1].min() == pytest.approx(0.0, abs=1e-4)
    assert mesh.volume() == pytest.approx(0.5 * 0.5 * dx, rel=0.1)


def test_still_water_is_level_up_to_the_walls(empty_tank):
    dx = empty_tank.grid.dx
    a = np.arange(0.25, 20, 0.5)
    x = np.stack(np.meshgrid(a, a[a < 9], a, indexing="ij"), axis=-1).reshape(-1, 3) * dx
    mesh = liquid_mesh(empty_tank, frame_of(empty_tank, x), "particles", 2)
    top = mesh.vertices[mesh.normals()[:, 1] > 0.9]
    assert len(top) > 1000
    assert np.abs(top[:, 1] - 9 * dx).max() < 0.05 * dx
    assert mesh.volume() == pytest.approx(9 * dx, rel=5e-3)


def test_a_gap_between_two_bodies_of_liquid_stays_open(empty_tank):
    dx = empty_tank.grid.dx
    a = np.arange(0.25, 20, 0.5)
    x = np.stack(np.meshgrid(a[(a < 9) | (a > 10.5)], a[a < 6], a, indexing="ij"), axis=-1).reshape(-1, 3) * dx
    assert pieces(liquid_mesh(empty_tank, frame_of(empty_tank, x), "particles", 2)) == 2


def test_nothing_there_is_an_empty_mesh(empty_tank):
    frame = Frame(0, {"phi": np.ones((20, 20, 20), np.float32), "position": np.zeros((0, 3), np.float32)},
                  empty_tank.grid)  # fmt: skip
    for kind in ("grid", "particles"):
        mesh = liquid_mesh(empty_tank, frame, kind)
        assert len(mesh.vertices) == len(mesh.faces) == 0 and mesh.volume() == 0.0


def test_vertices_have_the_velocity_of_the_liquid(empty_tank):
    """A block that turns about the middle of the tank."""
    dx = empty_tank.grid.dx
    a = np.arange(6.25, 14, 0.5)
    x = np.stack(np.meshgrid(a, a, a, indexing="ij"), axis=-1).reshape(-1, 3) * dx
    turning = lambda p: np.stack([0.5 - p[:, 1], p[:, 0] - 0.5, 0 * p[:, 0]], axis=1)  # noqa: E731
    arrays = {"position": x.astype(np.float32), "velocity": turning(x).astype(np.float32)}
    mesh = liquid_mesh(empty_tank, Frame(1, arrays, empty_tank.grid), "particles", 2)
    assert np.abs(mesh.velocity - turning(mesh.vertices)).max() < 0.6 * dx
    assert np.abs(mesh.velocity - turning(mesh.vertices)).mean() < 0.2 * dx


def test_splashsurf(splash):
    pytest.importorskip("pysplashsurf", reason="pysplashsurf is not installed")
    shot = Shot(splash)
    mesh = liquid_mesh(shot, shot.frame(3), "splashsurf", 2)
    assert mesh.volume() == pytest.approx(shot.volumes[3], rel=0.2)


def test_unknown_surfaces_are_named(splash):
    shot = Shot(splash)
    with pytest.raises(NonstickError, match="one of grid, particles, splashsurf"):
        liquid_mesh(shot, shot.frame(0), "metaballs")  # type: ignore[arg-type]


def test_samples_without_liquid_near_are_left_out(splash, monkeypatch):
    """The box around the particles gives the same surface as the whole domain does."""
    shot = Shot(splash)
    frame = shot.frame(1)
    mesh = liquid_mesh(shot, frame)
    phi, first = surface.level_set(shot, frame, "particles", 2)
    assert phi.size < 0.8 * np.prod([2 * n + 2 * surface.PAD for n in shot.grid.shape])
    whole = surface.IndexBox.whole(shot.grid.shape)
    monkeypatch.setattr(surface.IndexBox, "around", lambda count: whole)
    twin = liquid_mesh(shot, frame)
    np.testing.assert_array_equal(mesh.faces, twin.faces)
    np.testing.assert_allclose(mesh.vertices, twin.vertices, atol=1e-5 * shot.grid.dx)
    all_phi, start = surface.level_set(shot, frame, "particles", 2)
    part = tuple(slice(a - b, a - b + n) for a, b, n in zip(first, start, phi.shape))
    np.testing.assert_array_equal(phi, all_phi[part])
    all_phi[part] = 1.0
    assert all_phi.min() > 0.0
